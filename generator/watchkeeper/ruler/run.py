"""Groups of rules evaluated over a stretch of time."""

from __future__ import annotations

from watchkeeper.engine.data import Data
from watchkeeper.promql.nodes import VectorSelector, walk
from watchkeeper.ruler import world
from watchkeeper.ruler.expand import Expander
from watchkeeper.ruler.history import Clock, History, Outcome
from watchkeeper.ruler.plan import Written, plan

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Any

    from watchkeeper.engine.engine import Engine
    from watchkeeper.engine.labels import Labels
    from watchkeeper.engine.results import Value
    from watchkeeper.promql.nodes import Expr
    from watchkeeper.ruler.history import Annotate
    from watchkeeper.ruler.rules import RuleGroup

# From so many selected series x evaluations on, NumPy is worth its import.
_ARRAYS_FROM = 20_000


class Ruler:
    """Evaluates groups of rules as Prometheus does.

    `external_labels` and `external_url` are for templates, as a server's configuration has them. Without
    `url_functions`, pathPrefix and externalURL fail in templates, as they do in promtool's unit tests.
    """

    __slots__ = ("engine", "external_labels", "external_url", "groups", "url_functions")

    def __init__(
        self,
        groups: Sequence[RuleGroup],
        *,
        engine: Engine | None = None,
        external_labels: Mapping[str, str] | None = None,
        external_url: str = "",
        url_functions: bool = True,
    ) -> None:
        if engine is None:
            from watchkeeper.engine.engine import Engine

            engine = Engine()
        self.groups = list(groups)
        self.engine = engine
        self.external_labels = external_labels or {}
        self.external_url = external_url
        self.url_functions = url_functions

    def run(
        self,
        data: Data,
        *,
        start: float,
        end: float,
        step: float,
        order: Sequence[str] = (),
        restore: Data | None = None,
    ) -> History:
        """Evaluate all groups at start, start + step, ... up to `end`, in seconds.

        A group's own interval does not count, as in promtool. Groups go in the order given by their names in `order`;
        those not in it come first, as in promtool. `restore` is data with ALERTS_FOR_STATE from before a restart that
        came just before `start`: alerts then go on waiting as on a server, which writes no ALERTS in its first two
        evaluations. Rules that fail do not raise: they are in the history's `errors`.
        """
        clock = Clock(round(start * 1000), round(end * 1000), _step(step))
        if restore is not None:
            return self.run_in(lambda _: world.World(data, self.engine), clock, order, mode="steps", restore=restore)
        mode = self.engine.evaluator
        if mode == "auto":
            mode = "arrays" if worth_arrays(len(clock) * work(self._trees(), data.count, len(data))) else "whole"

        def make(mode: str) -> Any:
            if mode != "arrays":
                return world.World(data, self.engine)
            from watchkeeper.ruler.arrays import World

            return World(data, [], self.engine)

        return self.run_in(make, clock, order, mode=mode)

    def run_in(
        self, make: Callable[[str], Any], clock: Clock, order: Sequence[str], mode: str, restore: Data | None = None
    ) -> History:
        """Evaluate in a world that is made for a mode: "arrays", "whole" (plain, all times at once) or "steps"."""
        expander = Expander(self.external_labels, self.external_url, url_functions=self.url_functions)
        annotator = _Annotator(self.engine, expander)
        outcomes = self._outcomes(clock, order, annotator)
        own = make(mode)
        unread: set[int] = set()
        if mode != "steps" and len(clock):
            try:
                world.run(own, plan(outcomes), outcomes, expander)
                unread = {one.place for one in outcomes if one.rule.is_alert} - own.written
            except world.ConflictError:
                outcomes = self._outcomes(clock, order, annotator)
                own, mode = make("steps"), "steps"
        base = own.plain(None) if mode == "steps" else None
        if base is not None and len(clock):
            from watchkeeper.ruler import steps

            steps.run(outcomes, base, self.engine, expander, restore)
        history = History(clock, outcomes, _Asker(own, outcomes, unread, base))
        annotator.history = history
        return history

    def _trees(self) -> list[Expr]:
        return [rule.tree for group in self.groups for rule in group.rules]

    def _outcomes(self, clock: Clock, order: Sequence[str], annotate: Annotate) -> list[Outcome]:
        places = {name: place for place, name in enumerate(order)}
        groups = sorted(self.groups, key=lambda group: places.get(group.name, 0)) if places else self.groups
        return [
            Outcome(rule, group, place, clock, annotate)
            for place, (group, rule) in enumerate((group, rule) for group in groups for rule in group.rules)
        ]


