"""Rules and samples with the time between samples divided by a scale, and all values kept.

A server evaluates rules by its own clock only, and an incident takes an hour. What counts in time is rewritten at its
place in the author's text: durations become shorter, a rate per second of the server's clock becomes one per second of
the incident, and `time()` is the incident's. So thresholds and values stay those of the incident.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING, Any

from watchkeeper.engine import Series
from watchkeeper.promql import parse, walk
from watchkeeper.promql.nodes import At, Call, DurationExpr, DurationLiteral, NumberLiteral, Subquery

if TYPE_CHECKING:
    from collections.abc import Iterable

    from watchkeeper.ruler import Rule, RuleGroup

# What these give does not change when their window and the samples in it are compressed alike.
KEPT = {
    "absent", "avg_over_time", "histogram_quantile", "increase", "max_over_time", "min_over_time", "vector",
}  # fmt: skip
PER_SECOND = {"rate", "deriv"}


class Compression:
    """The server's time `at_ms` is the incident's time `of_ms`, and it passes `scale` times as slowly."""

    def __init__(self, scale: int, of_ms: int, at_ms: int) -> None:
        self.scale, self.of_ms, self.at_ms = scale, of_ms, at_ms

    def length(self, ms: int) -> int:
        if ms % self.scale:
            raise ValueError(f"{ms} ms can't be compressed {self.scale} times: choose a scale that divides it")
        return ms // self.scale

    def at(self, ms: int) -> int:
        """The server's time at a time of the incident."""
        return self.at_ms + (ms - self.of_ms) // self.scale

    def of(self, ms: int) -> int:
        """The incident's time at a time of the server."""
        return self.of_ms + (ms - self.at_ms) * self.scale

    def samples(self, series: Iterable[Series], last: int) -> list[Series]:
        """Samples up to the incident's time `last`."""
        found = []
        for one in series:
            times = [self.at(time) for time in one.times[: bisect_right(one.times, last)]]
            if times:
                found.append(Series(one.labels, times, one.values[: len(times)]))
        return found

    def groups(self, groups: Iterable[RuleGroup]) -> list[dict[str, Any]]:
        """The plain data of groups."""
        found = []
        for group in groups:
            if group.limit or group.query_offset_ms:
                raise ValueError(f"{group.name}: limit and query_offset are not known here")
            interval = f"{self.length(group.interval_ms)}ms"
            found.append({"name": group.name, "interval": interval, "rules": [self._rule(one) for one in group.rules]})
        return found

    def _rule(self, rule: Rule) -> dict[str, Any]:
        found = {rule.kind: rule.name, "expr": self.expr(rule.expr), "labels": dict(rule.labels)}
        if rule.is_alert:
            found |= {"for": f"{self.length(rule.for_ms)}ms", "annotations": dict(rule.annotations)}
            found["keep_firing_for"] = f"{self.length(rule.keep_firing_ms)}ms"
        return found

    def expr(self, text: str) -> str:
        edits: list[tuple[int, int, str]] = []
        for node in walk(parse(text)):
            if isinstance(node, DurationLiteral):
                edits.append((node.start, node.end, f"{self.length(node.ms)}ms"))
            elif isinstance(node, Call):
                edits += self._call(node)
            elif isinstance(node, At | DurationExpr) or (isinstance(node, Subquery) and node.step is None):
                raise ValueError(f"can't be compressed: {text[node.start : node.end]}")
        for start, end, new in sorted(edits, reverse=True):
            text = text[:start] + new + text[end:]
        return text

    def _call(self, node: Call) -> list[tuple[int, int, str]]:
        if node.name in PER_SECOND:
            return [(node.start, node.start, "("), (node.end, node.end, f" / {self.scale})")]
        if node.name == "time":
            now = f"({self.of_ms / 1000!r} + (time() - {self.at_ms / 1000!r}) * {self.scale})"
            return [(node.start, node.end, now)]
        if node.name == "predict_linear" and isinstance(node.args[1], NumberLiteral):
            ahead = node.args[1]
            return [(ahead.start, ahead.end, repr(ahead.value / self.scale))]
        if node.name not in KEPT:
            raise ValueError(f"it is not known what {node.name}() gives in compressed time: say it here")
        return []
