"""eq, ne, lt, le, gt and ge: Go compares basic kinds, and only alike ones."""

from __future__ import annotations

from watchkeeper.ruler.template.errors import CallError
from watchkeeper.ruler.template.printing import show, sprintf
from watchkeeper.ruler.template.values import kind, type_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_BASIC = frozenset({"bool", "int", "uint", "float", "complex", "string"})
_ORDERED = frozenset({"int", "uint", "float", "string"})
_WHOLE = frozenset({"int", "uint"})


def equal(first: object, *others: object) -> bool:
    """Whether the first equals any of the others."""
    if not others:
        raise CallError("missing argument for comparison")
    return any(_equal(first, other) for other in others)


def _basic(value: object) -> str:
    found = kind(value)
    return found if found in _BASIC else ""


def _equal(first: Any, other: Any) -> bool:
    left, right = _basic(first), _basic(other)
    if left != right:
        if left in _WHOLE and right in _WHOLE:
            return bool(int(first) == int(other))
        if first is not None and other is not None:
            raise _incompatible(first, other)
        return False
    if left:
        return bool(first == other)
    if first is None or other is None:
        return first is other
    if kind(first) != kind(other):
        shown = sprintf("non-comparable types %s: ", (first,)) + type_name(first)
        raise CallError(shown + sprintf(", %s: ", (type_name(other),)) + show(other))
    if kind(other) in {"map", "slice", "struct"}:
        raise CallError(sprintf("non-comparable type %s: ", (other,)) + type_name(other))
    return first is other


def _incompatible(first: object, other: object) -> CallError:
    return CallError(f"incompatible types for comparison: {type_name(first)} and {type_name(other)}")


def unequal(first: object, other: object) -> bool:
    return not _equal(first, other)


def less(first: Any, other: Any) -> bool:
    left, right = _basic(first), _basic(other)
    if not left or not right:
        raise CallError("invalid type for comparison")
    if left != right and not (left in _WHOLE and right in _WHOLE):
        raise _incompatible(first, other)
    if left not in _ORDERED:
        raise CallError("invalid type for comparison")
    if left == "string":
        # By bytes, which for UTF-8 is by code points.
        return bool(first < other)
    return bool(first < other)


def less_or_equal(first: object, other: object) -> bool:
    return less(first, other) or _equal(first, other)


def greater(first: object, other: object) -> bool:
    return not less_or_equal(first, other)


def greater_or_equal(first: object, other: object) -> bool:
    return not less(first, other)