class _Asker:
    """Answers queries about all that a run knows."""

    __slots__ = ("_base", "_outcomes", "_unread", "_world", "_written")

    def __init__(self, own: Any, outcomes: Sequence[Outcome], unread: set[int], base: Data | None) -> None:
        self._world = own
        self._outcomes = outcomes
        self._written = Written(outcomes)
        self._unread = unread  # alerts whose series are not in the world yet
        self._base = base  # where that does not have what rules wrote

    def everything(self) -> Data:
        """All series."""
        self._read(set(self._unread))
        if self._base is not None:
            return everything(self._base, self._outcomes)
        return self._world.plain(None)  # type: ignore[no-any-return]

    def instant(self, tree: Expr, text: str, at: float) -> Any:
        """An instant query. Raises EvalError."""
        if self._unread:
            self._read(self._unread & self._written.read_by(tree))
        if self._base is not None:
            self._world, self._base = world.World(everything(self._base, self._outcomes), self._world.engine), None
        return self._world.instant(tree, text, at)

    def _read(self, places: set[int]) -> None:
        """Add the series of alerts to the world; where the samples hold such already, all has to be merged."""
        try:
            for place in sorted(places):
                self._world.add(self._outcomes[place].series())
                self._unread.discard(place)
        except world.ConflictError:
            self._base = self._world.plain(None)
            self._unread = set()


def worth_arrays(points: int) -> bool:
    """Whether so many selected series x evaluations pay for NumPy."""
    return points >= _ARRAYS_FROM


def work(trees: Iterable[Expr], count: Callable[[str | None], int], everything: int) -> int:
    """How many series the selectors of expressions look at, a series counted each time."""
    found = 0
    for tree in trees:
        for node in walk(tree):
            if isinstance(node, VectorSelector):
                found += everything if node.metric_name is None else count(node.metric_name)
    return found


def _step(step: float) -> int:
    ms = round(step * 1000)
    if ms <= 0:
        raise ValueError(f"a step of {step} seconds: it must be a millisecond at least")
    return ms


def everything(data: Data, outcomes: Sequence[Outcome]) -> Data:
    """The samples and what rules made; of two samples of one series at one time the first is kept."""
    found = Data(data.series)
    for outcome in outcomes:
        for series in outcome.series():
            known = found.get(series.labels)
            if known is series:
                continue
            if known is not None:
                found.add(series)
                series = known  # noqa: PLW2901  (added once more, so that its samples win)
            found.add(series)
    return found


class _Annotator:
    """Expands annotations when they are asked for."""

    __slots__ = ("engine", "expander", "history")

    def __init__(self, engine: Engine, expander: Expander) -> None:
        self.engine = engine
        self.expander = expander
        self.history: History | None = None

    def __call__(self, outcome: Outcome, index: int, labels: Labels, value: Value) -> dict[str, str]:
        now = outcome.clock.times[index]

        def query(text: str) -> Any:
            from watchkeeper.ruler.past import past

            assert self.history is not None
            return self.engine.instant(past(self.history, outcome, index, text), text, now / 1000)

        return {
            name: self.expander.expand(outcome.rule, text, labels, value, now, query)
            for name, text in outcome.rule.annotations.items()
        }
