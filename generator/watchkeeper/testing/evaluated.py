"""Rules evaluated over series as they are asked for, and what can be read of it."""

from __future__ import annotations

from watchkeeper.engine.engine import Engine
from watchkeeper.engine.results import Scalar, Vector
from watchkeeper.ruler.run import Ruler
from watchkeeper.testing import ledger, times

TYPE_CHECKING = False
if TYPE_CHECKING:
    from watchkeeper.engine.data import Data
    from watchkeeper.findings import Place
    from watchkeeper.model import Alert
    from watchkeeper.ruler.history import History
    from watchkeeper.testing.bench import Bench
    from watchkeeper.testing.times import Time


class AlertFailure(AssertionError):  # noqa: N818 - it is what pytest calls a failure
    """An assertion about an alert that does not hold; the message has a timeline and says why."""


class Observed(float):
    """A value that a query gave; the run knows that something was asserted once it is compared."""

    __slots__ = ("_run",)
    _run: Evaluated

    def __eq__(self, other: object) -> bool:
        self._run.asserted = True
        return float.__eq__(self, other)

    def __ne__(self, other: object) -> bool:
        self._run.asserted = True
        return float.__ne__(self, other)

    def __lt__(self, other: float) -> bool:
        self._run.asserted = True
        return float.__lt__(self, other)

    def __le__(self, other: float) -> bool:
        self._run.asserted = True
        return float.__le__(self, other)

    def __gt__(self, other: float) -> bool:
        self._run.asserted = True
        return float.__gt__(self, other)

    def __ge__(self, other: float) -> bool:
        self._run.asserted = True
        return float.__ge__(self, other)

    __hash__ = float.__hash__


class Evaluated:
    """Rules on series over time. Only the rules that are asked for, and those that they need, are evaluated.

    `asserted` says whether anything was asserted yet; pytest's plugin fails a test that leaves it false.
    """

    __slots__ = ("_histories", "asserted", "bench", "data", "end", "engine", "place", "start", "step")

    def __init__(self, bench: Bench, data: Data, span: tuple[int, int, int], compat: str, place: Place) -> None:
        """`span` is the first and the last evaluation and the step between, in ms."""
        self.bench = bench
        self.data = data
        self.start, self.end, self.step = span
        self.engine = Engine(compat=compat, subquery_step=self.step / 1000)
        self.place = place
        self.asserted = False
        self._histories: dict[int, History] = {}
        ledger.note_run(self)

    @property
    def history(self) -> History:
        """What all rules did."""
        return self._evaluated(None)

    def history_of(self, alert: Alert | str) -> History:
        """What the rules of one alert did, and those that it depends on."""
        return self._evaluated(alert if isinstance(alert, str) else alert.name)

    def _evaluated(self, name: str | None) -> History:
        everything = id(self.bench.groups)
        groups = self.bench.groups if name is None else self.bench.closure(name)
        key = everything if everything in self._histories else id(groups)
        if key not in self._histories:
            ruler = Ruler(groups, engine=self.engine)
            self._histories[key] = ruler.run(
                self.data, start=self.start / 1000, end=self.end / 1000, step=self.step / 1000
            )
        return self._histories[key]

    def _sound(self, name: str | None) -> History:
        """The history, after a look at its errors: a rule that fails proves nothing."""
        __tracebackhide__ = True
        history = self._evaluated(name)
        if history.errors:
            first = history.errors[0]
            more = f" (and {len(history.errors) - 1} more errors)" if len(history.errors) > 1 else ""
            raise AlertFailure(
                f"rule {first.rule.name} fails at {self.told(round(first.time * 1000))}: {first.message}{more}\n"
                f"  {first.rule.expr}"
            )
        return history

    def value(self, expr: str, at: Time) -> float:
        """The value of an expression that has one at a time, recorded series and ALERTS included. NaN compares unequal.

        Raises LookupError where it gives no sample, or several; see `values`.
        """
        found = self._query(expr, at)
        if len(found) != 1:
            which = ", ".join(sorted(found)) or "none"
            raise LookupError(f"{expr} gives {len(found)} samples at {self.told(self._inside(at, 'at'))}: {which}")
        observed = Observed(next(iter(found.values())))
        observed._run = self  # noqa: SLF001 - its own kind
        return observed

    def values(self, expr: str, at: Time) -> dict[str, float]:
        """The values of an expression at a time, by their labels in series notation. To ask counts as to assert."""
        self.asserted = True
        return self._query(expr, at)

    def _query(self, expr: str, at: Time) -> dict[str, float]:
        from watchkeeper.engine.labels import format_series

        result = self.engine.instant(self.history.series, expr, self._inside(at, "at") / 1000)
        if isinstance(result, Scalar):
            return {"": result.value}
        if not isinstance(result, Vector):
            raise TypeError(f"{expr} is no vector and no number")
        return {format_series(sample.labels): sample.value for sample in result.samples}

    def told(self, ms: int) -> str:
        """A time in ms for reading."""
        return times.told(ms, self.start)

    def _inside(self, value: Time, what: str) -> int:
        """A time of the run in ms. Raises ValueError where the run does not reach it, as it would show nothing."""
        ms = times.moment(value, self.start, what)
        if not self.start <= ms < self.end + self.step:
            raise ValueError(
                f"{what}: {self.told(ms)} is not in the run, whose last evaluation is at {self.told(self._last)}: "
                "give longer series, or run(until=...)"
            )
        return ms

    @property
    def _last(self) -> int:
        return self.end - (self.end - self.start) % self.step

    def _window(self, after: Time | None, until: Time | None) -> tuple[int, int]:
        """The times in ms from `after` on, before `until`."""
        low = self.start if after is None else self._inside(after, "after")
        high = self.end + self.step
        if until is not None:
            high = times.moment(until, self.start, "until")
            if high > self._last + self.step:
                self._inside(until, "until")
        if high <= low:
            raise ValueError(f"nothing is evaluated between {self.told(low)} and {self.told(high)}")
        return low, high

    def __repr__(self) -> str:
        return f"Run({len(self.data)} series, {self.told(self.start)} to {self.told(self.end)}, made at {self.place})"
