"""The templates in the labels and annotations of alerts, parsed once for all checks that look at them."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from watchkeeper.ruler.template import Template, TemplateError, Use, fields

if TYPE_CHECKING:
    from watchkeeper.findings import Finding
    from watchkeeper.subject import Group, Rule, Text

LABEL = "label"
ANNOTATION = "annotation"

# Most templates are no more than labels and the value, which needs no parser. A brace before "{{" makes it another one.
_PLAIN = re.compile(
    r"\{\{-? *(?:\$labels\.([a-zA-Z_]\w*)|(\$value))"
    r"(?: *\| *(humanize|humanize1024|humanizeDuration|humanizePercentage))? *\}\}",
    re.ASCII,
)
_DASH = re.compile(r"\{\{-[^ ]")
_SURROGATE = re.compile("[\ud800-\udfff]")
# The annotations that settings make.
MADE = ("runbook_url", "dashboard_url")


class Written:
    """One template: `kind` and `name` say in which label or annotation it is, of the group where `rule` is None.

    `uses` are what it uses, none where it does not parse: then `error` says why.
    """

    __slots__ = ("error", "group", "kind", "name", "rule", "text", "uses")

    def __init__(self, group: Group, rule: Rule | None, kind: str, name: str, text: Text) -> None:
        self.group = group
        self.rule = rule
        self.kind = kind
        self.name = name
        self.text = text
        self.error: TemplateError | None = None
        self.uses: list[Use] = []
        try:
            self.uses = uses(text.value)
        except TemplateError as error:
            self.error = error

    @property
    def owner(self) -> str:
        """What messages call it."""
        whose = self.rule.owner if self.rule else f"group {self.group.name.value}"
        return f"{whose}, {self.kind} {self.name}"

    def finding(
        self, check: str, message: str, start: int, end: int, *, why: str, fix: str, severity: str = "error"
    ) -> Finding:
        """Return a finding about `text[start:end]`."""
        return self.text.finding(check, f"{self.owner}: {message}", start, end, why=why, fix=fix, severity=severity)


@lru_cache(maxsize=1)  # several checks look at the same groups in turn
def templates(groups: tuple[Group, ...]) -> tuple[Written, ...]:
    """Return the templates of the groups' alerts, and those of a group's own labels, which each of its alerts has."""
    return tuple([one for group in groups for one in _of(group)])


def _of(group: Group) -> list[Written]:
    found: list[Written] = []
    if group.labels and any(rule.is_alert for rule in group.rules):
        found += [Written(group, None, LABEL, name, text) for name, text in group.labels.items() if _is_one(text.value)]
    for rule in group.rules:
        if rule.is_alert:
            for kind, texts in ((ANNOTATION, rule.annotations), (LABEL, rule.labels)):
                for name, text in texts.items():
                    if "{{" in text.value and _is_one(text.value) and not _is_made(rule, kind, name):
                        found.append(Written(group, rule, kind, name, text))
    return found


def _is_one(text: str) -> bool:
    """Tell whether it is a template; text/unicode tells of those that no file can hold."""
    return "{{" in text and (text.isascii() or not _SURROGATE.search(text))


def _is_made(rule: Rule, kind: str, name: str) -> bool:
    """Tell whether the settings made it: what is wrong with it is told once, there."""
    return name in MADE and kind == ANNOTATION and rule.definition is not None and not _gives(rule.definition, name)


def _gives(definition: object, name: str) -> bool:
    return name in getattr(definition, "annotations", ())


def uses(text: str) -> list[Use]:
    """Return what a template uses.

    Raises:
        TemplateError: Prometheus would refuse it.
    """
    found: list[Use] = []
    actions = 0
    for match in _PLAIN.finditer(text):
        actions += 1
        label, value, function = match.groups()
        if label:
            found.append(Use("label", label, *match.span(1)))
        elif value:
            found.append(Use("value", "", *match.span(2)))
        if function:
            found.append(Use("function", function, *match.span(3)))
    if text.count("{{") == actions and "{{{" not in text and not _DASH.search(text):
        return found
    return fields(Template(text))
