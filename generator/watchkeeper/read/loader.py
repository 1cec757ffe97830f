"""PyYAML's nodes, as fast as they come: the C parser where it is there, and nothing resolved or constructed."""

from __future__ import annotations

import operator
from typing import Any

import yaml

# A plain scalar that is one of these is null.
NULLS = frozenset(("", "~", "null", "Null", "NULL"))

# libyaml is ten times faster, where it is there.
_Base: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class Loader(_Base):  # type: ignore[misc]
    """Leaves scalars as they are written: what they mean depends on where they stand.

    Of these, which are called for each node, none is written in Python: that takes a third of the time. The tag of a
    node that has none in the file is thus a slice.
    """

    resolve = staticmethod(slice)
    descend_resolver = staticmethod(operator.is_)
    ascend_resolver = staticmethod(bool)


def is_null(node: Any) -> bool:
    """Whether a scalar is null: plain, without a tag, and one of the words for it."""
    return not node.style and node.value in NULLS and type(node.tag) is slice


def is_merge(node: Any) -> bool:
    """Whether a key is the merge key `<<`."""
    return not node.style and node.value == "<<" and type(node.tag) is slice
