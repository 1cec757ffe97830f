"""YAML nodes taken as Alertmanager takes them: strictly, and with a finding where it refuses them."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from watchkeeper.findings import Finding, nearest
from watchkeeper.names import milliseconds
from watchkeeper.read.alertmanager import keys as known
from watchkeeper.read.loader import NULLS, is_merge
from watchkeeper.read.source import File, Scalar, Span
from watchkeeper.subject import Text

if TYPE_CHECKING:
    from collections.abc import Iterator

KEY, VALUE, CONFIG = "yaml/key", "yaml/value", "alertmanager/config"
_REFUSED = "Alertmanager refuses the whole file, and goes on with the configuration it had"
# What Alertmanager's YAML takes for true and false, YAML 1.1's words.
_BOOLEAN = re.compile(r"(?:y|Y|n|N|[Yy]es|YES|[Nn]o|NO|[Tt]rue|TRUE|[Ff]alse|FALSE|[Oo]n|ON|[Oo]ff|OFF)\Z")
_INTEGER = re.compile(r"[+-]?[0-9]+\Z")
_KINDS = {"scalar": "a text", "mapping": "a mapping", "sequence": "a list"}
_WANTED = {known.MAPPING: "mapping", known.LIST: "sequence"}
# A mapping that merges itself has no end.
_MAX_MERGED = 1000

Entries = dict[str, tuple[Any, Any]]  # by key: its node, and that of the value


class Nodes:
    """The nodes of one file, and what is wrong with them."""

    def __init__(self, file: File) -> None:
        self.file = file
        self.findings: list[Finding] = []

    def fault(  # noqa: PLR0917 - the message and where it belongs
        self, check: str, node: Any, message: str, fix: str = "", severity: str = "error", why: str = _REFUSED
    ) -> None:
        """Remember a finding about a node."""
        place, excerpt = self.span(node).at()
        self.findings.append(Finding(check, message, place, excerpt, why, fix, severity))

    def span(self, node: Any) -> Span:
        """Return where a node is written."""
        return Span(self.file, node.start_mark.index, node.end_mark.index)

    def place(self, node: Any) -> Text:
        """Return a text that stands for a node as a whole."""
        return Text("", self.span(node))

    def text(self, node: Any) -> Text:
        """Return what a scalar says; what is null is empty."""
        value = "" if is_null(node) else node.value
        scalar = Scalar(self.file, node.start_mark.index, node.end_mark.index, value, node.style)
        return Text(value, scalar)

    def mapping(self, node: Any, table: str, what: str, *, open_ended: bool = False) -> Entries:
        """Return the entries of a mapping whose keys are those of the table, and whose values have its kinds.

        With `open_ended`, newer versions may know more keys.
        """
        keys = known.keys(table)
        entries: Entries = {}
        for name, (key, value) in self.entries(node, what).items():
            if name not in keys:
                self._unknown(key, name, list(keys), what, open_ended=open_ended)
            elif is_null(value) or self._fits(value, keys[name], f"{name} of {what}"):
                entries[name] = key, value
        return entries

    def entries(self, node: Any, what: str) -> Entries:
        """Return the entries of any mapping, with those that `<<` merges into it."""
        found: Entries = {}
        todo = [node]
        for count, here in enumerate(todo):  # it grows by what `<<` merges, which counts less than what was there
            if is_null(here):
                continue
            if here.id != "mapping" or count > _MAX_MERGED:
                self.fault(VALUE, here, f"{what} must be a mapping, not {_KINDS[here.id]}")
                break
            own: Entries = {}
            for key, value in here.value:
                if key.id != "scalar":
                    self.fault(KEY, key, f"a key of {what} must be a text")
                elif is_merge(key):
                    todo += value.value if value.id == "sequence" else [value]
                elif key.value in own:
                    self.fault(KEY, key, f"{key.value} stands twice in {what}", "keep one of them")
                else:
                    own[key.value] = key, value
            found = {**own, **found}
        return found

    def items(self, entries: Entries, name: str, kind: str, what: str) -> list[Any]:
        """Return the nodes of a list that are of one kind: `scalar`, `mapping`, `sequence`."""
        if name not in entries or is_null(entries[name][1]):
            return []
        found = []
        for item in entries[name][1].value:
            if item.id == kind and (kind == "scalar" or not is_null(item)):
                found.append(item)
            else:
                self.fault(VALUE, item, f"{name} of {what} must hold {_KINDS[kind]} each, not {_kind(item)}")
        return found

    def texts(self, entries: Entries, name: str, what: str) -> list[Text]:
        """Return the texts of a list."""
        return [self.text(item) for item in self.items(entries, name, "scalar", what)]

    def pairs(self, entries: Entries, name: str) -> Iterator[tuple[Any, str, Text]]:
        """Yield the entries of a mapping of texts: the key's node, the key and the value."""
        if name in entries:
            for key, (node, value) in self.entries(entries[name][1], name).items():
                if value.id == "scalar":
                    yield node, key, self.text(value)
                else:
                    self.fault(VALUE, value, f"{name} of {key} must be a text, not {_KINDS[value.id]}")

    def secretly(self, first: int) -> None:
        """Show no source of the findings from the first on: what stands there may be a password."""
        self.findings[first:] = [replace(finding, excerpt=None) for finding in self.findings[first:]]

    def _unknown(self, key: Any, name: str, keys: list[str], what: str, *, open_ended: bool) -> None:
        if open_ended and not _is_slip(name, keys):
            self.fault(
                KEY,
                key,
                f"{what}: Alertmanager up to 0.35 knows no key {name}{nearest(name, keys)}",
                severity="warning",
                why="a version that does not know it refuses the whole file",
            )
        else:
            self.fault(KEY, key, f"unknown key {name} in {what}{nearest(name, keys)}", "mend or remove it")

    def _fits(self, node: Any, kind: str, what: str) -> bool:
        """Tell whether a value is of its kind, with a finding where it is not."""
        if kind == known.ANYTHING:
            return True
        wanted = _WANTED.get(kind, "scalar")
        if node.id != wanted:
            self.fault(VALUE, node, f"{what} must be {_KINDS[wanted]}, not {_KINDS[node.id]}", _SHAPES.get(wanted, ""))
            return False
        wrong, fix = _scalar(node, kind) if wanted == "scalar" else ("", "")
        if wrong:
            self.fault(VALUE, node, f"{what} must be {wrong}", fix)
        return not wrong


