"""The functions that every Go template has, but for and, or and call, which `execution` knows itself."""

from __future__ import annotations

from watchkeeper.ruler.template import comparing
from watchkeeper.ruler.template.errors import CallError
from watchkeeper.ruler.template.printing import show_struct, sprint, sprintf, sprintln
from watchkeeper.ruler.template.values import Args, Byte, Html, QueryResult, kind, truth, type_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeAlias

    # Types of fixed parameters, the type of the others or None, the function.
    Signature: TypeAlias = tuple[tuple[str, ...], str | None, Callable[..., Any]]

_HTML = str.maketrans({"\0": "\ufffd", '"': "&#34;", "'": "&#39;", "&": "&amp;", "<": "&lt;", ">": "&gt;"})
_JS = {"\\": "\\\\", "'": "\\'", '"': '\\"', "<": "\\u003C", ">": "\\u003E", "&": "\\u0026", "=": "\\u003D"}


def encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _joined(values: tuple[object, ...]) -> str:
    if len(values) == 1 and type(values[0]) is str:
        return values[0]
    return sprint(tuple("<no value>" if one is None else one for one in values), show_struct)


def html(*values: object) -> str:
    return _joined(values).translate(_HTML)


def js(*values: object) -> str:
    out = []
    for char in _joined(values):
        if char in _JS:
            out.append(_JS[char])
        elif char.isprintable() or char == "\x7f":
            out.append(char)
        else:
            out.append(f"\\u{ord(char):04X}")
    return "".join(out)


def urlquery(*values: object) -> str:
    return query_escape(_joined(values))


def query_escape(text: str) -> str:
    """url.QueryEscape."""
    from urllib.parse import quote_plus

    return quote_plus(encoded(text))


def length(value: object) -> int:
    """len: bytes of a string, entries of a map or a list."""
    if value is None:
        raise CallError("reflect: call of reflect.Value.Type on zero Value")
    if isinstance(value, str):
        return len(value) if value.isascii() else len(encoded(value))
    if isinstance(value, (dict, list)):
        return len(value)
    raise CallError(f"len of type {_pointed(value)}")


def _pointed(value: object) -> str:
    name = type_name(value)
    return name[1:] if name[0] == "*" else name


def _position(index: object, end: int) -> int:
    if index is None:
        raise CallError("cannot index slice/array with nil")
    if kind(index) not in {"int", "uint"}:
        raise CallError(f"cannot index slice/array with type {type_name(index)}")
    number = int(index)  # type: ignore[call-overload]
    if number < 0 or number > end:
        raise CallError(f"index out of range: {number}")
    assert isinstance(number, int)
    return number


def index(item: object, *indexes: object) -> object:
    """index: an entry of a map, a list or a string, of that in turn, and so on."""
    if item is None:
        raise CallError("index of untyped nil")
    for one in indexes:
        if isinstance(item, dict):
            if one is None:
                raise CallError("value is nil; should be of type string")
            if type(one) is not str:
                raise CallError(f"value has type {type_name(one)}; should be string")
            item = item.get(one, None if type(item) is Args else "")
        elif isinstance(item, (str, list)):
            data = encoded(item) if isinstance(item, str) else item
            position = _position(one, len(data))
            if position == len(data):
                what = "string" if isinstance(item, str) else "slice"
                raise CallError(f"reflect: {what} index out of range")
            item = Byte(data[position]) if isinstance(data, bytes) else data[position]
        elif item is None:
            raise CallError("index of nil pointer")
        else:
            raise CallError(f"can't index item of type {_pointed(item)}")
    return item


def slice_(item: object, *indexes: object) -> object:
    """slice: a part of a string, by bytes, or of a list."""
    if item is None:
        raise CallError("slice of untyped nil")
    if len(indexes) > 3:
        raise CallError(f"too many slice indexes: {len(indexes)}")
    if isinstance(item, str):
        if len(indexes) == 3:
            raise CallError("cannot 3-index slice a string")
        data: Any = encoded(item)
    elif isinstance(item, list):
        data = item
    else:
        raise CallError(f"can't slice item of type {_pointed(item)}")
    bounds = [0, len(data)]
    for number, one in enumerate(indexes):
        position = _position(one, len(data))
        if number < 2:
            bounds[number] = position
        elif bounds[1] > position:
            raise CallError(f"invalid slice index: {bounds[1]} > {position}")
    if bounds[0] > bounds[1]:
        raise CallError(f"invalid slice index: {bounds[0]} > {bounds[1]}")
    part = data[bounds[0] : bounds[1]]
    if isinstance(item, str):
        text: str = part.decode("utf-8", "surrogateescape")
        return Html(text) if type(item) is Html else text
    return QueryResult(part)


def _not(value: object) -> bool:
    return not truth(value)


def _print(*values: object) -> str:
    return sprint(values)


def _println(*values: object) -> str:
    return sprintln(values)


def _printf(layout: str, *values: object) -> str:
    return sprintf(layout, values)


# `any` is interface{}, `value` reflect.Value: both take what comes.
BUILTINS: dict[str, Signature] = {
    "html": ((), "any", html),
    "index": (("value",), "value", index),
    "js": ((), "any", js),
    "len": (("value",), None, length),
    "not": (("value",), None, _not),
    "print": ((), "any", _print),
    "printf": (("string",), "any", _printf),
    "println": ((), "any", _println),
    "slice": (("value",), "value", slice_),
    "urlquery": ((), "any", urlquery),
    "eq": (("value",), "value", comparing.equal),
    "ge": (("value", "value"), None, comparing.greater_or_equal),
    "gt": (("value", "value"), None, comparing.greater),
    "le": (("value", "value"), None, comparing.less_or_equal),
    "lt": (("value", "value"), None, comparing.less),
    "ne": (("value", "value"), None, comparing.unequal),
}
