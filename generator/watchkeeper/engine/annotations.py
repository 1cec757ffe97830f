"""Warnings and infos: what Prometheus says beside a result, word for word, with where in the expression it arose.

As in Prometheus there is one of each text: where the same arises in two places, the place seen last is told.
"""

from __future__ import annotations

from watchkeeper.engine.gofloat import format_g
from watchkeeper.engine.labels import quote

WARNING = "PromQL warning: "
INFO = "PromQL info: "


class Annotations:
    """The warnings and infos of one query."""

    __slots__ = ("_places", "text")

    def __init__(self, text: str | None) -> None:
        """`text` is the expression as written; without it places are told as if it were one line."""
        self.text = text
        self._places: dict[str, int | None] = {}

    def add(self, message: str, place: int | None) -> None:
        """Add a message, which starts with WARNING or INFO; `place` is an offset into the text, None for nowhere."""
        self._places[message] = place

    def __len__(self) -> int:
        return len(self._places)

    def merge(self, other: Annotations) -> None:
        """Take over what another query of the same text has gathered."""
        self._places.update(other._places)

    @property
    def warnings(self) -> list[str]:
        """The warnings, sorted."""
        return self._strings(WARNING)

    @property
    def infos(self) -> list[str]:
        """The infos, sorted."""
        return self._strings(INFO)

    def _strings(self, kind: str) -> list[str]:
        return sorted(
            message if place is None else f"{message} ({self.where(place)})"
            for message, place in self._places.items()
            if message.startswith(kind)
        )

    def where(self, place: int) -> str:
        """`line:column` of an offset; columns count bytes, as Prometheus counts them."""
        if self.text is None:
            return f"1:{place + 1}"
        before = self.text[:place]
        line = before.count("\n") + 1
        return f"{line}:{len(before[before.rfind(chr(10)) + 1 :].encode(errors='surrogateescape')) + 1}"


def with_name(message: str, name: str) -> str:
    """A message with the metric's name where it is known (maybeAddMetricName)."""
    return f"{message} for metric name {quote(name)}" if name else message


def invalid_quantile(q: float) -> str:
    return f"{WARNING}quantile value should be between 0 and 1, got {format_g(q)}"


def invalid_ratio(ratio: float, capped: float) -> str:
    return f"{WARNING}ratio value should be between -1 and 1, got {format_g(ratio)}, capping to {format_g(capped)}"


def bad_bucket_label(name: str, value: str) -> str:
    return with_name(f'{WARNING}bucket label "le" is missing or has a malformed value of {quote(value)}', name)


def forced_monotonicity(name: str) -> str:
    message = (
        f"{INFO}input to histogram_quantile needed to be fixed for monotonicity (see "
        "https://prometheus.io/docs/prometheus/latest/querying/functions/#histogram_quantile)"
    )
    return with_name(message, name)


def nan_observations(result: str, name: str) -> str:
    """`result` is what came of it: "result is NaN" or "result is skewed higher"."""
    return with_name(f"{INFO}input to histogram_quantile has NaN observations, {result}", name)


def nan_excluded(name: str) -> str:
    message = f"{INFO}input to histogram_fraction has NaN observations, which are excluded from all fractions"
    return with_name(message, name)


def possible_non_counter(name: str) -> str:
    return f"{INFO}metric might not be a counter, name does not end in _total/_sum/_count/_bucket: {quote(name)}"


def possible_non_counter_type(name: str, metric_type: str) -> str:
    return (
        f'{INFO}metric might not be a counter, __type__ label is not set to "counter" or "histogram", '
        f"got {quote(metric_type)}: {quote(name)}"
    )


def overlapping_start_time(name: str) -> str:
    return f"{WARNING}sample has start time that overlaps with previous sample timestamp for metric {quote(name)}"


def ineffective_sort() -> str:
    return f"{WARNING}sort is ineffective for range queries since results are always ordered by labels"


# Histograms, and mixtures of them with floats


def mixed_floats_histograms(name: str) -> str:
    """A range that holds both floats and histograms, where that gives no result."""
    return f"{WARNING}encountered a mix of histograms and floats for metric name {quote(name)}"


def mixed_floats_histograms_aggregation() -> str:
    return f"{WARNING}encountered a mix of histograms and floats for aggregation"


def mixed_classic_native(name: str) -> str:
    return with_name(f"{WARNING}vector contains a mix of classic and native histograms", name)


def not_a_counter(name: str) -> str:
    return f"{WARNING}this native histogram metric is not a counter: {quote(name)}"


def not_a_gauge(name: str) -> str:
    return f"{WARNING}this native histogram metric is not a gauge: {quote(name)}"


def mixed_schemas(name: str) -> str:
    return with_name(f"{WARNING}vector contains a mix of histograms with exponential and custom buckets schemas", name)


def mixed_schemas_aggregation() -> str:
    return f"{WARNING}vector contains a mix of histograms with exponential and custom buckets schemas"


def counter_reset_collision(operation: str) -> str:
    """`operation` is "addition", "subtraction" or "aggregation"."""
    return f"{WARNING}conflicting counter resets during histogram {operation}"


def incompatible_types(lhs: str, operator: str, rhs: str) -> str:
    """`lhs` and `rhs` are "float" or "histogram"."""
    return f"{INFO}incompatible sample types encountered for binary operator {quote(operator)}: {lhs} {operator} {rhs}"


def incompatible_buckets(operator: str) -> str:
    return f"{WARNING}incompatible bucket layout encountered for binary operator {operator}"


def ignored_in_aggregation(aggregation: str) -> str:
    return f"{INFO}ignored histograms in {aggregation} aggregation"


def ignored_in_mixed_range(name: str) -> str:
    return with_name(f"{INFO}ignored histograms in a range containing both floats and histograms", name)


def mismatched_custom_buckets(operation: str) -> str:
    return f"{INFO}mismatched custom buckets were reconciled during {operation}"
