"""Groups of rules evaluated over a stretch of time."""

from __future__ import annotations

from watchkeeper.engine.data import Data
from watchkeeper.ruler import steps
from watchkeeper.ruler.expand import Expander
from watchkeeper.ruler.history import Clock, History, Outcome

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from watchkeeper.engine.engine import Engine
    from watchkeeper.engine.labels import Labels
    from watchkeeper.engine.results import Value
    from watchkeeper.ruler.history import Annotate
    from watchkeeper.ruler.rules import RuleGroup


class Ruler:
    """Evaluates groups of rules as Prometheus does.

    `external_labels` and `external_url` are for templates, as a server's configuration has them.
    """

    __slots__ = ("engine", "external_labels", "external_url", "groups")

    def __init__(
        self,
        groups: Sequence[RuleGroup],
        *,
        engine: Engine | None = None,
        external_labels: Mapping[str, str] | None = None,
        external_url: str = "",
    ) -> None:
        if engine is None:
            from watchkeeper.engine.engine import Engine

            engine = Engine()
        self.groups = list(groups)
        self.engine = engine
        self.external_labels = external_labels or {}
        self.external_url = external_url

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
        evaluations.
        """
        clock = Clock(round(start * 1000), round(end * 1000), _step(step))
        expander = Expander(self.external_labels, self.external_url)
        outcomes = self._outcomes(clock, order, _annotator(expander))
        history = History(clock, outcomes, lambda: _everything(data, outcomes))
        steps.run(outcomes, data, self.engine, expander, restore)
        return history

    def _outcomes(self, clock: Clock, order: Sequence[str], annotate: Annotate) -> list[Outcome]:
        places = {name: place for place, name in enumerate(order)}
        groups = sorted(self.groups, key=lambda group: places.get(group.name, 0)) if places else self.groups
        return [
            Outcome(rule, group, place, clock, annotate)
            for place, (group, rule) in enumerate((group, rule) for group in groups for rule in group.rules)
        ]


def _step(step: float) -> int:
    ms = round(step * 1000)
    if ms <= 0:
        raise ValueError(f"a step of {step} seconds: it must be a millisecond at least")
    return ms


def _everything(data: Data, outcomes: Sequence[Outcome]) -> Data:
    """The samples and what rules made; of two samples of one series at one time the first is kept."""
    found = Data(data.series)
    for outcome in outcomes:
        for series in outcome.series():
            found.add(series)
    return found


def _annotator(expander: Expander) -> Annotate:
    def annotate(outcome: Outcome, index: int, labels: Labels, value: Value) -> dict[str, str]:
        now = outcome.clock.times[index]
        return {
            name: expander.expand(text, labels, value, now, None) for name, text in outcome.rule.annotations.items()
        }

    return annotate
