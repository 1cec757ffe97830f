"""Numbers for expressions: the same number for what is equal, so that each is evaluated once."""

from __future__ import annotations

from watchkeeper.promql.nodes import (
    Call,
    Expr,
    MatrixSelector,
    Node,
    NumberLiteral,
    StringLiteral,
    Subquery,
    VectorSelector,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Hashable

# Functions that look at the time of evaluation, or at more than their arguments (AtModifierUnsafeFunctions).
_UNSAFE = frozenset(
    {
        "time", "timestamp", "start_timestamp", "predict_linear", "info", "days_in_month", "day_of_month",
        "day_of_week", "day_of_year", "hour", "minute", "month", "year", "step", "range", "start", "end",
    }
)  # fmt: skip


class Interner:
    """Numbers expressions bottom-up. Expressions that were numbered are kept."""

    __slots__ = ("_kept", "_keys", "_numbers", "_steady")

    def __init__(self) -> None:
        self._keys: dict[Hashable, int] = {}
        self._numbers: dict[int, int] = {}  # by id() of the node, which is kept alive
        self._kept: list[Node] = []
        self._steady: list[bool] = []

    def number(self, node: Node) -> int:
        """The number of a node, the same for equal ones. Does not recurse."""
        known = self._numbers.get(id(node))
        if known is not None:
            return known
        stack: list[tuple[Node, bool]] = [(node, False)]
        while stack:
            item, ready = stack.pop()
            if id(item) in self._numbers:
                continue
            if ready:
                self._add(item)
            else:
                stack.append((item, True))
                stack += [(child, False) for child in item.children()]
        return self._numbers[id(node)]

    def steady(self, node: Expr) -> bool:
        """Whether a node gives the same at every step, because of `@` or because it is constant."""
        return self._steady[self.number(node)]

    def _add(self, node: Node) -> None:
        parts: list[Hashable] = [type(node).__name__]
        for name in node._fields:
            value = getattr(node, name)
            if isinstance(value, Node):
                parts.append(("node", self._numbers[id(value)]))
            elif type(value) is tuple:
                parts.append(tuple([self._numbers[id(item)] if isinstance(item, Node) else item for item in value]))
            else:
                parts.append(repr(value) if type(value) is float else value)
        key = tuple(parts)
        number = self._keys.setdefault(key, len(self._keys))
        if number == len(self._steady):
            self._steady.append(self._is_steady(node))
        self._numbers[id(node)] = number
        self._kept.append(node)

    def _is_steady(self, node: Node) -> bool:
        if isinstance(node, VectorSelector):
            return node.at is not None
        if isinstance(node, MatrixSelector):
            return node.selector.at is not None
        if isinstance(node, Subquery):
            return node.at is not None  # else the number of its steps may vary, whatever is inside
        if isinstance(node, NumberLiteral | StringLiteral):
            return True
        if isinstance(node, Call) and node.name in _UNSAFE:
            return False
        return all(self._steady[self._numbers[id(child)]] for child in node.children() if isinstance(child, Expr))
