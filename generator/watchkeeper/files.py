"""Anyone's files, checked: rule files, PrometheusRule manifests, Alertmanager configurations, dashboards."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from typing import TYPE_CHECKING

from watchkeeper.checks import ACROSS, FILES, RULES, run
from watchkeeper.contract import Metric
from watchkeeper.findings import Finding, Place, sort
from watchkeeper.pack import Pack
from watchkeeper.project import Project
from watchkeeper.proof.catalogue import Catalogue
from watchkeeper.proof.known import declared
from watchkeeper.read.files import Unreadable, load

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from typing import Any

    from watchkeeper.read.dashboards import Dashboard
    from watchkeeper.read.scrape import Published
    from watchkeeper.read.source import File
    from watchkeeper.settings import Settings
    from watchkeeper.subject import Expression, Group, Text
    from watchkeeper.waivers.held import Held

    Track = Callable[[Iterable[Any], str, int], Iterable[Any]]

SUFFIXES = (".yml", ".yaml", ".json", ".rules")


class Contents:
    """What is in the files. `nodes` are those that hold groups of rules, of which waivers ask for lines."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.folders: list[str] = []
        self.nodes: list[tuple[File, Any]] = []
        self.groups: list[Group] = []
        self.dashboards: list[Dashboard] = []
        self.alertmanagers: list[Any] = []
        self.findings: list[Finding] = []


def _below(names: Iterable[str], found: Contents) -> Iterator[tuple[str, bool]]:
    """Yield the files of these names and those below folders among them, and whether each was named itself."""
    for name in names:
        if not os.path.isdir(name):  # noqa: PTH112 - pathlib is slow to load
            yield name, True
            continue
        for folder, folders, files in os.walk(name):
            found.folders.append(folder)
            folders[:] = sorted(one for one in folders if not one.startswith(".") and not _is_foreign(folder, one))
            for file in sorted(files):
                if file.endswith(SUFFIXES) and not file.startswith("."):
                    yield os.path.normpath(os.path.join(folder, file)), False  # noqa: PTH118 - as above


def _is_foreign(folder: str, name: str) -> bool:
    """Tell whether a folder holds other people's files: a virtual environment, or what npm brings."""
    return name == "node_modules" or os.path.exists(os.path.join(folder, name, "pyvenv.cfg"))  # noqa: PTH110, PTH118


def read(names: Iterable[str], track: Track) -> Contents:
    """Read files, and those below folders: of these, what is none of ours is passed over. `track` shows progress."""
    found = Contents()
    listed = list(_below(names, found))
    found.names = [name for name, _ in listed]
    for name, named in track(listed, "files", len(listed)):
        try:
            file = load(name)
        except Unreadable as error:
            found.findings.append(error.finding)
            continue
        if name.endswith(".json") or file.text.lstrip()[:1] in ("{", "["):
            _json(file, found, named=named)
        else:
            _yaml(file, found, named=named)
    return found


def _json(file: File, found: Contents, *, named: bool) -> None:
    from watchkeeper.read.dashboards import dashboards
    from watchkeeper.read.json_values import value_of

    value, findings = value_of(file)
    boards = dashboards(value, file)
    if boards:
        found.dashboards += boards
        found.findings += findings
    elif value is None and _LIKE_DASHBOARD.search(file.text):
        found.findings += findings
    elif not file.name.endswith(".json") or _LIKE_RULES.search(file.text):
        _yaml(file, found, named=named)  # whoever reads rules takes JSON for the YAML that it is
    elif named:
        found.findings += findings or [_unknown(file)]


_LIKE_DASHBOARD = re.compile(r'"(?:panels|schemaVersion|templating)"\s*:')
_LIKE_RULES = re.compile(r"\b(?:groups|rules|alert|record|route|receivers|kind)\b")


def _yaml(file: File, found: Contents, *, named: bool) -> None:
    from watchkeeper.read import kinds

    known = False
    for kind, node, findings in kinds.parts(file):
        if kind in (kinds.UNKNOWN, kinds.DASHBOARD) and not (named and (findings or kind == kinds.DASHBOARD)):
            continue
        known = True
        found.findings += findings if kind != kinds.DASHBOARD else [_not_json(file)]
        if kind == kinds.RULES:
            from watchkeeper.read.rules import rule_groups

            groups, faults = rule_groups(node, file)
            found.groups += groups
            found.findings += faults
            found.nodes.append((file, node))
        elif kind == kinds.ALERTMANAGER:
            from watchkeeper.read.alertmanager import config

            configured, faults = config(node, file)
            found.findings += faults
            found.alertmanagers += [configured] if configured else []
    if not known and named:
        found.findings.append(_unknown(file))


