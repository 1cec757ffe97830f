"""Where native histograms enter the step-wise evaluator.

Everything else in `steps/` computes on floats. A value is a histogram where its type is not float, and each such value
comes to one of the functions here:

- `over_range`: a window that holds a histogram (`Window.floats_only` is false), for any function of a range vector;
- `map_value`: functions of an instant vector that are a formula on floats;
- `aggregate`: what an aggregation makes of a group's values when histograms are among them;
- `binary`: an operator with a histogram on either side, or a trim operator;
- `quantiles`, `fractions`: the native histograms in the argument of histogram_quantile(s) and histogram_fraction;
- `extract`: histogram_count, histogram_sum, histogram_avg, histogram_stddev, histogram_stdvar;
- `smoothed`: `metric smoothed` between two samples.

They are loaded when the first histogram comes along: a query on floats starts without them.
"""

from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from watchkeeper.engine.steps.histogram_ranges import over_range
    from watchkeeper.engine.steps.histogram_values import (
        aggregate,
        binary,
        extract,
        fractions,
        map_value,
        quantiles,
        smoothed,
    )

__all__ = ["aggregate", "binary", "extract", "fractions", "map_value", "over_range", "quantiles", "smoothed"]


def __getattr__(name: str) -> object:
    """Load a function from the module that has it (PEP 562)."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = "histogram_ranges" if name == "over_range" else "histogram_values"
    value = getattr(import_module(f"watchkeeper.engine.steps.{home}"), name)
    globals()[name] = value
    return value
