"""Reading and writing histograms: the notation `{{schema:0 sum:5 count:4 buckets:[1 2 1]}}`, and dictionaries.

The field names are those of Prometheus' rule unit tests. A dictionary has the same names.
"""

from __future__ import annotations

import math
import re

from watchkeeper.engine.gofloat import format_e, format_f, format_g
from watchkeeper.engine.histogram.model import HINTS, UNKNOWN, Histogram, HistogramError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_FIELD = re.compile(r"\s*([a-z_]+)\s*:\s*(\[[^\]]*\]|[^\s\]}]+)", re.ASCII)
_NUMBER = re.compile(r"[-+]?(?:[0-9]+(?:\.[0-9]*)?(?:[eE][-+]?[0-9]+)?|\.[0-9]+(?:[eE][-+]?[0-9]+)?|[iI]nf|[nN]a[nN])")
_WHOLE = re.compile(r"[-+]?[0-9]{1,9}", re.ASCII)
_FLOATS = {"sum": "sum", "count": "count", "z_bucket": "zero_count", "z_bucket_w": "zero_threshold"}
_WHOLES = ("schema", "offset", "n_offset")
_LISTS = ("buckets", "n_buckets", "custom_values")
MOST_BUCKETS = 100_000
MOST_OFFSET = 1 << 19  # no float lies beyond bucket 2**18 of the finest schema


def parse_histogram(text: str) -> Histogram:
    """The histogram that `{{...}}` stands for; HistogramError says what is wrong with the text."""
    inner = text.strip()
    if not (inner.startswith("{{") and inner.endswith("}}") and len(inner) >= 4):
        raise HistogramError("a histogram is written {{field:value ...}}")
    inner = inner[2:-2]
    fields: dict[str, object] = {}
    position = 0
    while inner[position:].strip():
        match = _FIELD.match(inner, position)
        if match is None:
            raise HistogramError(f"expected field:value, found {inner[position:].strip()[:20]!r}")
        name, value = match[1], match[2]
        if name in fields:
            raise HistogramError(f"{name} is given twice")
        if name in _LISTS:
            if not value.startswith("["):
                raise HistogramError(f"{name} is a list: {name}:[1 2 3]")
            fields[name] = value[1:-1].split()
        else:
            fields[name] = value
        position = match.end()
    return from_fields(fields)


def from_fields(fields: Mapping[str, object]) -> Histogram:
    """The histogram of a dictionary of fields: numbers or their texts; HistogramError where it cannot be."""
    numbers: dict[str, float] = {}
    wholes = dict.fromkeys(_WHOLES, 0)
    lists: dict[str, list[float]] = {name: [] for name in _LISTS}
    hint = UNKNOWN
    for name, value in fields.items():
        if name in _FLOATS:
            numbers[_FLOATS[name]] = _float(name, value)
        elif name in _WHOLES:
            if _WHOLE.fullmatch(str(value)) is None:
                raise HistogramError(f"{name} must be a whole number, not {str(value)[:20]!r}")
            wholes[name] = int(str(value))
            if abs(wholes[name]) > MOST_OFFSET:
                raise HistogramError(f"{name} is at most {MOST_OFFSET}: no float lies beyond")
        elif name in _LISTS:
            lists[name] = _floats(name, value)
        elif name == "counter_reset_hint":
            if value not in HINTS:
                raise HistogramError(f"counter_reset_hint is one of {', '.join(HINTS)}, not {str(value)[:20]!r}")
            hint = str(value)
        else:
            raise HistogramError(f"unknown field {name[:20]!r}")
    histogram = Histogram(
        wholes["schema"],
        positive=_buckets(lists["buckets"], wholes["offset"]),
        negative=_buckets(lists["n_buckets"], wholes["n_offset"]),
        custom_values=tuple(lists["custom_values"]),
        counter_reset_hint=hint,
        **numbers,
    )
    histogram.check()
    return histogram


def _buckets(values: Sequence[float], offset: int) -> dict[int, float]:
    return {offset + index: value for index, value in enumerate(values)}


def _float(name: str, value: object) -> float:
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return float(value)
    text = str(value)
    if _NUMBER.fullmatch(text) is None:
        raise HistogramError(f"{name} must be a number, not {text[:20]!r}")
    return float(text)


def _floats(name: str, value: object) -> list[float]:
    if not isinstance(value, (list, tuple)):
        raise HistogramError(f"{name} must be a list of numbers")
    if len(value) > MOST_BUCKETS:
        raise HistogramError(f"{name} has more than {MOST_BUCKETS} numbers")
    return [_float(name, item) for item in value]


def to_notation(histogram: Histogram) -> str:
    """The notation of a histogram, fields of value 0 left out; `parse_histogram` reads it back."""
    parts: list[str] = []

    def put(name: str, value: float) -> None:
        if value != 0:
            parts.append(f"{name}:{format_g(value)}")

    put("schema", histogram.schema)
    put("count", histogram.count)
    put("sum", histogram.sum)
    put("z_bucket", histogram.zero_count)
    put("z_bucket_w", histogram.zero_threshold)
    if histogram.custom_values:
        parts.append(f"custom_values:[{' '.join(map(format_g, histogram.custom_values))}]")
    if histogram.counter_reset_hint != UNKNOWN:
        parts.append(f"counter_reset_hint:{histogram.counter_reset_hint}")
    for prefix, buckets in (("", histogram.positive), ("n_", histogram.negative)):
        filled = [index for index, value in buckets.items() if value != 0]
        if filled:
            first, last = min(filled), max(filled)
            if first:
                parts.append(f"{prefix}offset:{first}")
            values = (buckets.get(index, 0.0) for index in range(first, last + 1))
            parts.append(f"{prefix}buckets:[{' '.join(map(format_g, values))}]")
    return "{{" + " ".join(parts) + "}}"


def _number(value: float) -> str:
    """A float as the query API writes it: with an exponent only where there would be very many digits."""
    return format_e(value) if value and not 1e-6 <= abs(value) < 1e21 else format_f(value)


def to_json(histogram: Histogram) -> dict[str, object]:
    """As the query API of Prometheus gives a histogram: strings, and buckets as [boundaries, lower, upper, count].

    Boundaries: 0 includes the upper bound, 1 the lower, 2 none, 3 both.
    """
    rows: list[list[object]] = []
    for lower, upper, value in histogram.buckets():
        if value == 0:
            continue
        if lower == -math.inf or (lower < 0 < upper and not histogram.custom_values):
            rule = 3
        else:
            rule = 1 if lower < 0 and not histogram.custom_values else 0
        rows.append([rule, _number(lower), _number(upper), _number(value)])
    result: dict[str, object] = {"count": _number(histogram.count), "sum": _number(histogram.sum)}
    if rows:
        result["buckets"] = rows
    return result
