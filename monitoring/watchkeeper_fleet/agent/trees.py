"""What a call returned, taken apart: tensors, arrays and numbers in lists, mappings, dataclasses, one in the other.

Nothing is imported for it: who has no torch or NumPy loaded returns no tensor or array.
"""

from __future__ import annotations

import cmath
import dataclasses
import sys
from collections import deque
from collections.abc import Mapping
from itertools import islice
from math import isfinite

TYPE_CHECKING = False  # typing itself is slow to import
if TYPE_CHECKING:
    from typing import Any

# A look at more costs more than it tells: of one sequence, and in all, after which nothing more is opened. That also
# ends a structure that holds itself.
MOST_ITEMS = 10_000
_MOST_TYPES = 1_000
# Sequences up to here are faster looked at than asked about.
_SHORT = 8

# What to do with an instance of a type: one of these, or look at the fields of a dataclass; None is nothing to look at.
_FLOAT, _COMPLEX, _TENSOR, _ARRAY, _SEQUENCE, _MAPPING = ((kind,) for kind in "fctasm")
KINDS: dict[type, tuple[str, ...] | None] = {}


def take_apart(output: object) -> tuple[list[Any], bool]:
    """Return the tensors in output, and whether all else in it is finite."""
    tensors: list[Any] = []
    finite = True
    kinds, sequence = KINDS, _SEQUENCE
    items: list[Any] = [output]
    for item in items:  # there come more meanwhile
        try:
            kind = kinds[type(item)]
        except Exception:  # noqa: BLE001 - KeyError, or what a metaclass raises where its classes have no hash
            kind = _learn(type(item))
        if kind is None:
            continue
        if kind is sequence:
            if len(items) < MOST_ITEMS:
                items += item if len(item) <= _SHORT else _interesting(item)
        elif kind is _TENSOR:
            tensors.append(item)
        elif kind is _FLOAT:
            if not isfinite(item):
                finite = False
        elif kind is _MAPPING:
            if len(items) < MOST_ITEMS:
                items += item.values() if len(item) <= _SHORT else _interesting(item.values())
        elif kind is _COMPLEX:
            finite = finite and cmath.isfinite(item)
        elif kind is _ARRAY:
            finite = finite and _finite_array(item)
        elif len(items) < MOST_ITEMS:  # a dataclass, of which a field may be unset
            items += [getattr(item, name, None) for name in kind]
    return tensors, finite


def _interesting(items: Any) -> Any:
    """Return what of many items wants a look of its own: not token numbers, nor an embedding of finite floats."""
    types = set(map(type, items))
    if (types == {float} and isfinite(sum(items))) or all(KINDS.get(cls, cls) is None for cls in types):
        return ()
    return islice(items, MOST_ITEMS)


def _finite_array(array: Any) -> bool:
    return array.dtype.kind not in "fc" or bool(sys.modules["numpy"].isfinite(array).all())


def _learn(cls: type) -> tuple[str, ...] | None:
    if len(KINDS) >= _MOST_TYPES:  # someone makes types as they go
        KINDS.clear()
    try:
        kind = KINDS[cls] = _kind(cls)
    except Exception:  # noqa: BLE001 - it has no hash, or does not say what it is
        return None
    return kind


def _kind(cls: type) -> tuple[str, ...] | None:
    tensor = getattr(sys.modules.get("torch"), "Tensor", None)
    numpy = sys.modules.get("numpy")
    arrays = (getattr(numpy, "ndarray", cls), getattr(numpy, "generic", cls)) if numpy is not None else ()
    # A model's output may be both a mapping and a dataclass, and a named tuple is a tuple.
    for kinds, kind in (
        ((str, bytes, bytearray, int), None),
        ((float,), _FLOAT),
        ((complex,), _COMPLEX),
        ((tensor,) if isinstance(tensor, type) else (), _TENSOR),
        (arrays, _ARRAY),
        ((Mapping,), _MAPPING),
        ((list, tuple, set, frozenset, deque), _SEQUENCE),
    ):
        if issubclass(cls, kinds):
            return kind
    if dataclasses.is_dataclass(cls):
        return tuple(field.name for field in dataclasses.fields(cls))
    return None
