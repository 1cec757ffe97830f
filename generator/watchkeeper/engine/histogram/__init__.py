"""Native histograms: the sample, its notation, arithmetic and estimates. Plain Python, no NumPy."""

from watchkeeper.engine.histogram.arithmetic import Outcome, add, divide, multiply, negate, subtract
from watchkeeper.engine.histogram.bounds import CUSTOM, bound
from watchkeeper.engine.histogram.classic import from_classic
from watchkeeper.engine.histogram.estimates import deviation, fraction, mean, quantile, variance
from watchkeeper.engine.histogram.layout import to_schema
from watchkeeper.engine.histogram.model import (
    GAUGE,
    NOT_RESET,
    RESET,
    UNKNOWN,
    Histogram,
    HistogramError,
    MixedSchemasError,
)
from watchkeeper.engine.histogram.notation import from_fields, parse_histogram, to_json, to_notation
from watchkeeper.engine.histogram.resets import (
    detect_reset,
    dropped,
    resolved_hint,
    resolved_hints,
    stored_hints,
    unhinted,
)
from watchkeeper.engine.histogram.sums import HistogramMean, HistogramSum
from watchkeeper.engine.histogram.trim import trim_lower, trim_upper

__all__ = [
    "CUSTOM",
    "GAUGE",
    "NOT_RESET",
    "RESET",
    "UNKNOWN",
    "Histogram",
    "HistogramError",
    "HistogramMean",
    "HistogramSum",
    "MixedSchemasError",
    "Outcome",
    "add",
    "bound",
    "detect_reset",
    "deviation",
    "divide",
    "dropped",
    "fraction",
    "from_classic",
    "from_fields",
    "mean",
    "multiply",
    "negate",
    "parse_histogram",
    "quantile",
    "resolved_hint",
    "resolved_hints",
    "stored_hints",
    "subtract",
    "to_json",
    "to_notation",
    "to_schema",
    "trim_lower",
    "trim_upper",
    "unhinted",
    "variance",
]
