"""sum, avg, min, max, count, group, stddev, stdvar, quantile, count_values."""

# ruff: noqa: ARG001, ARG002  (functions and nodes are called alike, whatever they look at)
# ruff: noqa: PLR0124  (x != x asks for NaN)
# ruff: noqa: PLR0917  (positions are plain here)
from __future__ import annotations

import math

from watchkeeper.engine import annotations as texts
from watchkeeper.engine.gofloat import format_f
from watchkeeper.engine.labels import is_legacy_name, set_
from watchkeeper.engine.results import EvalError
from watchkeeper.engine.steps import histograms
from watchkeeper.engine.steps.grouping import Grouping
from watchkeeper.engine.steps.nodes import Context, Node
from watchkeeper.engine.steps.numbers import INF, NAN, average, average_2, compensated, quantile

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from watchkeeper.engine.results import Value
    from watchkeeper.engine.steps.idents import Ident


def _sum(values: list[float]) -> float:
    return compensated(values[0], values[1:])


def _plain_sum(values: list[float]) -> float:
    """As Prometheus 2.42 adds up."""
    total = values[0]
    for value in values[1:]:
        total += value
    return total


def _plain_average(values: list[float]) -> float:
    return average_2(values, compensate=False)


def _min(values: list[float]) -> float:
    found = values[0]
    for value in values:
        if value < found or found != found:
            found = value
    return found


def _max(values: list[float]) -> float:
    found = values[0]
    for value in values:
        if value > found or found != found:
            found = value
    return found


def _count(values: list[float]) -> float:
    return float(len(values))


def _group(values: list[float]) -> float:
    return 1.0


def _stdvar(values: list[float]) -> float:
    return _deviations(values, 0.0 if math.isfinite(values[0]) else NAN)


def _stdvar_2(values: list[float]) -> float:
    """As in Prometheus 2.42, where a single value deviates by 0 even if it is NaN."""
    return _deviations(values, 0.0)


def _deviations(values: list[float], total: float) -> float:
    """The mean of the squared deviations from the mean (Welford)."""
    mean = values[0]
    count = 1.0
    for value in values[1:]:
        count += 1.0
        difference = value - mean
        mean += difference / count
        total += difference * (value - mean)
    return total / count


def _stddev(values: list[float]) -> float:
    return _root(_stdvar(values))


def _stddev_2(values: list[float]) -> float:
    return _root(_stdvar_2(values))


def _root(variance: float) -> float:
    if variance < 0:  # -Inf, by overflow: Go's Sqrt has no value for it
        return math.nan
    return math.sqrt(variance) if variance != INF else variance


_FOLDS: dict[str, Callable[[list[float]], float]] = {
    "avg": average,
    "count": _count,
    "group": _group,
    "max": _max,
    "min": _min,
    "stddev": _stddev,
    "stdvar": _stdvar,
    "sum": _sum,
}
_FOLDS_2 = {**_FOLDS, "avg": _plain_average, "stddev": _stddev_2, "stdvar": _stdvar_2, "sum": _plain_sum}
_ANY_VALUE = frozenset({"count", "group"})


class Fold(Node):
    """An aggregation that makes one value of each group."""

    __slots__ = ("argument", "fold", "grouping", "op", "param", "param_place")

    def __init__(
        self,
        context: Context,
        place: int,
        op: str,
        argument: Node,
        grouping: Grouping,
        param: Node | None,
        param_place: int,
    ) -> None:
        super().__init__(context, place)
        self.op = op
        self.argument = argument
        self.grouping = grouping
        self.param = param
        self.param_place = param_place
        self.fold = (_FOLDS_2 if context.two else _FOLDS).get(op)

    def step(self, t: int) -> None:
        fold = self.fold or self._quantile()
        groups: dict[Ident, list[float]] = {}
        floats_only = True
        of = self.grouping.of
        pending = set()
        for ident, value in self.argument.out:
            group = of(ident)
            members = groups.get(group)
            if members is None:
                groups[group] = [value]
                if ident.pending:  # the first member decides (#17161)
                    pending.add(group)
            else:
                members.append(value)
            if type(value) is not float:
                floats_only = False
        out = []
        for group, values in groups.items():
            result: Value | None
            if floats_only or self.op in _ANY_VALUE or all(type(value) is float for value in values):
                result = fold(values)
            else:
                result = histograms.aggregate(self, group, values, fold)
                if result is None:
                    continue
            out.append((self.context.drop(group) if group in pending else group, result))
        self.out = out

    def _quantile(self) -> Callable[[list[float]], float]:
        assert self.param is not None
        q = self.param.out
        if not 0 <= q <= 1:
            self.context.annotations.add(texts.invalid_quantile(q), self.param_place)
        return lambda values: quantile(q, values)


class CountValues(Node):
    """count_values("label", v): how often each value is there, the value as a label."""

    __slots__ = ("argument", "forgetful", "grouping", "label", "names")

    def __init__(
        self, context: Context, place: int, argument: Node, names: tuple[str, ...], without: bool, label: Node
    ) -> None:
        super().__init__(context, place)
        self.argument = argument
        self.label = label.out
        if not is_label_name(self.label, context.two):
            raise EvalError(f"invalid label name {quoted(self.label)}", place)
        self.names = sorted(names)
        # 2.42 sorts the value's label into the list of names at each time, in place where the list, which grows to the
        # next power of two, has room left; then the last name is lost to the following times.
        self.forgetful = context.two and not without and len(names) & (len(names) - 1) != 0
        self.grouping = Grouping(context, names if without else (*names, self.label), without)

    def step(self, t: int) -> None:
        counts: dict[Ident, float] = {}
        of = self.context.idents.of
        for ident, value in self.argument.out:
            text = format_f(value) if type(value) is float else str(value)
            group = of(self.grouping.labels(set_(ident.labels, self.label, text)))
            counts[group] = counts.get(group, 0.0) + 1.0
        self.out = list(counts.items())
        if self.forgetful:
            names = sorted([*self.names, self.label])[:-1]
            if names != self.names:
                self.names = names
                self.grouping = Grouping(self.context, (*names, self.label), without=False)


def is_label_name(name: str, legacy: bool) -> bool:
    """Whether this may be a label's name: any UTF-8 since 3.0, before that letters, digits and underscores."""
    if legacy:
        return is_legacy_name(name)
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return bool(name)


def quoted(text: str) -> str:
    """A text as messages quote it."""
    from watchkeeper.engine.labels import quote

    return quote(text)


def names_of(labels: Collection[object]) -> tuple[str, ...]:
    """The names in a list of `promql.nodes.Label`."""
    return tuple([label.name for label in labels])  # type: ignore[attr-defined]
