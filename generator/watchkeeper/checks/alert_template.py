"""Templates in annotations and labels of alerts, which Prometheus parses when it loads the file."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from watchkeeper.findings import Excerpt, Finding, Place
from watchkeeper.model import Alert

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from watchkeeper.model import Group
    from watchkeeper.project import Project

    Version = tuple[int, int]

ID = "alert/template"

_WHY = "Prometheus refuses the whole file, and so every rule in it"
_WHY_OF_GROUP = "each alert of the group would carry the error as that label's value"
_OURS = "this is a limit of ours, not one of Prometheus': what can't be read can't be checked"
_FIX = 'write {{ $labels.instance }} or {{ $value }}; for two braces as they are, {{ "{{" }}'
_LIMIT = re.compile(r"^nested more than \d+ deep")
# The annotations that settings make, and of what.
_URLS = {"runbook_url": "runbook_url", "dashboard_url": "grafana_url"}


def check(project: Project) -> Iterator[Finding]:
    """Yield a finding for each template that doesn't parse, or calls a function newer than `targets.prometheus`."""
    target = project.settings.targets.prometheus
    for name in _URLS.values():
        place = Place(str(project.settings.root / "pyproject.toml"))
        for message, excerpt, why, fix in _faults(getattr(project.settings, name), target):
            yield Finding(ID, f"[tool.watchkeeper] {name}: {message}", place, excerpt, why, fix)
    for group, document in project.documents:
        if any(isinstance(rule, Alert) for rule in group.rules):
            for where, text in _strings("label", group.labels):
                for message, excerpt, _, fix in _faults(text, target):
                    what = f"group {group.name}, {where}: {message}"
                    yield Finding(ID, what, group.place, excerpt, _WHY_OF_GROUP, fix)
        yield from _of_alerts(group, document["groups"][0]["rules"], target)


def _of_alerts(group: Group, written: list[dict[str, Any]], target: Version) -> Iterator[Finding]:
    for rule, data in zip(group.rules, written, strict=True):
        if not isinstance(rule, Alert):
            continue
        ours = {name for name in _URLS if name not in rule.annotations}  # told once, at the settings
        annotations = {name: text for name, text in data.get("annotations", {}).items() if name not in ours}
        for where, text in (*_strings("annotation", annotations), *_strings("label", data.get("labels", {}))):
            for message, excerpt, why, fix in _faults(text, target):
                yield Finding(ID, f"alert {rule.name}, {where}: {message}", rule.place, excerpt, why, fix)


def _strings(kind: str, texts: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    yield from ((f"{kind} {name}", text) for name, text in texts.items() if isinstance(text, str) and "{{" in text)


def _faults(text: str, target: Version) -> Iterator[tuple[str, Excerpt, str, str]]:
    if "{{" not in text or re.search("[\ud800-\udfff]", text):  # text/unicode tells of those
        return
    from watchkeeper.ruler.template import FUNCTIONS, Template, TemplateError, fields

    try:
        template = Template(text)
    except TemplateError as error:
        at = min(error.position or 0, len(text))
        # Prometheus' own words, without the name that it gives to the template.
        message = re.sub(r"^template: \w*:\d+: ", "", error.detail)
        if _LIMIT.search(message):
            yield message, Excerpt(text, at, at + 1), _OURS, "write it in several actions, with variables"
        else:
            yield message, Excerpt(text, at, at + 1), _WHY, _FIX
        return
    for use in fields(template):
        since = FUNCTIONS.get(use.name or "") if use.kind == "function" else None
        if since and tuple(map(int, since.split("."))) > target:
            why = f"the oldest in use is {target[0]}.{target[1]} (targets.prometheus): it refuses the whole file"
            excerpt = Excerpt(text, use.position, use.end)
            yield f"{use.name} needs Prometheus {since}", excerpt, why, "do without it, or upgrade and raise the target"
