"""Rules as checks see them, with nothing known of the metrics: what reading a file makes, without the file."""

from types import SimpleNamespace

import pytest

from watchkeeper.checks import NAMES, run
from watchkeeper.findings import Place, sort, to_text
from watchkeeper.pack import Pack
from watchkeeper.project import Project
from watchkeeper.proof.catalogue import Catalogue
from watchkeeper.settings import Settings, Targets
from watchkeeper.subject import Expression, Group, Rule, Text, Written


@pytest.fixture
def anyone(tmp_path):
    """Make groups of rules, and check them as anyone's: `anyone.group(...)`, `anyone.findings(...)`."""

    def findings(check, *groups, prometheus=(3, 5)):
        """What one check finds in the groups, or all of them; groups may be given as single rules."""
        groups = tuple(one if isinstance(one, Group) else group(one) for one in groups)
        project = Project(
            Pack(place=Place("")),
            Settings(root=tmp_path, targets=Targets(prometheus=prometheus)),
            Catalogue(closed=False),
            expressions=tuple(rule.expression for one in groups for rule in one.rules),
            groups=groups,
        )
        names = (check.replace("/", "_").replace("-", "_"),) if check else NAMES
        found = sort(list(run(project, names)))
        for finding in found:
            to_text(finding)
        return found

    return SimpleNamespace(group=group, findings=findings)


def group(*rules, name="g", file="rules.yml", labels=(), **fields):
    """A group of rules that are given as they stand in YAML; each stands on the line of its number."""
    text = SimpleText(file, 0)
    made = Group(
        text(name), file, labels=text.all(dict(labels)), **{field: text(value) for field, value in fields.items()}
    )
    for line, rule in enumerate(rules, 1):
        text = SimpleText(file, line)
        is_alert = "alert" in rule
        name = rule["alert"] if is_alert else rule["record"]
        owner = f"{'alert' if is_alert else 'recording rule'} {name}"
        made.rules.append(
            Rule(
                made,
                text(name),
                Expression(rule["expr"], owner, text(rule["expr"]).source),
                is_alert=is_alert,
                labels=text.all(rule.get("labels", {})),
                annotations=text.all(rule.get("annotations", {})),
                for_=text(rule["for"]) if "for" in rule else None,
                keep_firing_for=text(rule["keep_firing_for"]) if "keep_firing_for" in rule else None,
            )
        )
    return made


class SimpleText:
    """Makes texts that stand on one line."""

    def __init__(self, file, line):
        self.place = Place(file, line)

    def __call__(self, value):
        return Text(value, Written(self.place, value))

    def all(self, values):
        return {name: self(value) for name, value in values.items()}
