"""Labels followed through an expression: which ones a result can have at all."""

from __future__ import annotations

from typing import TYPE_CHECKING

from watchkeeper.promql import nodes
from watchkeeper.promql.functions import UNKNOWN

if TYPE_CHECKING:
    from collections.abc import Sequence

    from watchkeeper.promql.nodes import Label
    from watchkeeper.proof.catalogue import Catalogue

Labels = frozenset[str]

NO_LABELS: Labels = frozenset()
# Aggregations that pick series and keep their labels.
PICKING = frozenset({"topk", "bottomk", "limitk", "limit_ratio"})
SET_OPERATORS = frozenset({"and", "or", "unless"})


def possible(tree: Sequence[nodes.Node], catalogue: Catalogue) -> dict[int, Labels | None]:
    """Return, for the id of each expression node, all labels that its result can have, without the metric name.

    `tree` are the nodes of one expression, parents before children, as `walk` yields them. An upper bound: what is not
    in it can't be there. None where nothing is known.
    Semantics: https://prometheus.io/docs/prometheus/latest/querying/operators/
    """
    found: dict[int, Labels | None] = {}
    for node in reversed(tree):  # children before parents; a long chain would be too deep to recurse
        if isinstance(node, nodes.VectorSelector):
            known = catalogue.get(node.metric_name) if node.metric_name else None
            found[id(node)] = known.labels if known else None
        elif isinstance(node, nodes.Aggregate):
            found[id(node)] = _aggregate(node, found)
        elif isinstance(node, nodes.Binary):
            found[id(node)] = _binary(node, found)
        elif isinstance(node, nodes.Call):
            found[id(node)] = _call(node, found)
        elif isinstance(node, (nodes.Paren, nodes.Unary, nodes.Subquery)):
            found[id(node)] = found[id(node.expr)]
        elif isinstance(node, nodes.MatrixSelector):
            found[id(node)] = found[id(node.selector)]
        elif isinstance(node, (nodes.NumberLiteral, nodes.StringLiteral)):
            found[id(node)] = NO_LABELS
        elif isinstance(node, nodes.Expr):  # what a dashboard variable stands for
            found[id(node)] = None
    return found


def names(labels: tuple[Label, ...]) -> Labels | None:
    """Return the names in a `by (...)` or `on (...)`, None where a dashboard variable is among them."""
    return None if any(label.variables for label in labels) else frozenset(label.name for label in labels)


def _aggregate(node: nodes.Aggregate, found: dict[int, Labels | None]) -> Labels | None:
    inner, grouping = found[id(node.expr)], names(node.grouping)
    if node.variables or (node.op in PICKING):
        return inner
    if grouping is None:
        result = inner
    elif node.without:
        result = None if inner is None else inner - grouping
    else:
        result = grouping if inner is None else grouping & inner
    if node.op == "count_values" and result is not None:
        return result | {node.param.value} if isinstance(node.param, nodes.StringLiteral) else None
    return result


def _binary(node: nodes.Binary, found: dict[int, Labels | None]) -> Labels | None:
    left, right, matching = found[id(node.lhs)], found[id(node.rhs)], node.matching
    if matching is None:  # a scalar on one side, which has no labels
        return None if left is None or right is None else left | right
    if node.op == "or":
        return None if left is None or right is None else left | right
    if node.op in SET_OPERATORS:
        return left
    labels = names(matching.labels)
    if matching.card == nodes.ONE_TO_ONE:
        if labels is None or left is None:
            return labels if matching.on else left
        return left & labels if matching.on else left - labels
    many = left if matching.card == nodes.MANY_TO_ONE else right
    include = names(matching.include)
    return None if many is None or include is None else many | include


def _call(node: nodes.Call, found: dict[int, Labels | None]) -> Labels | None:
    vectors = [arg for arg in node.args if not isinstance(arg, nodes.StringLiteral) and arg.type in _VECTORS]
    if node.function is None or node.name == "info" or any(arg.type == UNKNOWN for arg in node.args):
        return None
    if node.name in ("absent", "absent_over_time"):
        return _absent(node.args[0])
    if not vectors:
        return NO_LABELS
    inner = found[id(vectors[0])]
    if inner is None:
        return None
    if node.name == "histogram_quantile":
        return inner - {"le"}
    added = {"label_replace": 1, "label_join": 1, "histogram_quantiles": 1}.get(node.name)
    if added is not None:
        label = node.args[added]
        return inner | {label.value} if isinstance(label, nodes.StringLiteral) else None
    return inner


_VECTORS = ("vector", "matrix")


def _absent(argument: nodes.Expr) -> Labels:
    """`absent` makes its labels from the equality matchers of a plain selector."""
    selector = argument.selector if isinstance(argument, nodes.MatrixSelector) else argument
    if not isinstance(selector, nodes.VectorSelector):
        return NO_LABELS
    return frozenset(matcher.label for matcher in selector.matchers if matcher.op == "=") - {"__name__"}
