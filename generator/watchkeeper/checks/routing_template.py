"""Texts of receivers that Alertmanager can't expand: it finds out when it has something to tell."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from watchkeeper.render import page
from watchkeeper.ruler.template.nodes import Invoke, Node, NodeList
from watchkeeper.ruler.template.parser import Parser, SyntaxFaultError
from watchkeeper.subject import Text, Written

if TYPE_CHECKING:
    from collections.abc import Iterator

    from watchkeeper.findings import Finding
    from watchkeeper.project import Project
    from watchkeeper.routing.receivers import Integration

ID = "routing/template"

# Go's own, and those of Alertmanager with the version that each came with:
# https://github.com/prometheus/alertmanager/blob/main/CHANGELOG.md. Of the last it is known that 0.33 has them.
_ALWAYS = (
    "and call eq ge gt html index js le len lt ne not or print printf println slice urlquery"
    " join match reReplaceAll safeHtml stringSlice title toLower toUpper"
)
FUNCTIONS = {
    **dict.fromkeys(_ALWAYS.split(), (0, 0)),
    "trimSpace": (0, 26),
    **dict.fromkeys(("date", "humanizeDuration", "since", "tz"), (0, 28)),
    **dict.fromkeys(("append", "dict", "list", "now", "safeUrl", "toJson", "urlUnescape"), (0, 33)),
}
_TEXTS = ("to", "channel", "username", "subject", "title", "text", "html", "description", "severity", "url")
_DEFINED = re.compile(r'\{\{ define "([^"]+)"')
# Templates that come with Alertmanager.
_ITS_OWN = re.compile(r"__\w+|\w+\.default\.\w+")
_UNDEFINED = re.compile(r'function "(\w+)" not defined')


def check(project: Project) -> Iterator[Finding]:
    """Yield a finding for each text that is no template, or that uses what the oldest Alertmanager does not have."""
    routing = project.pack.routing
    if not routing:
        return
    target = project.settings.targets.alertmanager
    functions = frozenset(name for name, since in FUNCTIONS.items() if since <= target)
    templates = frozenset(_DEFINED.findall(page.templates(project.settings)))
    for receiver in routing.receivers:
        for one in receiver.integrations:
            for field, value in _texts(one):
                owner = f'receiver "{receiver.name}", {field} of a {type(one).__name__}'
                text = Text(value, Written(one.place, value))
                wrong = _wrong(value, functions, templates)
                if wrong:
                    message, fix, position = wrong
                    why = "the notification fails when there is something to tell"
                    yield text.finding(ID, f"{owner}: {message}", position, position + 1, why=why, fix=fix)


def _texts(one: Integration) -> Iterator[tuple[str, str]]:
    fields = {field: getattr(one, field, "") for field in _TEXTS}
    fields.update({f'"{name}" in details': text for name, text in getattr(one, "details", {}).items()})
    yield from ((field, text) for field, text in fields.items() if "{{" in text)


def _wrong(text: str, functions: frozenset[str], templates: frozenset[str]) -> tuple[str, str, int] | None:
    """Return what is wrong with a text, how to mend it, and where; None where nothing is."""
    try:
        parser = Parser(text, functions, (), loose=False)
    except SyntaxFaultError as fault:
        unknown = _UNDEFINED.search(fault.message)
        since = FUNCTIONS.get(unknown[1]) if unknown else None
        if unknown and since:
            what = f"the function {unknown[1]} needs Alertmanager {since[0]}.{since[1]}"
            return what, "do without it, or upgrade and raise targets.alertmanager", fault.position
        return fault.message, "mend it: it is a template of Go's text/template", fault.position
    for invoked in _invoked(parser.root, *parser.defined.values()):
        name = invoked.name
        if name not in templates and name not in parser.defined and not _ITS_OWN.fullmatch(name):
            known = ", ".join(sorted(templates))
            return f'there is no template "{name}"', f"the page's are {known}", invoked.position
    return None


def _invoked(*roots: NodeList) -> Iterator[Invoke]:
    """Yield the places where templates are called."""
    todo: list[object] = list(roots)
    while todo:
        here = todo.pop()
        if isinstance(here, Invoke):
            yield here
        if isinstance(here, Node):
            todo += [getattr(here, name, None) for cls in type(here).__mro__ for name in getattr(cls, "__slots__", ())]
        elif isinstance(here, list):
            todo += here
