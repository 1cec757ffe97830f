"""Function calls: the table of what is vectorised, and the functions that fit nowhere else."""

from __future__ import annotations

import math

import numpy as np

from watchkeeper.engine import labels as label_sets
from watchkeeper.engine.arrays import histogram_calls, label_calls, range_calls, time_calls, windows
from watchkeeper.engine.arrays.errors import Unsupported
from watchkeeper.engine.arrays.frame import Frame
from watchkeeper.engine.arrays.math_calls import mapped, sign
from watchkeeper.engine.steps.calls import MAPS
from watchkeeper.promql.nodes import MatrixSelector, Paren, VectorSelector

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from watchkeeper.engine.arrays.context import Context, Value
    from watchkeeper.engine.arrays.types import Bools, Floats
    from watchkeeper.engine.labels import Labels
    from watchkeeper.promql.nodes import Call, Expr

# What has the same bits in NumPy as in Go and Python: no function that is only nearly right.
_EXACT: dict[str, Callable[[Floats], Floats]] = {
    "abs": np.abs,
    "ceil": np.ceil,
    "deg": lambda values: values * 180 / math.pi,
    "floor": np.floor,
    "rad": lambda values: values * math.pi / 180,
    "sgn": sign,
    "sqrt": np.sqrt,
}


def evaluate(context: Context, node: Call) -> Value:
    """The value of a call."""
    name = node.name
    if name == "absent_over_time":
        return _absent_over_time(context, node)
    if name in range_calls.NAMES:
        return range_calls.evaluate(context, node)
    exact = _EXACT.get(name)
    if exact is not None:
        frame = context.frame(node.args[0])
        return context.unnamed(frame.with_values(exact(frame.values)))
    if name in time_calls.NAMES:
        return time_calls.evaluate(context, node)
    if name in MAPS:
        frame = context.frame(node.args[0])
        return context.unnamed(frame.with_values(mapped(MAPS[name], frame.values, frame.mask)))
    special = _SPECIAL.get(name)
    if special is None:
        raise Unsupported(f"the function {name}")
    return special(context, node)


def _vector(context: Context, node: Call) -> Frame:
    values = context.scalar(node.args[0])
    return Frame(
        [label_sets.EMPTY],
        values[None, :],
        np.ones((1, context.steps), bool),
        np.zeros(1, bool) if context.settings.delayed else None,
    )


def _scalar(context: Context, node: Call) -> Floats:
    frame = context.frame(node.args[0])
    if not len(frame):
        return np.full(context.steps, np.nan)
    values = np.take_along_axis(frame.values, frame.mask.argmax(axis=0)[None, :], axis=0)[0]
    return np.where(frame.mask.sum(axis=0) == 1, values, np.nan)


def _time(context: Context, _: Call) -> Floats:
    return context.grid.times / 1000


def _constant(value: float) -> Callable[[Context, Call], Floats]:
    return lambda context, _: np.full(context.steps, value)


def _start(context: Context, _: Call) -> Floats:
    return np.full(context.steps, context.settings.start / 1000)


def _end(context: Context, _: Call) -> Floats:
    return np.full(context.steps, context.settings.end / 1000)


def _range(context: Context, _: Call) -> Floats:
    return np.full(context.steps, (context.settings.end - context.settings.start) / 1000)


def _step(context: Context, _: Call) -> Floats:
    return np.full(context.steps, context.settings.step / 1000)


def _timestamp(context: Context, node: Call) -> Frame:
    argument = node.args[0]
    while isinstance(argument, Paren):
        argument = argument.expr
    if isinstance(argument, VectorSelector):
        if argument.at is not None and argument.offset is not None:
            raise Unsupported("timestamp() with @ and an offset looks elsewhere than the selector alone")
        frame, times = context.instant(argument)
        return context.unnamed(frame.with_values(np.broadcast_to(times / 1000, frame.values.shape)))
    frame = context.frame(argument)
    return context.unnamed(frame.with_values(np.broadcast_to(context.grid.times / 1000, frame.values.shape)))


def _clamp(context: Context, node: Call) -> Frame:
    frame = context.frame(node.args[0])
    values = frame.values
    low = None if node.name == "clamp_max" else context.scalar(node.args[1])
    high = None if node.name == "clamp_min" else context.scalar(node.args[-1])
    if high is not None:
        values = _smaller(high, values)
    if low is not None:
        values = _larger(low, values)
    mask = frame.mask
    if low is not None and high is not None:
        mask = mask & ~(low > high)
    return context.unnamed(frame.with_values(values, mask).pruned())


