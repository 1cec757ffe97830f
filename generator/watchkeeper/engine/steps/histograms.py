"""Where native histograms enter the step-wise evaluator.

Everything else in `steps/` computes on floats. A value is a histogram where its type is not float, and each such value
comes to one of the functions here:

- `over_range`: a window that holds a histogram (`Window.floats_only` is false), for any function of a range vector;
- `map_value`: functions of an instant vector that are a formula on floats;
- `aggregate`: what an aggregation makes of a group's values when histograms are among them;
- `binary`: an operator with a histogram on either side;
- `classic`: the native histograms in the argument of histogram_quantile and histogram_fraction;
- `extract`: histogram_count, histogram_sum, histogram_avg, histogram_stddev, histogram_stdvar.

As long as a function here returns nothing, histograms are left out of the result.
"""

from __future__ import annotations

from watchkeeper.engine import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from watchkeeper.engine.results import Value
    from watchkeeper.engine.steps.nodes import Context, Instant
    from watchkeeper.engine.steps.range_call import RangeCall
    from watchkeeper.engine.steps.windows import Window

_FLOATS_ONLY = frozenset(
    {
        "deriv",
        "double_exponential_smoothing",
        "mad_over_time",
        "max_over_time",
        "min_over_time",
        "predict_linear",
        "quantile_over_time",
        "stddev_over_time",
        "stdvar_over_time",
        "ts_of_max_over_time",
        "ts_of_min_over_time",
    }
)
_ANY_VALUE = frozenset(
    {
        "count_over_time",
        "first_over_time",
        "last_over_time",
        "present_over_time",
        "ts_of_first_over_time",
        "ts_of_last_over_time",
    }
)


def over_range(window: Window, call: RangeCall) -> Value | None:
    """A function of a range that holds a histogram. None where it gives nothing."""
    name = call.name
    if name in {"count_over_time", "present_over_time", "ts_of_first_over_time", "ts_of_last_over_time"}:
        return call.function(window, call)
    if name == "last_over_time":
        return window.values[window.hi - 1]
    if name == "first_over_time":
        return window.values[window.lo]
    if name in _FLOATS_ONLY:
        return _floats_alone(window, call)
    return None


def _floats_alone(window: Window, call: RangeCall) -> Value | None:
    """A function that leaves histograms out, with an info where there are floats beside them."""
    from watchkeeper.engine.steps.windows import Window

    kept = [index for index in range(window.lo, window.hi) if type(window.values[index]) is float]
    if not kept:
        return None
    if len(kept) < window.hi - window.lo:
        call.note(annotations.ignored_in_mixed_range(window.ident.get("__name__")))
    times = [window.times[index] for index in kept]
    values = [window.values[index] for index in kept]
    return call.function(Window(window.ident, times, values, None, True), call)


def map_value(name: str, value: Value) -> Value | None:  # noqa: ARG001
    """What a function such as abs or ceil makes of a histogram: mostly nothing."""
    return None


def aggregate(op: str, values: list[Value], context: Context, place: int) -> Value | None:  # noqa: ARG001
    """What an aggregation makes of a group in which histograms are. None where it gives nothing."""
    return None


def binary(  # noqa: PLR0917
    op: str,
    lhs: Value,
    rhs: Value,
    context: Context,
    place: int,
    return_bool: bool,  # noqa: ARG001
) -> tuple[Value, bool] | None:
    """An operator with a histogram on either side: the value, and whether a comparison holds. None: no result."""
    return None


def classic(name: str, scalars: list[float], natives: Instant, context: Context, place: int) -> Instant:  # noqa: ARG001
    """histogram_quantile(s) and histogram_fraction of native histograms."""
    return []


def extract(name: str, value: Value) -> float | None:  # noqa: ARG001
    """histogram_count, _sum, _avg, _stddev, _stdvar of a histogram."""
    return None
