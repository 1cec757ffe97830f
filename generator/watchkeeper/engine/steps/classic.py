"""histogram_quantile, histogram_quantiles, histogram_fraction: classic buckets here, native ones in `histograms`."""

# ruff: noqa: ARG002  (functions and nodes are called alike, whatever they look at)
# ruff: noqa: PLR0917  (positions are plain here)
from __future__ import annotations

import re

from watchkeeper.engine import annotations as texts
from watchkeeper.engine.gofloat import format_openmetrics
from watchkeeper.engine.labels import set_, without
from watchkeeper.engine.results import EvalError
from watchkeeper.engine.steps import buckets as classic_buckets
from watchkeeper.engine.steps import histograms
from watchkeeper.engine.steps.aggregations import is_label_name
from watchkeeper.engine.steps.nodes import Context, Node

TYPE_CHECKING = False
if TYPE_CHECKING:
    from watchkeeper.engine.steps.idents import Ident
    from watchkeeper.engine.steps.nodes import Instant

_LE = frozenset({"le"})
# What Go's ParseFloat takes and Python's float does too; hexadecimal floats are left out of a bucket's bound.
_FLOAT = re.compile(
    r"[+-]?(?:[0-9]+\.?[0-9]*(?:[eE][+-]?[0-9]+)?|\.[0-9]+(?:[eE][+-]?[0-9]+)?|inf|infinity|nan)", re.IGNORECASE
)


class Classic(Node):
    """A function of classic histograms: series that agree in all labels but `le` are one histogram."""

    __slots__ = ("argument", "bounds", "groups", "name")

    def __init__(self, context: Context, place: int, name: str, argument: Node) -> None:
        super().__init__(context, place)
        self.name = name
        self.argument = argument
        self.groups: dict[Ident, Ident] = {}
        self.bounds: dict[Ident, float | None] = {}

    def scalars(self) -> list[float]:
        """The numbers that the function takes, at this time."""
        raise NotImplementedError

    def of_buckets(self, ident: Ident, found: list[tuple[float, float]], scalars: list[float]) -> Instant:
        """The results for one histogram, whose labels are those of `ident`."""
        raise NotImplementedError

    def of_natives(self, natives: Instant, scalars: list[float]) -> Instant:
        """The results for native histograms."""
        raise NotImplementedError

    def check(self, scalars: list[float]) -> None:
        """Add annotations about the scalars."""

    def step(self, t: int) -> None:
        scalars = self.scalars()
        self.check(scalars)
        found, natives = self._collected()
        out: Instant = []
        for ident, members in found.items():
            out += self.of_buckets(ident, members, scalars)
        if natives:
            out += self.of_natives(natives, scalars)
        self.context.unique(out)
        self.out = out

    def _collected(self) -> tuple[dict[Ident, list[tuple[float, float]]], Instant]:
        """Classic buckets by histogram, and native histograms; where there are both, neither."""
        found: dict[Ident, list[tuple[float, float]]] = {}
        natives: Instant = []
        note = self.context.annotations.add
        for ident, value in self.argument.out:
            if type(value) is not float:
                natives.append((ident, value))
                continue
            bound = self._bound(ident)
            if bound is None:
                message = texts.bad_bucket_label(ident.get("__name__"), ident.get("le"))
                note(message, self.argument.place)
                continue
            group = self.groups.get(ident)
            if group is None:
                idents = self.context.idents
                group = idents.marked(idents.of(without(ident.labels, _LE)), ident.pending)
                self.groups[ident] = group
            found.setdefault(group, []).append((bound, value))
        kept = []
        for ident, value in natives:
            group = next((group for group in found if group.plain is ident.plain), None)
            if group is None:
                kept.append((ident, value))
            else:
                note(texts.mixed_classic_native(ident.get("__name__")), self.argument.place)
                del found[group]
        return found, kept

    def _bound(self, ident: Ident) -> float | None:
        """The upper bound in the label `le`; None where that is no number."""
        if ident not in self.bounds:
            text = ident.get("le")
            self.bounds[ident] = float(text) if _FLOAT.fullmatch(text) else None
        return self.bounds[ident]


class Quantiles(Classic):
    """histogram_quantile, and histogram_quantiles, which puts each quantile into a label."""

    __slots__ = ("label", "places", "quantiles")

    def __init__(
        self, context: Context, place: int, argument: Node, quantiles: list[Node], places: list[int], label: str | None
    ) -> None:
        name = "histogram_quantile" if label is None else "histogram_quantiles"
        super().__init__(context, place, name, argument)
        self.quantiles = quantiles
        self.places = places
        self.label = label
        if label is not None and not is_label_name(label, context.two):
            raise EvalError(f"invalid label name in histogram_quantiles(): {label}", place)

    def scalars(self) -> list[float]:
        return [quantile.out for quantile in self.quantiles]

    def check(self, scalars: list[float]) -> None:
        for q, place in zip(scalars, self.places, strict=True):
            if not 0 <= q <= 1:
                self.context.annotations.add(texts.invalid_quantile(q), place)

    def of_buckets(self, ident: Ident, found: list[tuple[float, float]], scalars: list[float]) -> Instant:
        out: Instant = []
        for q in scalars:
            value, forced = classic_buckets.quantile(q, found, self.context.two)
            if forced:
                self.context.annotations.add(texts.forced_monotonicity(ident.get("__name__")), self.argument.place)
            out.append((self.labelled(ident, q), value))
        return out

    def of_natives(self, natives: Instant, scalars: list[float]) -> Instant:
        return histograms.quantiles(self, scalars, natives)

    def labelled(self, ident: Ident, q: float) -> Ident:
        """The labels of the result for one quantile."""
        idents = self.context.idents
        if self.label is not None:
            ident = idents.marked(idents.of(set_(ident.labels, self.label, format_openmetrics(q))), ident.pending)
        return idents.drop(ident)


class Fraction(Classic):
    """histogram_fraction(lower, upper, v)."""

    __slots__ = ("lower", "upper")

    def __init__(self, context: Context, place: int, argument: Node, lower: Node, upper: Node) -> None:
        super().__init__(context, place, "histogram_fraction", argument)
        self.lower = lower
        self.upper = upper

    def scalars(self) -> list[float]:
        return [self.lower.out, self.upper.out]

    def of_buckets(self, ident: Ident, found: list[tuple[float, float]], scalars: list[float]) -> Instant:
        value = classic_buckets.fraction(scalars[0], scalars[1], found)
        return [(self.context.drop(ident), value)]

    def of_natives(self, natives: Instant, scalars: list[float]) -> Instant:
        return histograms.fractions(self, scalars, natives)
