"""info(v, {matchers}): labels of info series, such as target_info, joined on by instance and job (promql/info.go)."""

# ruff: noqa: ARG002  (functions and nodes are called alike, whatever they look at)
from __future__ import annotations

from bisect import bisect_right

from watchkeeper.engine.data import is_stale, test_of
from watchkeeper.engine.labels import NAME, format_, only
from watchkeeper.engine.results import EvalError
from watchkeeper.engine.steps.nodes import Context, Frame, Node
from watchkeeper.promql.nodes import Matcher

TYPE_CHECKING = False
if TYPE_CHECKING:
    from watchkeeper.engine.data import Series
    from watchkeeper.engine.labels import Labels
    from watchkeeper.engine.steps.idents import Ident
    from watchkeeper.engine.steps.nodes import Instant
    from watchkeeper.engine.steps.windows import Timing
    from watchkeeper.promql.nodes import VectorSelector

_IDENTIFYING = frozenset({"instance", "job"})
_TARGET_INFO = "target_info"
_ANY_INFO = ".+_info"


def _matcher(op: str, value: str) -> Matcher:
    return Matcher(NAME, op, value, 0, 0, 0, 0)


class Info(Node):
    """info(): `timings` lead from the time of the evaluation to that which the base selector looks at."""

    __slots__ = ("argument", "by_name", "cache", "matchers", "names", "series", "tests", "timings")

    def __init__(
        self, context: Context, place: int, argument: Node, selector: VectorSelector | None, timings: list[Timing]
    ) -> None:
        super().__init__(context, place)
        self.argument = argument
        self.timings = timings
        matchers = [] if selector is None else list(selector.matchers)
        if selector is not None and selector.name is not None:
            matchers.append(_matcher("=", selector.name))
        names = [matcher for matcher in matchers if matcher.label == NAME]
        if not names:
            names = [_matcher("=", _TARGET_INFO)]
        elif all(matcher.op[0] == "!" for matcher in names):
            # Names that are only excluded leave all that look like info metrics.
            names.append(_matcher("=~", _ANY_INFO))
        self.names = [test_of(matcher) for matcher in names]
        self.matchers = [*names, *(matcher for matcher in matchers if matcher.label != NAME)]
        self.tests: dict[str, list[bool]] = {}
        for matcher in matchers:
            if matcher.label != NAME:
                self.tests.setdefault(matcher.label, []).append(test_of(matcher)(""))
        self.series: list[tuple[tuple[str, Labels], Series]] = []
        self.by_name: list[str] = []
        self.cache: dict[tuple[Ident, tuple[Labels, ...]], Ident | None] = {}

    def begin(self, frame: Frame) -> None:
        self.series = []
        names = {}
        for series in self.context.query.data.select(self.matchers):
            name = dict(series.labels).get(NAME, "")
            names[name] = True
            self.series.append(((name, only(series.labels, _IDENTIFYING)), series))
        self.by_name = list(names)

    def step(self, t: int) -> None:
        base: Instant = self.argument.out
        self.out = out = []
        if not base:
            return
        found = self._current(t)
        for ident, value in base:
            name = ident.get(NAME)
            if all(test(name) for test in self.names):
                out.append((ident, value))  # an info series itself
                continue
            signature = only(ident.labels, _IDENTIFYING)
            joined = []
            if signature:
                for info_name in self.by_name:
                    info = found.get((info_name, signature))
                    if info is not None:
                        joined.append(info.labels)
            enriched = self._enriched(ident, tuple(joined))
            if enriched is not None:
                out.append((enriched, value))
        if len(out) > 1 and len({ident.plain for ident, _ in out}) < len(out):
            from watchkeeper.engine.steps.nodes import DUPLICATES

            raise EvalError(DUPLICATES)

    def _current(self, t: int) -> dict[tuple[str, Labels], Series]:
        """The info series that are there at a time, by name and identifying labels; of several the newest."""
        for timing in self.timings:
            t = timing.of(t)
        lookback = self.context.query.lookback
        oldest = t - lookback + (not self.context.closed)
        found: dict[tuple[str, Labels], tuple[int, Series]] = {}
        for key, series in self.series:
            index = bisect_right(series.times, t) - 1
            if index < 0 or series.times[index] < oldest or is_stale(series.values[index]):
                continue
            if type(series.values[index]) is not float:
                raise EvalError("info sample should be float", self.place)
            time = series.times[index]
            other = found.get(key)
            if other is None or other[0] < time:
                found[key] = (time, series)
            elif other[0] == time:
                raise EvalError(
                    f"found duplicate series for info metric: existing {format_(other[1].labels)} @ {time}, "
                    f"new {format_(series.labels)} @ {time}",
                    self.place,
                )
        return {key: series for key, (_, series) in found.items()}

    def _enriched(self, ident: Ident, joined: tuple[Labels, ...]) -> Ident | None:
        """The ident with the labels of its info series; None where there are none although some were asked for."""
        key = ident, joined
        if key in self.cache:
            return self.cache[key]
        own = dict(ident.labels)
        added: dict[str, str] = {}
        for labels in joined:
            for name, value in labels:
                if name == NAME or (self.tests and name not in self.tests):
                    continue
                if added.get(name, value) != value:
                    raise EvalError(f"conflicting label: {name}", self.place)
                if name not in own:
                    added[name] = value
        result: Ident | None
        if not joined and not all(all(passes) for passes in self.tests.values()):
            result = None
        else:
            idents = self.context.idents
            result = idents.marked(idents.of(tuple(sorted({**own, **added}.items()))), ident.pending)
        self.cache[key] = result
        return result