def _unknown(file: File) -> Finding:
    what = "nothing in it is known: no rules, no PrometheusRule, no Alertmanager configuration, no dashboard"
    fix = "a rule file begins with `groups:`, an Alertmanager configuration has `route:` and `receivers:`"
    return Finding("yaml/kind", what, Place(file.name, 1, 1), fix=fix)


def _not_json(file: File) -> Finding:
    what = "a dashboard in YAML" if file.text.lstrip()[:1] != "{" else "a dashboard without a model in its `spec`"
    fix = "give it as JSON: that is what Grafana loads from files"
    return Finding("yaml/kind", f"{what}: nothing in it is looked at", Place(file.name, 1, 1), fix=fix)


def check(
    contents: Contents, settings: Settings, *, published: Sequence[Published] | None = None
) -> tuple[Project, list[Finding]]:
    """Return what the files are as a project, and all that is wrong with them, in the order of the places.

    `published` is the contract, where one is known.
    """
    expressions: list[Expression] = [rule.expression for group in contents.groups for rule in group.rules]
    project = Project(
        Pack(place=Place("")),
        settings,
        _catalogue(contents.groups, published),
        expressions=tuple(expressions),
        groups=tuple(contents.groups),
        alertmanagers=tuple(contents.alertmanagers),
        boards=tuple(contents.dashboards),
    )
    findings = [*contents.findings, *run(project, RULES), *run(project, ACROSS)]
    if contents.dashboards:
        queries = tuple(expression for board in contents.dashboards for expression in board.expressions)
        findings += run(replace(project, expressions=queries, groups=()), RULES)
        findings += run(replace(project, expressions=queries), FILES)
    return project, sort(findings)


def _catalogue(groups: list[Group], published: Sequence[Published] | None) -> Catalogue:
    """Return the series there are: what the rules record and, where that is known, what is published."""
    recordings = [
        (rule.name.value, rule.expression.tree or rule.expression.text, _values({**group.labels, **rule.labels}))
        for group in groups
        for rule in group.rules
        if not rule.is_alert
    ]
    catalogue = Catalogue(recordings=recordings, closed=published is not None)
    for one in published or ():
        metric = Metric(one.name, "", unit=one.unit)
        catalogue.series[one.name] = declared(one.kind, metric, one.labels, None)
    return catalogue


def _values(labels: Mapping[str, Text]) -> dict[str, str]:
    return {name: text.value for name, text in labels.items()}


def scopes(contents: Contents) -> dict[str, list[tuple[int, int]]]:
    """Return, by file, the first and last lines of the groups and of the rules."""
    found: dict[str, list[tuple[int, int]]] = {}
    for file, node in contents.nodes:
        for group in _items(node, "groups"):
            lines = [_lines(group), *(_lines(rule) for rule in _items(group, "rules"))]
            found.setdefault(file.name, []).extend(lines)
    return found


def _items(node: Any, key: str) -> list[Any]:
    if node.id != "mapping":
        return []
    listed = next((value for name, value in node.value if name.value == key), None)
    return list(listed.value) if listed is not None and listed.id == "sequence" else []


def _lines(node: Any) -> tuple[int, int]:
    return node.start_mark.line + 1, node.end_mark.line + (node.end_mark.column > 0)


def waivers(contents: Contents, lines: Mapping[str, list[tuple[int, int]]]) -> tuple[list[Held], list[Finding]]:
    """Return the waivers in the files' comments, and what is wrong with them. `lines` are the scopes."""
    from watchkeeper.checks import ids

    held: list[Held] = []
    findings: list[Finding] = []
    for file in {file.name: file for file, _ in contents.nodes}.values():
        if "watchkeeper:" in file.text:
            from watchkeeper.read.comments import comments
            from watchkeeper.waivers.comments import of_file

            more, faults = of_file(file, comments(file), lines.get(file.name, []), ids())
            held += more
            findings += faults
    return held, findings