def _is_slip(name: str, keys: list[str]) -> bool:
    """Tell whether a key is surely one of these, badly typed, and not one that a newer version has."""
    import difflib

    letters = sorted(name)
    return any(sorted(key) == letters for key in keys) or bool(difflib.get_close_matches(name, keys, 1, cutoff=0.85))


_SHAPES = {"sequence": "write each on a line of its own, behind a dash"}


def is_null(node: Any) -> bool:
    """Tell whether nothing stands there."""
    return node.id == "scalar" and not node.style and node.value in NULLS


def _kind(node: Any) -> str:
    return "nothing" if is_null(node) else _KINDS[node.id]


def _scalar(node: Any, kind: str) -> tuple[str, str]:
    """Return what a scalar should have been and how to mend it, empty where it is that."""
    value = node.value
    if kind == known.BOOLEAN and (node.style or not _BOOLEAN.match(value)):
        return "true or false", "write it without quotes"
    if kind == known.INTEGER and (node.style or not _INTEGER.match(value)):
        return "a whole number", "write it without quotes"
    if kind == known.DURATION and milliseconds(value) is None:
        return "a duration", "write 30s, 5m, 1h30m or 7d"
    if kind == known.ADDRESS and not any(mark in value for mark in _PLACEHOLDERS):
        scheme, _, rest = value.partition("://")
        if scheme.lower() not in {"http", "https"} or not rest.strip("/"):
            return "an address", "write https://host/path"
    if kind == known.HOST and value and not is_null(node) and not any(mark in value for mark in _PLACEHOLDERS):
        host, _, port = value.rpartition(":")
        if not port or (":" in host and not host.endswith("]")) or ":" not in value:
            return "a host and a port", "write smtp.example.com:587"
    return "", ""


# An address that something else fills in before Alertmanager reads the file, or a template of Alertmanager's.
_PLACEHOLDERS = ("{", "$", "<", "%")
