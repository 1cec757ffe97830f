"""Mappings, lists and texts of a YAML file, and findings where one stands for another."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from watchkeeper.findings import Finding, nearest
from watchkeeper.read.loader import NULLS, is_merge, is_null
from watchkeeper.read.source import Scalar, Span
from watchkeeper.subject import Text

if TYPE_CHECKING:
    from collections.abc import Collection

    from watchkeeper.read.source import File

    Node = Any

KEY = "yaml/key"
VALUE = "yaml/value"
_CORE = "tag:yaml.org,2002:"
_CALLED = {"mapping": "a mapping", "sequence": "a list"}


def keys(node: Node) -> dict[str, Node]:
    """Return the values of a mapping by key; empty for anything else."""
    return {key.value: value for key, value in node.value if key.id == "scalar"} if node.id == "mapping" else {}


class Reader:
    """Reads the parts of one file, and gathers what is wrong with them in `findings`.

    `why` is what happens to a file with such a fault.
    """

    def __init__(self, file: File, why: str) -> None:
        self.file = file
        self.why = why
        self.findings: list[Finding] = []
        self._told: set[tuple[str, int]] = set()

    def fault(self, check: str, message: str, node: Node, *, fix: str = "", severity: str = "error") -> None:
        """Note what is wrong with a node; once where aliases bring it to several places."""
        if (check, node.start_mark.index) in self._told:
            return
        self._told.add((check, node.start_mark.index))
        place, excerpt = self.span(node).at()
        why = self.why if severity == "error" else ""
        self.findings.append(Finding(check, message, place, excerpt, why, fix, severity))

    def span(self, node: Node) -> Span:
        """Return where a node is written."""
        return Span(self.file, node.start_mark.index, node.end_mark.index)

    def text(self, node: Node, what: str, part: str) -> Text | None:
        """Return a scalar as Prometheus reads it into a string: null is empty, all else is what is written.

        None where it is no scalar, which is a fault; messages call it the `part` of `what`.
        """
        value = node.value
        if type(value) is not str:
            self.fault(VALUE, f"{what}: {part} is {_CALLED[node.id]}, not a text", node, fix=_mend_text(node))
            return None
        style = node.style
        if type(node.tag) is slice:
            if not style and value in NULLS:
                value = ""
        elif node.tag.startswith(_CORE) and node.tag != f"{_CORE}str":
            message = f"{what}: {part} has the tag !!{node.tag.removeprefix(_CORE)}, and is a text"
            self.fault(VALUE, message, node, fix="leave out the tag, and quote the value")
        return Text(value, Scalar(self.file, node.start_mark.index, node.end_mark.index, value, style))

    def items(self, node: Node | None, what: str, part: str) -> list[Node]:
        """Return the items of a list; none of null."""
        if node is None or (node.id == "scalar" and is_null(node)):
            return []
        if node.id != "sequence":
            called = _CALLED.get(node.id, "a text")
            self.fault(VALUE, f"{what}: {part} is {called}, not a list", node, fix='begin each item with "- "')
            return []
        items: list[Node] = node.value
        return items

    def fields(self, node: Node, known: Collection[str], what: str) -> dict[str, Node]:
        """Return the values of a mapping by key: of the keys that are known, and of those that `<<` merges.

        A key that is not known, or is there twice, is a fault.
        """
        found: dict[str, Node] = {}
        merges = False
        for key, value in node.value:
            name = key.value
            if type(name) is str and name in known:
                if name in found:
                    self._repeated(key, what, node)
                else:
                    found[name] = value
            elif type(name) is str and is_merge(key):
                merges = True
            else:
                self._unknown(key, known, what)
        if merges:
            for key, value in self._merged(node, what):
                if key.value in known:
                    found.setdefault(key.value, value)
                else:
                    self._unknown(key, known, what)
        return found

    def strings(self, node: Node | None, what: str, part: str) -> dict[str, Text]:
        """Return a mapping of strings, such as labels; empty where it is null."""
        if node is None or (node.id == "scalar" and is_null(node)):
            return {}
        if node.id != "mapping":
            called = _CALLED.get(node.id, "a text")
            self.fault(
                VALUE, f"{what}: {part} is {called}, not a mapping", node, fix='write "name: value", without "- "'
            )
            return {}
        found: dict[str, Text] = {}
        merges = False
        for key, value in node.value:
            name = key.value
            if type(name) is not str or (name in NULLS and is_null(key)):
                self.fault(KEY, f"{what}: a key of {part} that is no text", key, fix="write it as a word")
            elif name in found:
                self._repeated(key, what, node)
            elif name == "<<" and is_merge(key):
                merges = True
            elif text := self.text(value, what, name):
                found[name] = text
        if merges:
            for key, value in self._merged(node, what):
                if key.value not in found and (text := self.text(value, what, key.value)):
                    found[key.value] = text
        return found

    def _merged(self, node: Node, what: str) -> list[tuple[Node, Node]]:
        """Return the keys and values that `<<: *anchor`, or a list of such, brings into a mapping; nearest first."""
        found: list[tuple[Node, Node]] = []
        todo = [value for key, value in node.value if key.id == "scalar" and is_merge(key)]
        lists = {id(one) for one in todo}  # one within another is none that can be merged
        while todo:
            other = todo.pop()
            if other.id == "sequence" and id(other) in lists:
                todo += reversed(other.value)
            elif other.id != "mapping":
                message = f"{what}: << merges {'a text' if other.id == 'scalar' else 'a list'}, not a mapping"
                self.fault(VALUE, message, other, fix="name an anchor that stands before a mapping")
            else:
                for key, value in other.value:
                    if key.id == "scalar" and is_merge(key):
                        todo.append(value)
                        lists.add(id(value))
                    elif key.id == "scalar":
                        found.append((key, value))
        return found

    def _repeated(self, key: Node, what: str, node: Node) -> None:
        first = next(one for one, _ in node.value if one.value == key.value)
        line = self.file.place(first.start_mark.index).line
        self.fault(KEY, f'{what}: the key "{key.value}" is already there, on line {line}', key, fix="leave one of them")

    def _unknown(self, key: Node, known: Collection[str], what: str) -> None:
        if key.id != "scalar":
            self.fault(KEY, f"{what}: a key that is {_CALLED[key.id]}", key, fix=f"keys are {', '.join(known)}")
            return
        hint = nearest(key.value, list(known))
        fix = _MEANT.get(key.value, "") or ("" if hint else f"keys are {', '.join(known)}")
        self.fault(KEY, f'{what} has no key "{key.value}"{hint}', key, fix=fix)


# Keys that belong elsewhere in a rule.
_MEANT = {
    "severity": "put it below labels",
    **dict.fromkeys(("summary", "description", "message", "runbook", "runbook_url"), "put it below annotations"),
}


def _mend_text(node: Node) -> str:
    start = node.value[0] if node.value else None
    if isinstance(start, tuple) and start[0].id == "mapping":
        return "quote a value that begins with {{"
    return "quote it, or write it as one line" if node.start_mark.line == node.end_mark.line else "write one text"
