"""The functions that are a formula on one float: abs, ln, sin, ..., as Go computes them."""

from __future__ import annotations

import math

from watchkeeper.engine.steps import calendar_time
from watchkeeper.engine.steps.numbers import INF, NAN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


def _guarded(function: Callable[[float], float]) -> Callable[[float], float]:
    """NaN where Python's math raises for a value outside of its domain."""

    def guarded(value: float) -> float:
        try:
            return function(value)
        except ValueError:
            return NAN

    return guarded


def _exp(value: float) -> float:
    try:
        return math.exp(value)
    except OverflowError:
        return INF


def _sinh(value: float) -> float:
    try:
        return math.sinh(value)
    except OverflowError:
        return math.copysign(INF, value)


def _cosh(value: float) -> float:
    try:
        return math.cosh(value)
    except OverflowError:
        return INF


def _atanh(value: float) -> float:
    if abs(value) == 1.0:
        return math.copysign(INF, value)
    try:
        return math.atanh(value)
    except ValueError:
        return NAN


def _logarithm(function: Callable[[float], float]) -> Callable[[float], float]:
    def guarded(value: float) -> float:
        if value > 0:
            return function(value)
        return -INF if value == 0 else NAN

    return guarded


def _log2(value: float) -> float:
    if value == INF:
        return INF
    fraction, exponent = math.frexp(value)
    # Go makes sure that powers of two give whole numbers.
    return float(exponent - 1) if fraction == 0.5 else math.log(fraction) * (1 / math.log(2)) + exponent


def _log10(value: float) -> float:
    return _log2(value) * (math.log(2) / math.log(10))


def floor(value: float) -> float:
    if math.isfinite(value) and abs(value) < 2**53:
        return float(math.floor(value)) or math.copysign(0.0, value)  # of -0, -0
    return value


def _ceil(value: float) -> float:
    if math.isfinite(value) and abs(value) < 2**53:
        return math.copysign(float(math.ceil(value)), value)
    return value


def _sign(value: float) -> float:
    return -1.0 if value < 0 else 1.0 if value > 0 else value


MAPS: dict[str, Callable[[float], float]] = {
    "abs": abs,
    "acos": _guarded(math.acos),
    "acosh": _guarded(math.acosh),
    "asin": _guarded(math.asin),
    "asinh": math.asinh,
    "atan": math.atan,
    "atanh": _atanh,
    "ceil": _ceil,
    "cos": _guarded(math.cos),
    "cosh": _cosh,
    "deg": lambda value: value * 180 / math.pi,
    "exp": _exp,
    "floor": floor,
    "ln": _logarithm(math.log),
    "log10": _logarithm(_log10),
    "log2": _logarithm(_log2),
    "rad": lambda value: value * math.pi / 180,
    "sgn": _sign,
    "sin": _guarded(math.sin),
    "sinh": _sinh,
    "sqrt": _guarded(math.sqrt),
    "tan": _guarded(math.tan),
    "tanh": math.tanh,
    **calendar_time.FUNCTIONS,
}
