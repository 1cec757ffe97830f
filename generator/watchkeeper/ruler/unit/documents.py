"""YAML read with the lines of keys, and scalars as they are written: what is a string in Go stays one."""

from __future__ import annotations

import yaml

from watchkeeper.read.loader import Loader, is_merge, is_null
from watchkeeper.ruler.rules import Fault, RuleError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    # Nodes of PyYAML, whose stubs differ between versions.
    Node = Any

_DEEPEST = 100


class Quoted(str):
    """A scalar in quotes or a block: no number, whatever it looks like."""

    __slots__ = ()


class Map(dict):  # type: ignore[type-arg]  # keys are strings, values strings, None, Map or Items
    """A mapping that knows the line it starts at, and the line of each key; both count from 1."""

    __slots__ = ("line", "lines")

    def __init__(self, line: int) -> None:
        super().__init__()
        self.line = line
        self.lines: dict[str, int] = {}


class Items(list):  # type: ignore[type-arg]
    """A list that knows the line it starts at."""

    __slots__ = ("line",)

    def __init__(self, line: int) -> None:
        super().__init__()
        self.line = line


def read(path: str) -> tuple[Any, str]:
    """The first document in a file, and the file's text. Raises RuleError for what can't be read or is no YAML."""
    try:
        with open(path, "rb") as file:  # noqa: PTH123 - pathlib is slow to load
            raw = file.read()
    except OSError as error:
        raise RuleError([Fault(f"can't be read: {error.strerror or error}", path)]) from None
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise RuleError([Fault(f"byte 0x{raw[error.start]:02x} is not UTF-8", path, line)]) from None
    return parse(text, path), text


def parse(text: str, path: str) -> Any:
    """The first document in a text: Map, Items, str or None. Raises RuleError."""
    try:
        loader = Loader(text)
        try:
            node = loader.get_node() if loader.check_node() else None
        finally:
            loader.dispose()
        return None if node is None else _Plain(path).value(node, 0)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        message = getattr(error, "problem", None) or str(error).partition("\n")[0]
        context = getattr(error, "context", None)
        if context:
            message = f"{context}: {message}"
        raise RuleError([Fault(f"not YAML: {message}", path, mark.line + 1 if mark else 0)]) from None
    except RecursionError:
        raise RuleError([Fault("not YAML: nested too deeply", path)]) from None


class _Plain:
    __slots__ = ("path",)

    def __init__(self, path: str) -> None:
        self.path = path

    def value(self, node: Node, depth: int) -> Any:
        kind = type(node).__name__
        if kind == "ScalarNode":
            if node.style:  # None or "" where it is plain
                return Quoted(node.value)
            return None if is_null(node) else node.value
        if depth > _DEEPEST:
            raise RuleError([Fault("nested too deeply", self.path, node.start_mark.line + 1)])
        if kind == "SequenceNode":
            items = Items(node.start_mark.line + 1)
            for child in node.value:
                items.append(self.value(child, depth + 1))
            return items
        found = Map(node.start_mark.line + 1)
        merged = []
        for key, child in node.value:
            line = key.start_mark.line + 1
            name = key.value
            if type(name) is not str:
                raise RuleError([Fault("a key must be a plain word", self.path, line)])
            if is_merge(key):
                merged.append(child)
                continue
            if name in found:
                message = f'the key "{name}" is already there, on line {found.lines[name]}'
                raise RuleError([Fault(message, self.path, line)])
            found[name] = self.value(child, depth + 1)
            found.lines[name] = line
        for child in merged:
            self._merge(found, child, depth)
        return found

    def _merge(self, into: Map, node: Node, depth: int) -> None:
        """`<<: *anchor`, or a list of them: keys that are not there yet."""
        value = self.value(node, depth + 1)
        for other in value if isinstance(value, Items) else [value]:
            if isinstance(other, Map):
                for key, item in other.items():
                    if key not in into:
                        into[key] = item
                        into.lines[key] = other.lines[key]
