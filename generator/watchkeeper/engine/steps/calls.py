"""Functions of instant vectors that look at values only, and those that make a vector or a scalar of another thing."""

# ruff: noqa: ARG002  (functions and nodes are called alike, whatever they look at)
# ruff: noqa: PLR0124  (x != x asks for NaN)
from __future__ import annotations

from watchkeeper.engine.steps import histograms
from watchkeeper.engine.steps.formulas import MAPS, floor
from watchkeeper.engine.steps.nodes import Context, Node
from watchkeeper.engine.steps.numbers import NAN, divide, maximum, minimum

TYPE_CHECKING = False
if TYPE_CHECKING:
    from watchkeeper.engine.steps.idents import Ident


__all__ = [
    "EXTRACTIONS",
    "MAPS",
    "Absent",
    "Clamp",
    "Clock",
    "DateNow",
    "Extraction",
    "Map",
    "OfTwo",
    "Round",
    "Timestamp",
    "ToScalar",
    "ToVector",
]
EXTRACTIONS = frozenset({"histogram_avg", "histogram_count", "histogram_stddev", "histogram_stdvar", "histogram_sum"})


class Map(Node):
    """A formula on each value: abs, ln, hour, ..."""

    __slots__ = ("argument", "function", "name")

    def __init__(self, context: Context, place: int, name: str, argument: Node) -> None:
        super().__init__(context, place)
        self.name = name
        self.function = MAPS[name]
        self.argument = argument

    def step(self, t: int) -> None:
        function = self.function
        drop = self.context.drop
        out = []
        for ident, value in self.argument.out:
            if type(value) is float:
                out.append((drop(ident), function(value)))
            else:
                other = histograms.map_value(self.name, value)
                if other is not None:
                    out.append((drop(ident), other))
        self.context.unique(out)
        self.out = out


class Extraction(Node):
    """histogram_count and the like: a number of each native histogram; floats are left out."""

    __slots__ = ("argument", "name")

    def __init__(self, context: Context, place: int, name: str, argument: Node) -> None:
        super().__init__(context, place)
        self.name = name
        self.argument = argument

    def step(self, t: int) -> None:
        drop = self.context.drop
        out = []
        for ident, value in self.argument.out:
            if type(value) is not float:
                number = histograms.extract(self.name, value)
                if number is not None:
                    out.append((drop(ident), number))
        self.context.unique(out)
        self.out = out


class Clock(Node):
    """time(), and what minute() and the like default to."""

    __slots__ = ()

    def step(self, t: int) -> None:
        self.out = t / 1000


class DateNow(Node):
    """minute() and the like without an argument: of the time of the evaluation."""

    __slots__ = ("function", "ident")

    def __init__(self, context: Context, place: int, name: str) -> None:
        super().__init__(context, place)
        self.function = MAPS[name]
        self.ident = context.idents.of(())

    def step(self, t: int) -> None:
        self.out = [(self.ident, self.function(t / 1000))]


class Clamp(Node):
    """clamp, clamp_min, clamp_max. Without a bound on one side that is infinite."""

    __slots__ = ("argument", "high", "low", "name")

    def __init__(self, context: Context, place: int, name: str, arguments: list[Node]) -> None:
        super().__init__(context, place)
        self.name = name
        self.argument = arguments[0]
        self.low = arguments[1] if name != "clamp_max" else None
        self.high = arguments[-1] if name != "clamp_min" else None

    def step(self, t: int) -> None:
        drop = self.context.drop
        low = None if self.low is None else self.low.out
        high = None if self.high is None else self.high.out
        self.out = out = []
        if low is not None and high is not None and low > high:
            return
        for ident, value in self.argument.out:
            if type(value) is float:
                clamped = value
                if high is not None:
                    clamped = minimum(high, clamped)
                if low is not None:
                    clamped = maximum(low, clamped)
                out.append((drop(ident), clamped))
        self.context.unique(out)


class Round(Node):
    """round(v, to): to the nearest multiple, halves up."""

    __slots__ = ("argument", "to")

    def __init__(self, context: Context, place: int, arguments: list[Node]) -> None:
        super().__init__(context, place)
        self.argument = arguments[0]
        self.to = arguments[1] if len(arguments) > 1 else None

    def step(self, t: int) -> None:
        drop = self.context.drop
        # Prometheus multiplies by the inverse, as that has fewer rounding errors for 0.1 and the like.
        inverse = 1.0 if self.to is None else divide(1.0, self.to.out)
        self.out = out = [
            (drop(ident), divide(floor(value * inverse + 0.5), inverse))
            for ident, value in self.argument.out
            if type(value) is float
        ]
        self.context.unique(out)


class Timestamp(Node):
    """timestamp() of what is no plain selector: the time of the evaluation."""

    __slots__ = ("argument",)

    def __init__(self, context: Context, place: int, argument: Node) -> None:
        super().__init__(context, place)
        self.argument = argument

    def step(self, t: int) -> None:
        drop = self.context.drop
        time = t / 1000
        self.out = out = [(drop(ident), time) for ident, _ in self.argument.out]
        self.context.unique(out)


class ToScalar(Node):
    """scalar(v): the value of the only float, else NaN."""

    __slots__ = ("argument",)

    def __init__(self, context: Context, place: int, argument: Node) -> None:
        super().__init__(context, place)
        self.argument = argument

    def step(self, t: int) -> None:
        floats = [value for _, value in self.argument.out if type(value) is float]
        self.out = floats[0] if len(floats) == 1 else NAN


class ToVector(Node):
    """vector(s)."""

    __slots__ = ("argument", "ident")

    def __init__(self, context: Context, place: int, argument: Node) -> None:
        super().__init__(context, place)
        self.argument = argument
        self.ident = context.idents.of(())

    def step(self, t: int) -> None:
        self.out = [(self.ident, self.argument.out)]


class Absent(Node):
    """absent(v): 1 with the labels that the selector asks for, where it gives nothing."""

    __slots__ = ("argument", "ident")

    def __init__(self, context: Context, place: int, argument: Node, ident: Ident) -> None:
        super().__init__(context, place)
        self.argument = argument
        self.ident = ident

    def step(self, t: int) -> None:
        self.out = [] if self.argument.out else [(self.ident, 1.0)]


class OfTwo(Node):
    """min_of, max_of: the lesser or the greater of two scalars, NaN where either is."""

    __slots__ = ("arguments", "function")

    def __init__(self, context: Context, place: int, name: str, arguments: list[Node]) -> None:
        super().__init__(context, place)
        self.function = minimum if name == "min_of" else maximum
        self.arguments = arguments

    def step(self, t: int) -> None:
        lhs, rhs = self.arguments[0].out, self.arguments[1].out
        if lhs != lhs or rhs != rhs:
            self.out = NAN
        else:
            self.out = self.function(lhs, rhs)