def _larger(one: Floats, other: Floats) -> Floats:
    """Go's math.Max: NaN if one is, unless the other is +Inf; and 0 above -0."""
    result = np.maximum(one, other)
    result = np.where((one == np.inf) | (other == np.inf), np.inf, result)
    zero = (one == 0) & (other == 0)
    if zero.any():
        result = np.where(zero, np.where(np.signbit(one) & np.signbit(other), -0.0, 0.0), result)
    return result


def _smaller(one: Floats, other: Floats) -> Floats:
    """Go's math.Min: NaN if one is, unless the other is -Inf; and -0 below 0."""
    result = np.minimum(one, other)
    result = np.where((one == -np.inf) | (other == -np.inf), -np.inf, result)
    zero = (one == 0) & (other == 0)
    if zero.any():
        result = np.where(zero, np.where(np.signbit(one) | np.signbit(other), -0.0, 0.0), result)
    return result


def _of_two(context: Context, node: Call) -> Floats:
    one, other = context.scalar(node.args[0]), context.scalar(node.args[1])
    found = (_smaller if node.name == "min_of" else _larger)(one, other)
    return np.where(np.isnan(one) | np.isnan(other), np.nan, found)


def _round(context: Context, node: Call) -> Frame:
    frame = context.frame(node.args[0])
    nearest = context.scalar(node.args[1]) if len(node.args) > 1 else np.float64(1.0)
    inverse = 1.0 / nearest
    return context.unnamed(frame.with_values(np.floor(frame.values * inverse + 0.5) / inverse))


def _absent_labels(node: Expr) -> Labels:
    """The labels that a selector asks for by `=`, each once."""
    while isinstance(node, Paren):
        node = node.expr
    if isinstance(node, MatrixSelector):
        node = node.selector
    if not isinstance(node, VectorSelector):
        return label_sets.EMPTY
    found: dict[str, str] = {}
    for matcher in node.matchers:
        if matcher.label == label_sets.NAME:
            continue
        # A label that is asked for twice, or in another way, has no one value.
        found[matcher.label] = matcher.value if matcher.op == "=" and matcher.label not in found else ""
    return label_sets.make(found)


def _absent(context: Context, node: Call) -> Frame:
    return _where_none(context, node, context.frame(node.args[0]).mask)


def _absent_over_time(context: Context, node: Call) -> Frame:
    found = windows.of(context, node.args[0])
    some = np.zeros((1, context.steps), bool)
    for _, strip in found.strips():
        some[0, strip.span] |= np.broadcast_to(strip.count > 0, (strip.height, strip.steps)).any(axis=0)
    return _where_none(context, node, some)


def _where_none(context: Context, node: Call, mask: Bools) -> Frame:
    missing: Bools = np.logical_not(mask.any(axis=0))
    dropped = np.zeros(1, bool) if context.settings.delayed else None
    return Frame([_absent_labels(node.args[0])], np.ones((1, context.steps)), missing[None, :], dropped).pruned()


def _empty(context: Context, node: Call) -> Frame:
    """Functions of native histograms, of which there are none here."""
    for argument in node.args:
        context.value(argument)
    return context.none()


_SPECIAL: dict[str, Callable[[Context, Call], Value]] = {
    "absent": _absent,
    "clamp": _clamp,
    "clamp_max": _clamp,
    "clamp_min": _clamp,
    "end": _end,
    "histogram_avg": _empty,
    "histogram_count": _empty,
    "histogram_quantile": histogram_calls.quantile,
    "histogram_quantiles": histogram_calls.quantiles,
    "histogram_stddev": _empty,
    "histogram_stdvar": _empty,
    "histogram_sum": _empty,
    "label_join": label_calls.join,
    "label_replace": label_calls.replace,
    "max_of": _of_two,
    "min_of": _of_two,
    "pi": _constant(math.pi),
    "range": _range,
    "round": _round,
    "scalar": _scalar,
    "sort": label_calls.sort,
    "sort_by_label": label_calls.sort,
    "sort_by_label_desc": label_calls.sort,
    "sort_desc": label_calls.sort,
    "start": _start,
    "step": _step,
    "time": _time,
    "timestamp": _timestamp,
    "vector": _vector,
}
