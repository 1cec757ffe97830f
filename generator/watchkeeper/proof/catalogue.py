"""Which series there are: what the contract declares, what rules record, and what Prometheus makes itself."""

from __future__ import annotations

from watchkeeper.promql import ParseError, parse, walk
from watchkeeper.promql.nodes import VectorSelector
from watchkeeper.proof.known import Known, anything, declared, recorded

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from watchkeeper.contract import Metric
    from watchkeeper.pack import Pack
    from watchkeeper.promql.nodes import Expr

__all__ = ["Catalogue", "Known"]

# What a scrape adds by itself: https://prometheus.io/docs/concepts/jobs_instances/
_SCRAPE = (
    "up",
    "scrape_duration_seconds",
    "scrape_samples_post_metric_relabeling",
    "scrape_samples_scraped",
    "scrape_series_added",
    "scrape_timeout_seconds",
    "scrape_sample_limit",
    "scrape_body_size_bytes",
)
_KINDS = {"histogram": "counter", "info": "gauge"}


class Catalogue:
    """The series there are, by name.

    `metrics` is the contract: each series of a metric has all of its labels, none of them empty, and all of
    `target_labels`; with None it is not known what a scrape adds, and they may have any others. `recordings` are rules:
    name, expression, and the labels that rule and group set ("" takes one away). `closed`: there are no other series.
    """

    def __init__(
        self,
        metrics: Iterable[Metric] = (),
        target_labels: Iterable[str] | None = None,
        recordings: Iterable[tuple[str, str | Expr, Mapping[str, str]]] = (),
        *,
        closed: bool = True,
    ) -> None:
        self.closed = closed
        targets = None if target_labels is None else tuple(target_labels)
        self.series = dict.fromkeys(_SCRAPE, declared("gauge", None, (), targets))
        self.series["ALERTS"] = anything("gauge", ("alertname", "alertstate"))
        self.series["ALERTS_FOR_STATE"] = anything("gauge", ("alertname",))
        for metric in metrics:
            kind = _KINDS.get(metric.type, metric.type)
            for name, labels in metric.series().items():
                self.series[name] = declared(kind, metric, labels, targets)
        # A recording rule may read another that stands later, so each is worked out when first asked for.
        self._rules: dict[str, list[tuple[str | Expr, Mapping[str, str]]]] = {}
        self._trees: dict[str, tuple[Expr, ...]] = {}
        for name, expr, own in recordings:
            self._rules.setdefault(name, []).append((expr, own))
        self._waiting = set(self._rules)

    @classmethod
    def of_pack(cls, pack: Pack) -> Catalogue:
        """Return the series of a pack.

        One that declares no metric has no contract to hold names against, nor is it known what its scrapes add.
        """
        from watchkeeper.model import Recording

        recordings = [
            (rule.name, rule.expr, {**group.labels, **rule.labels})
            for group in pack.groups
            for rule in group.rules
            if isinstance(rule, Recording)
        ]
        targets = pack.target_labels if pack.metrics else None
        return cls(pack.metrics, targets, recordings, closed=bool(pack.metrics))

    def get(self, name: str) -> Known | None:
        """Return what is known of the series, None where nothing is known of any of that name."""
        if name in self._waiting:
            self._work_out(name)
        return self.series.get(name)

    def _work_out(self, name: str) -> None:
        """Follow the labels of the rules that record a series, those first that they read: chains may be long."""
        before: dict[str, Known | None] = {}
        stack = [name]
        while stack:
            name = stack[-1]
            if name in self._waiting:
                self._waiting.discard(name)
                before[name] = self.series.get(name)
                if before[name] is None and not self.closed and ":" not in name:
                    before[name] = anything()  # by its name it may be others' too
                self.series[name] = anything()  # what a rule that reads itself finds
                stack += [one for tree in self.recorded(name) for one in _read(tree) if one in self._waiting]
                continue
            stack.pop()
            if name in before:
                self.series[name] = self._recorded(name, before.pop(name))

    def _recorded(self, name: str, other: Known | None) -> Known:
        from watchkeeper.proof.flow import Flow

        rules = self._rules[name]
        trees = self.recorded(name)
        if not trees:
            return anything()
        followed = [(Flow(tuple(walk(tree)), self).of(tree), own) for tree, (_, own) in zip(trees, rules, strict=True)]
        return recorded(followed, other)

    def recorded(self, name: str) -> tuple[Expr, ...]:
        """Return the expressions of the rules that record the series, parsed; none where one of them is no PromQL."""
        rules = self._rules.get(name)
        if rules is None:
            return ()
        if name not in self._trees:
            try:
                self._trees[name] = tuple([parse(expr) if isinstance(expr, str) else expr for expr, _ in rules])
            except ParseError:
                self._trees[name] = ()
        return self._trees[name]

    def names(self) -> Sequence[str]:
        """Return the names of all series."""
        return [*self.series, *(name for name in self._rules if name not in self.series)]


def _read(tree: Expr) -> list[str]:
    """The names of the series that an expression reads."""
    return [name for node in walk(tree) if isinstance(node, VectorSelector) and (name := node.metric_name) is not None]
