"""What a query gives: a vector, a matrix, a scalar or a string; or an EvalError."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypeAlias

    from watchkeeper.engine.labels import Labels

    # A float, or a watchkeeper.engine.histogram.Histogram.
    Value: TypeAlias = Any
    Row: TypeAlias = tuple[Labels, list[int], list[Value]]


class EvalError(ValueError):
    """A query has no answer. `message` is Prometheus' text where it has one.

    `position` is an offset into the expression, None where none is known.
    """

    __slots__ = ("message", "position")

    def __init__(self, message: str, position: int | None = None) -> None:
        super().__init__(message, position)
        self.message = message
        self.position = position

    def __str__(self) -> str:
        return self.message


class Result:
    """What all results share: `warnings` and `infos`, texts as Prometheus gives them, sorted."""

    __slots__ = ("infos", "warnings")
    type = ""

    def __init__(self) -> None:
        self.warnings: list[str] = []
        self.infos: list[str] = []


class Sample:
    """One value of an instant vector, a float or a Histogram."""

    __slots__ = ("labels", "value")

    def __init__(self, labels: Labels, value: Value) -> None:
        self.labels = labels
        self.value = value

    def __eq__(self, other: object) -> bool:
        if type(other) is not Sample:
            return NotImplemented
        return self.labels == other.labels and bool(self.value == other.value)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Sample({self.labels!r}, {self.value!r})"


class Vector(Result):
    """An instant vector at `at` seconds. The order of `samples` tells something behind sort and topk."""

    __slots__ = ("at", "samples")
    type = "vector"

    def __init__(self, samples: list[Sample], at: float) -> None:
        super().__init__()
        self.samples = samples
        self.at = at

    def __repr__(self) -> str:
        return f"Vector({self.samples!r}, at={self.at!r})"


class Matrix(Result):
    """Series over time: rows of (labels, times in milliseconds, values), in order of their labels."""

    __slots__ = ("series",)
    type = "matrix"

    def __init__(self, series: list[Row]) -> None:
        super().__init__()
        self.series = series

    def __repr__(self) -> str:
        return f"Matrix({self.series!r})"


class Scalar(Result):
    """A number at `at` seconds."""

    __slots__ = ("at", "value")
    type = "scalar"

    def __init__(self, value: float, at: float) -> None:
        super().__init__()
        self.value = value
        self.at = at

    def __repr__(self) -> str:
        return f"Scalar({self.value!r}, at={self.at!r})"


class String(Result):
    """A text at `at` seconds."""

    __slots__ = ("at", "value")
    type = "string"

    def __init__(self, value: str, at: float) -> None:
        super().__init__()
        self.value = value
        self.at = at

    def __repr__(self) -> str:
        return f"String({self.value!r}, at={self.at!r})"
