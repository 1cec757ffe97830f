"""Smaller expressions and smaller data that still show a difference."""

from __future__ import annotations

from typing import TYPE_CHECKING

from watchkeeper.engine import Series
from watchkeeper.promql import ParseError, parse, walk
from watchkeeper.promql.nodes import Expr, Node

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


def simpler(expr: str) -> Iterator[str]:
    """Expressions in which one part stands for a larger part of the same type that holds it; the shortest first."""
    try:
        tree = parse(expr)
    except ParseError:
        return
    found = set()
    nodes = [node for node in walk(tree) if isinstance(node, Expr)]
    for outer in nodes:
        for inner in walk(outer):
            if inner is not outer and isinstance(inner, Expr) and inner.type == outer.type:
                found.add(expr[: outer.start] + expr[inner.start : inner.end] + expr[outer.end :])
    for node in walk(tree):
        for child in _droppable(node):
            found.add(expr[: child[0]] + expr[child[1] :])
    yield from sorted(found - {expr}, key=lambda text: (len(text), text))


def _droppable(node: Node) -> Iterator[tuple[int, int]]:
    """Spans that a node may do without: its modifiers, and its label matchers."""
    from watchkeeper.promql.nodes import MatrixSelector, VectorSelector

    if isinstance(node, MatrixSelector):
        yield node.range.end + 1, node.end
    if isinstance(node, VectorSelector) and node.name is not None:
        if node.matchers:
            yield node.name_end, node.matchers[-1].end + 1
        elif node.end > node.name_end:
            yield node.name_end, node.end


def shrink_expression(expr: str, differs: Callable[[str], bool], budget: int = 200) -> str:
    """The shortest expression that can be found in so many tries."""
    again = True
    while again and budget > 0:
        again = False
        for candidate in simpler(expr):
            budget -= 1
            if budget < 0:
                break
            try:
                parse(candidate)
            except ParseError:
                continue
            if differs(candidate):
                expr, again = candidate, True
                break
    return expr


def shrink_series(series: list[Series], differs: Callable[[list[Series]], bool], budget: int = 150) -> list[Series]:
    """Drop series, then samples, in ever smaller lumps."""
    series, budget = _drop(series, differs, budget)
    for index in range(len(series)):
        whole = series[index]

        def rebuilt(kept: list, whole: Series = whole, index: int = index, series: list = series) -> list:
            times, values = [time for time, _ in kept], [value for _, value in kept]
            return [*series[:index], Series(whole.labels, times, values), *series[index + 1 :]]

        samples = list(zip(whole.times, whole.values, strict=True))
        samples, budget = _drop(samples, lambda kept, rebuilt=rebuilt: differs(rebuilt(kept)), budget)
        series = rebuilt(samples)
    return [one for one in series if one.times]


def _drop(items: list, differs: Callable[[list], bool], budget: int) -> tuple[list, int]:
    size = max(1, len(items) // 2)
    while size and budget > 0:
        start = 0
        while start < len(items) and budget > 0:
            candidate = items[:start] + items[start + size :]
            budget -= 1
            if differs(candidate):
                items = candidate
            else:
                start += size
        size //= 2
    return items, budget
