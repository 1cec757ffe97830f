"""Templates in annotations and labels of alerts, which Prometheus parses when it loads the file."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from watchkeeper.checks._templates import MADE, templates, uses
from watchkeeper.checks._trials import PARTICULAR, failure
from watchkeeper.findings import Place, nearest
from watchkeeper.ruler.template import FUNCTIONS, TemplateError
from watchkeeper.subject import Text, Written

if TYPE_CHECKING:
    from collections.abc import Iterator

    from watchkeeper.findings import Finding
    from watchkeeper.project import Project
    from watchkeeper.ruler.template import Use

    Version = tuple[int, int]
    Fault = tuple[str, int, int, str, str]

ID = "alert/template"

_WHY = "Prometheus refuses the whole file, and so every rule in it"
_WHY_OF_GROUP = "each alert of the group would carry the error as that label's value"
_WHY_OF_FIELD = "the file loads, and when the alert fires the whole text is an error message instead"
_OURS = "this is a limit of ours, not one of Prometheus': what can't be read can't be checked"
_FIX = 'write {{ $labels.instance }} or {{ $value }}; for two braces as they are, {{ "{{" }}'
_LIMIT = re.compile(r"^nested more than \d+ deep")
_NAME = re.compile(r"^template: \w*:\d+: ")
_SETTINGS = dict(zip(MADE, ("runbook_url", "grafana_url"), strict=True))
# Functions newer than the templates of alerts, and since when: the others need no look.
_NEW = {name: since for name, since in FUNCTIONS.items() if since != "2.0"}
_SPECIAL = frozenset({*_NEW, *PARTICULAR})
# Actions, and what is meant to be in one.
_PIECES = re.compile(r"\{\{.*?(?:\}\}|\Z)|(\$labels\.[a-zA-Z_]\w*|\$value\b)", re.DOTALL | re.ASCII)
_FIELDS = ("Labels", "Value", "ExternalLabels", "ExternalURL")


def check(project: Project) -> Iterator[Finding]:
    """Yield a finding for each template that doesn't parse, names a field that isn't there, or calls what is newer."""
    target = project.settings.targets.prometheus
    if any(group.definition is not None for group in project.groups):
        yield from _of_settings(project, target)
    for one in templates(project.groups):
        if one.error is None and not _may_fail(one.uses):
            continue
        for message, start, end, why, fix in _faults(one.text.value, one.uses, one.error, target):
            told = _WHY_OF_GROUP if one.rule is None and why == _WHY else why
            yield one.finding(ID, message, start, end, why=told, fix=fix)
    for group in project.groups:
        for rule in group.rules:
            if rule.is_alert:
                for name, text in rule.annotations.items():
                    if "$" in text.value:
                        yield from _without_braces(f"{rule.owner}, annotation {name}", text)


def _may_fail(used: list[Use]) -> bool:
    return any(use.name in _SPECIAL if use.kind == "function" else use.kind == "field" for use in used)


def _without_braces(owner: str, text: Text) -> Iterator[Finding]:
    count = text.value.count
    if count("$") == count("{{ $labels.") + count("{{ $value "):  # as it mostly is, which is told faster
        return
    for match in _PIECES.finditer(text.value):
        if match[1]:
            what = f"{owner}: {match[1]} stands outside of braces"
            why = "it is no template there: whoever reads it sees these very characters"
            fix = f"write {{{{ {match[1]} }}}}"
            yield text.finding(ID, what, *match.span(1), why=why, fix=fix, severity="warning")


def _of_settings(project: Project, target: Version) -> Iterator[Finding]:
    for name in _SETTINGS.values():
        url = getattr(project.settings, name)
        if "{{" in url:
            text = Text(url, Written(Place(str(project.settings.root / "pyproject.toml")), url))
            try:
                used, error = uses(url), None
            except TemplateError as refused:
                used, error = [], refused
            for message, start, end, why, fix in _faults(url, used, error, target):
                yield text.finding(ID, f"[tool.watchkeeper] {name}: {message}", start, end, why=why, fix=fix)


def _faults(text: str, used: list[Use], error: TemplateError | None, target: Version) -> Iterator[Fault]:
    if error is not None:
        at = min(error.position or 0, len(text))
        # Prometheus' own words, without the name that it gives to the template.
        message = _NAME.sub("", error.detail)
        if _LIMIT.search(message):
            yield message, at, at + 1, _OURS, "write it in several actions, with variables"
        else:
            yield message, at, at + 1, _WHY, _FIX
    if error is None and (failed := failure(text, used)):
        message, at = failed
        yield message, at, at + 1, _WHY_OF_FIELD, _mend(message)
    for use in used:
        name = use.name or ""
        if use.kind == "field":
            what = f"there is no field .{name}{nearest(name, _FIELDS)}"
            fix = (
                'the fields are .Labels, .Value, .ExternalLabels and .ExternalURL; a label is {{ index $labels "a.b" }}'
            )
            yield what, use.position, use.end, _WHY_OF_FIELD, fix
        elif use.kind == "function" and name in _NEW and tuple(map(int, _NEW[name].split("."))) > target:
            why = f"the oldest in use is {target[0]}.{target[1]} (targets.prometheus): it refuses the whole file"
            fix = "do without it, or upgrade and raise the target"
            yield f"{name} needs Prometheus {_NEW[name]}", use.position, use.end, why, fix


def _mend(message: str) -> str:
    if "float64 and int" in message:
        return "compare with a number that has a point: {{ if gt $value 1.0 }}"
    return "give it what it takes: the message is Prometheus' own"
