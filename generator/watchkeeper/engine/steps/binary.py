"""Binary operators between scalars, and between a vector and a scalar."""

# ruff: noqa: ARG002  (functions and nodes are called alike, whatever they look at)
# ruff: noqa: PLR0917  (positions are plain here)
from __future__ import annotations

import operator

from watchkeeper.engine.steps import histograms
from watchkeeper.engine.steps.nodes import Context, Frame, Node
from watchkeeper.engine.steps.numbers import ARITHMETIC

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from watchkeeper.engine.results import Value

COMPARISONS: dict[str, Callable[[float, float], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
# Prometheus 3.14's operators that cut a histogram at a value; floats give nothing.
TRIMS = frozenset({"</", ">/"})


class ScalarBinary(Node):
    """scalar op scalar."""

    __slots__ = ("function", "lhs", "rhs")

    def __init__(self, context: Context, place: int, op: str, lhs: Node, rhs: Node) -> None:
        super().__init__(context, place)
        self.lhs = lhs
        self.rhs = rhs
        self.function: Callable[[float, float], float] = ARITHMETIC.get(op) or COMPARISONS[op]

    def step(self, t: int) -> None:
        self.out = float(self.function(self.lhs.out, self.rhs.out))


class VectorScalar(Node):
    """vector op scalar, or with `swapped` scalar op vector."""

    __slots__ = ("op", "return_bool", "scalar", "swapped", "vector")

    def __init__(
        self, context: Context, place: int, op: str, vector: Node, scalar: Node, return_bool: bool, swapped: bool
    ) -> None:
        super().__init__(context, place)
        self.op = op
        self.vector = vector
        self.scalar = scalar
        self.return_bool = return_bool
        self.swapped = swapped

    def step(self, t: int) -> None:
        op = self.op
        scalar = self.scalar.out
        swapped = self.swapped
        drop = self.context.drop
        vector = self.vector.out
        out = []
        compare = COMPARISONS.get(op)
        if any(type(value) is not float for _, value in vector) or op in TRIMS:
            self._with_histograms()
            return
        if compare is None:
            function = ARITHMETIC[op]
            if op == self.context.idents.name_kept_by:
                out = [(ident, function(scalar, v) if swapped else function(v, scalar)) for ident, v in vector]
            elif swapped:
                out = [(drop(ident), function(scalar, value)) for ident, value in vector]
            else:
                out = [(drop(ident), function(value, scalar)) for ident, value in vector]
        elif self.return_bool:
            if swapped:
                out = [(drop(ident), 1.0 if compare(scalar, value) else 0.0) for ident, value in vector]
            else:
                out = [(drop(ident), 1.0 if compare(value, scalar) else 0.0) for ident, value in vector]
        else:
            # What is kept is the vector's value, on whichever side it stands.
            if swapped:
                self.out = [sample for sample in vector if compare(scalar, sample[1])]
            else:
                self.out = [sample for sample in vector if compare(sample[1], scalar)]
            return
        self.context.unique(out)
        self.out = out

    def _with_histograms(self) -> None:
        drop = self.context.drop
        scalar = self.scalar.out
        out: list[tuple[object, Value]] = []
        for ident, value in self.vector.out:
            lhs, rhs = (scalar, value) if self.swapped else (value, scalar)
            found = evaluate(self.op, lhs, rhs, self.context, self.place, self.return_bool)
            if found is None:
                continue
            result, holds = found
            if self.return_bool:
                out.append((drop(ident), 1.0 if holds else 0.0))
            elif self.op in COMPARISONS:
                if holds:
                    out.append((ident, value))
            else:
                out.append((ident if self.op in TRIMS else drop(ident), result))
        self.context.unique(out)  # type: ignore[arg-type]
        self.out = out


def evaluate(
    op: str, lhs: Value, rhs: Value, context: Context, place: int, return_bool: bool
) -> tuple[Value, bool] | None:
    """One operation: the value (a comparison's left side), and whether a comparison holds. None: no result."""
    if type(lhs) is not float or type(rhs) is not float or op in TRIMS:
        return histograms.binary(op, lhs, rhs, context, place, return_bool)
    function = ARITHMETIC.get(op)
    if function is not None:
        return function(lhs, rhs), True
    return lhs, COMPARISONS[op](lhs, rhs)


class Negation(Node):
    """-v. Labels must stay different over all times, for the name goes."""

    __slots__ = ("argument", "owners")

    def __init__(self, context: Context, place: int, argument: Node) -> None:
        super().__init__(context, place)
        self.argument = argument
        self.owners: dict[object, object] = {}

    def begin(self, frame: Frame) -> None:
        self.owners = {}

    def step(self, t: int) -> None:
        value = self.argument.out
        if type(value) is float:
            self.out = -value
            return
        drop = self.context.drop
        out = [(drop(ident), -value) for ident, value in value]
        if not self.context.delayed:
            from watchkeeper.engine.results import EvalError
            from watchkeeper.engine.steps.nodes import DUPLICATES

            owners = self.owners
            for (after, _), (before, _) in zip(out, value, strict=True):
                if owners.setdefault(after, before) is not before:
                    raise EvalError(DUPLICATES)
        self.out = out
