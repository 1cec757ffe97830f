"""Which series there are: what the contract declares, what rules record, and what Prometheus makes itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from watchkeeper.model import Recording
from watchkeeper.promql import ParseError, parse, walk

if TYPE_CHECKING:
    from watchkeeper.contract import Metric
    from watchkeeper.pack import Pack
    from watchkeeper.promql.nodes import Expr

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


@dataclass(frozen=True)
class Known:
    """A series that exists. `labels`: all that it can have, None if not known. `kind`: Prometheus' metric type."""

    labels: frozenset[str] | None
    kind: str = "unknown"
    metric: Metric | None = None


class Catalogue:
    """The series of a pack, by name."""

    def __init__(self, pack: Pack) -> None:
        targets = frozenset(pack.target_labels)
        self.series = {name: Known(targets, "gauge") for name in _SCRAPE}
        self.series |= {"ALERTS": Known(None, "gauge"), "ALERTS_FOR_STATE": Known(None, "gauge")}
        for metric in pack.metrics:
            kind = {"histogram": "counter", "info": "gauge"}.get(metric.type, metric.type)
            for name, labels in metric.series().items():
                self.series[name] = Known(targets.union(labels), kind, metric)
        # A recording rule may read another that stands later, so each is worked out when first asked for.
        self._rules: dict[str, list[tuple[Recording, frozenset[str]]]] = {}
        self._texts: dict[str, list[str]] = {}
        self._trees: dict[str, tuple[Expr, ...]] = {}
        for group in pack.groups:
            for rule in group.rules:
                if isinstance(rule, Recording):
                    self._rules.setdefault(rule.name, []).append((rule, frozenset({**group.labels, **rule.labels})))
                    self._texts.setdefault(rule.name, []).append(rule.expr)

    def get(self, name: str) -> Known | None:
        """Return what is known of the series, None where there is none of that name."""
        rules = self._rules.pop(name, None)  # taken out first: a rule that reads itself finds nothing known
        if rules is not None:
            self.series[name] = Known(None)
            labels: frozenset[str] | None = frozenset()
            for rule, own in rules:
                recorded = self._recorded(rule)
                labels = None if labels is None or recorded is None else labels | recorded | own
            self.series[name] = Known(labels)
        return self.series.get(name)

    def _recorded(self, rule: Recording) -> frozenset[str] | None:
        from watchkeeper.proof.labels import possible

        try:
            tree = parse(rule.expr)
        except ParseError:
            return None
        return possible(tuple(walk(tree)), self)[id(tree)]

    def recorded(self, name: str) -> tuple[Expr, ...]:
        """Return the expressions of the rules that record the series, parsed; none where one of them is no PromQL."""
        if name not in self._texts:
            return ()
        if name not in self._trees:
            try:
                self._trees[name] = tuple(parse(text) for text in self._texts[name])
            except ParseError:
                self._trees[name] = ()
        return self._trees[name]

    def names(self) -> list[str]:
        """Return the names of all series."""
        return [*self.series, *self._rules]
