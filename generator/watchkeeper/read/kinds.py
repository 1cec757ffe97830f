"""What a YAML document is, told from its keys."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from watchkeeper.read.documents import Unreadable, documents
from watchkeeper.read.manifests import rules_of
from watchkeeper.read.structure import VALUE, Reader, keys

if TYPE_CHECKING:
    from collections.abc import Iterator

    from watchkeeper.findings import Finding
    from watchkeeper.read.source import File

    Node = Any

__all__ = ["kind", "parts"]

RULES = "rules"
PROMETHEUSRULE = "prometheusrule"
ALERTMANAGER = "alertmanager"
DASHBOARD = "dashboard"
TESTS = "tests"
UNKNOWN = "unknown"
BROKEN = "broken"

_LIST = re.compile(r"(?:PrometheusRule|Dashboard)?List\Z")
_LIKE_RULES = re.compile(r"^(?:groups|[ \t]+expr|[ \t]*-[ \t]+(?:alert|record|expr))[ \t]*:", re.MULTILINE)
_RULE = frozenset(("alert", "record"))


def kind(node: Node) -> str:
    """Return what a document is: `rules`, `prometheusrule`, `alertmanager`, `dashboard`, `tests` or `unknown`."""
    if node.id == "sequence":
        # Rules, or groups of them, that someone forgot to put below "groups:".
        items = [keys(item) for item in node.value[:1]]
        return RULES if any(_RULE & item.keys() or item.keys() >= {"name", "rules"} for item in items) else UNKNOWN
    fields = keys(node)
    made = _word(fields.get("kind"))
    if made or "apiVersion" in fields:
        # With an apiVersion and groups, but without a kind: Grafana's own rules.
        return {"PrometheusRule": PROMETHEUSRULE, "Dashboard": DASHBOARD}.get(made, UNKNOWN)
    if "tests" in fields and "groups" not in fields:
        return TESTS
    if "groups" in fields or fields.keys() >= {"name", "rules"} or (_RULE & fields.keys() and "expr" in fields):
        return RULES
    if "receivers" in fields and fields.keys() & {"route", "inhibit_rules", "global", "templates"}:
        return ALERTMANAGER
    if "route" in fields and keys(fields["route"]).keys() & {"receiver", "routes", "group_by"}:
        return ALERTMANAGER
    if "dashboard" in fields and "panels" in keys(fields["dashboard"]):
        return DASHBOARD
    if fields.keys() & {"panels", "rows"} and fields.keys() & {"schemaVersion", "templating", "title", "time"}:
        return DASHBOARD
    return UNKNOWN


def parts(file: File) -> Iterator[tuple[str, Node, list[Finding]]]:
    """Yield what is in a file: its kind, its node, and what is wrong with what is around that node.

    There are several in a file of several documents, and in a manifest of kind List. Of a PrometheusRule the node is
    the one with its groups, and the kind that of `rules`. What is no YAML is one part without a node: `broken` where
    it looks like rules, else `unknown`.
    """
    try:
        nodes = documents(file)
    except Unreadable as error:
        yield BROKEN if _LIKE_RULES.search(file.text) else UNKNOWN, None, [error.finding]
        return
    first: Node = None
    for node in _unlisted(nodes):
        is_a = kind(node)
        if is_a == PROMETHEUSRULE:
            spec, findings = rules_of(node, file)
            yield RULES if spec else BROKEN, spec, findings
        elif is_a == RULES and first is not None and "namespace" not in keys(node):  # mimirtool reads all of them
            yield is_a, node, [_second(file, node, first)]
        else:
            first = node if is_a == RULES else first
            yield is_a, node, []


def _unlisted(nodes: list[Node]) -> Iterator[Node]:
    todo = nodes[::-1]
    while todo:
        node = todo.pop()
        fields = keys(node)
        if "items" in fields and _LIST.match(_word(fields.get("kind"))) and fields["items"].id == "sequence":
            todo += reversed(fields["items"].value)
        else:
            yield node


def _second(file: File, node: Node, first: Node) -> Finding:
    reader = Reader(file, "Prometheus reads the first document alone, and says nothing of the others")
    line = file.place(first.start_mark.index).line
    fix = "put the groups below those of the first document, or into a file of their own"
    reader.fault(VALUE, f"a second document with rules; the first begins on line {line}", node, fix=fix)
    return reader.findings[0]


def _word(node: Node | None) -> str:
    return str(node.value) if node is not None and node.id == "scalar" else ""
