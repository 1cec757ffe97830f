"""Calls of functions on range vectors."""

# ruff: noqa: ARG002  (functions and nodes are called alike, whatever they look at)
# ruff: noqa: PLR0917  (positions are plain here)
from __future__ import annotations

from watchkeeper.engine import annotations as texts
from watchkeeper.engine.results import EvalError
from watchkeeper.engine.steps import histograms, over_time, rates
from watchkeeper.engine.steps.extended import ANCHORED_FUNCTIONS, SMOOTHED_FUNCTIONS
from watchkeeper.engine.steps.nodes import DUPLICATES, Context, Frame, Node

TYPE_CHECKING = False
if TYPE_CHECKING:
    from watchkeeper.engine.steps.idents import Ident
    from watchkeeper.engine.steps.windows import Window, WindowSource

FUNCTIONS = {**rates.FUNCTIONS, **over_time.FUNCTIONS}
_COUNTER_SUFFIXES = ("_total", "_sum", "_count", "_bucket")
_NAME_KEPT = frozenset({"last_over_time", "first_over_time"})


class RangeCall(Node):
    """A function of one range vector, and of scalars (`arguments`, at `argument_places`).

    A window whose samples are all floats goes to the function here, any other to `histograms.over_range`.
    """

    __slots__ = (
        "argument_places",
        "arguments",
        "fresh",
        "function",
        "name",
        "owners",
        "scalars",
        "seconds",
        "shared",
        "source",
        "time",
    )

    def __init__(
        self, context: Context, place: int, name: str, source: WindowSource, scalars: list[Node], places: list[int]
    ) -> None:
        super().__init__(context, place)
        self.name = name
        self.function = FUNCTIONS[name]
        self.source = source
        self.scalars = scalars
        self.argument_places = places
        self.arguments: list[float] = []
        self.seconds = source.range / 1000
        self.time = 0
        self.fresh: set[Window] = set()  # those that have given no result yet
        self.owners: dict[Ident, Window] = {}
        self.shared = False  # whether several windows have the same labels without the name
        extension = source.extension
        allowed = ANCHORED_FUNCTIONS if extension == "anchored" else SMOOTHED_FUNCTIONS
        if extension and name not in allowed:
            raise EvalError(
                f"{extension} modifier can only be used with: {', '.join(allowed)} - not with {name}", source.place
            )

    def note(self, message: str, place: int | None = None) -> None:
        """Add an annotation; its place is the range's, if no other is given."""
        self.context.annotations.add(message, self.source.place if place is None else place)

    def begin(self, frame: Frame) -> None:
        self.fresh = set(self.source.windows)
        self.owners = {}
        self.shared = False

    def step(self, t: int) -> None:
        self.time = t
        self.arguments = [scalar.out for scalar in self.scalars]
        function = self.function
        keeps = self.name in _NAME_KEPT
        drop = self.context.drop
        fresh = self.fresh
        out = []
        for window in self.source.windows:
            if window.hi > window.lo:
                value = function(window, self) if window.floats_only else histograms.over_range(window, self)
                if value is not None:
                    ident = window.ident if keeps else drop(window.ident)
                    out.append((ident, value))
                    if window in fresh:
                        self._first(window, ident, type(value) is float)
        if self.shared:
            self.context.unique(out)
        self.out = out

    def _first(self, window: Window, ident: Ident, is_float: bool) -> None:
        """What is looked at when a series gives its first result.

        Without their names the labels of two series may be the same at different times, but in 2.42 not even then
        (Prometheus #14695).
        """
        self.fresh.discard(window)
        if not self.context.delayed and self.owners.setdefault(ident, window) is not window:
            if self.context.two:
                raise EvalError(DUPLICATES)
            self.shared = True
        if is_float and self.name in {"rate", "increase"}:
            name = window.ident.get("__name__")
            if name and not name.endswith(_COUNTER_SUFFIXES):
                self.note(texts.possible_non_counter(name))


class AbsentOverTime(Node):
    """absent_over_time: 1 where no series has a sample in the range."""

    __slots__ = ("ident", "source")

    def __init__(self, context: Context, place: int, source: WindowSource, ident: Ident) -> None:
        super().__init__(context, place)
        self.source = source
        self.ident = ident

    def step(self, t: int) -> None:
        present = any(window.hi > window.lo for window in self.source.windows)
        self.out = [] if present else [(self.ident, 1.0)]
