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

# A look at more costs more than it tells; it also ends a structure that holds itself.
MOST_CONTAINERS = 10_000
MOST_ITEMS = 10_000
_MOST_TYPES = 1_000
# Sequences up to here are faster looked at than asked about.
_SHORT = 8

# Nothing to look at is the false one.
NOTHING, _FLOAT, _COMPLEX, _TENSOR, _ARRAY, _SEQUENCE, _MAPPING = range(7)
# What to do with an instance of a type: one of the above, or the fields of a dataclass.
KINDS: dict[type, int | tuple[str, ...]] = {}


def take_apart(output: object) -> tuple[list[Any], bool]:
    """Return the tensors in output, and whether all else in it is finite."""
    tensors: list[Any] = []
    finite = True
    containers: list[Any] = [(output,)]
    for items in containers:  # there come more meanwhile
        for item in items:
            try:
                kind = KINDS[type(item)]
            except KeyError:
                kind = _learn(type(item))
            if kind == _FLOAT:
                if not isfinite(item):
                    finite = False
            elif kind == _TENSOR:
                tensors.append(item)
            elif kind == NOTHING:
                pass
            elif kind == _COMPLEX:
                finite = finite and cmath.isfinite(item)
            elif kind == _ARRAY:
                finite = finite and _finite_array(item)
            elif len(containers) >= MOST_CONTAINERS:
                pass
            elif kind == _SEQUENCE:
                containers.append(item if len(item) <= _SHORT else _interesting(item))
            elif kind == _MAPPING:
                containers.append(item.values() if len(item) <= _SHORT else _interesting(item.values()))
            else:  # a dataclass, of which a field may be unset
                containers.append([getattr(item, name, None) for name in kind])  # type: ignore[union-attr]
    return tensors, finite


def _interesting(items: Any) -> Any:
    """Return what of many items wants a look of its own: not token numbers, nor an embedding of finite floats."""
    types = set(map(type, items))
    if (types == {float} and isfinite(sum(items))) or all(KINDS.get(cls) == NOTHING for cls in types):
        return ()
    return islice(items, MOST_ITEMS)


def _finite_array(array: Any) -> bool:
    return array.dtype.kind not in "fc" or bool(sys.modules["numpy"].isfinite(array).all())


def _learn(cls: type) -> int | tuple[str, ...]:
    if len(KINDS) >= _MOST_TYPES:  # someone makes types as they go
        KINDS.clear()
    kind = KINDS[cls] = _kind(cls)
    return kind


def _kind(cls: type) -> int | tuple[str, ...]:
    tensor = getattr(sys.modules.get("torch"), "Tensor", None)
    numpy = sys.modules.get("numpy")
    arrays = (getattr(numpy, "ndarray", cls), getattr(numpy, "generic", cls)) if numpy is not None else ()
    # A model's output may be both a mapping and a dataclass, and a named tuple is a tuple.
    for kinds, kind in (
        ((str, bytes, bytearray, int), NOTHING),
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
    return NOTHING
