"""The threshold of an alert, found and replaced."""

import math

import pytest

from watchkeeper.promql import parse
from watchkeeper.promql.threshold import Threshold, ThresholdError, splice, threshold


@pytest.mark.parametrize(
    ("text", "op", "value", "where"),
    [
        ("x > 5", ">", 5, "5"),
        ("x >= 0.5", ">=", 0.5, "0.5"),
        ("x == 0", "==", 0, "0"),
        ("x != 1", "!=", 1, "1"),
        ("5 < x", ">", 5, "5"),
        ("5 >= x", "<=", 5, "5"),
        ("0 == x", "==", 0, "0"),
        ("x < -1", "<", -1, "-1"),
        ("x < - 1", "<", -1, "- 1"),
        ("x < -(1)", "<", -1, "-(1)"),
        ("x < (((-1)))", "<", -1, "-1"),
        ("x > 5m", ">", 300, "5m"),
        ("x > +Inf", ">", math.inf, "+Inf"),
        ("(x > 5)", ">", 5, "5"),
        ("((x) > 5) and y", ">", 5, "5"),
        ("x > 5 and y > 3", ">", 5, "5"),
        ("x > 5 unless on(a) y < 3", ">", 5, "5"),
        ("(x > 5 and y) unless z == 1", ">", 5, "5"),
        ("increase(x[5m]) > 0", ">", 0, "0"),
        ("sum(x > 3) > 5", ">", 5, "5"),
        ("(x == bool 1) > 0.5", ">", 0.5, "0.5"),
        ("x > on() 5", ">", 5, "5"),
        ("absent(x) == 1", "==", 1, "1"),
    ],
)
def test_found(text, op, value, where):
    found = threshold(parse(text))
    assert (found.op, found.value) == (op, value)
    assert text[found.start : found.end] == where


def test_nan():
    found = threshold(parse("x > NaN"))
    assert math.isnan(found.value)
    assert found == Threshold(math.nan, ">", 4, 7)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("x", "no comparison"),
        ("x + 1", "no comparison"),
        ("absent(x)", "no comparison"),
        ("x > y", "neither side"),
        ("x > 3 * y", "neither side"),
        ("x > 3 * 2", "neither side"),
        ("x > 1 or y > 2", 'both sides of "or"'),
        ("(x > 1 or y > 2) and z", 'both sides of "or"'),
        ("1 > bool 2", "both sides"),
        ("x > bool 5", "always fire"),
        ("x > 3 < 10", "follow each other"),
        ("(x > 0 and y) > 5", "follow each other"),
        ("-(x > 5)", "no comparison"),
        ("x >/ 5", "no comparison"),
    ],
)
def test_none(text, why):
    with pytest.raises(ThresholdError, match=why) as caught:
        threshold(parse(text))
    assert 0 <= caught.value.position < caught.value.end <= len(text)
    assert "parameter" in str(caught.value)


@pytest.mark.parametrize(
    ("text", "value", "expected"),
    [
        ("x > 5", 7, "x > 7"),
        ("x > 5", 7.0, "x > 7"),
        ("x > 5", 0.1, "x > 0.1"),
        ("x>5", -1, "x>-1"),
        ("x > 5 and y", 1e22, "x > 1e+22 and y"),
        ("x > 5", 1e-7, "x > 1e-07"),
        ("x > 5", math.inf, "x > +Inf"),
        ("x > 5", -math.inf, "x > -Inf"),
        ("x > 5", 2**70, "x > 1.1805916207174113e+21"),
        ("-5 < x  # five", 5, "5 < x  # five"),
        ("x < -(5)", 3, "x < 3"),
        ("x < (5)", -3, "x < (-3)"),
        ("x > 5m", 60, "x > 60"),
    ],
)
def test_splice(text, value, expected):
    found = threshold(parse(text))
    new = splice(text, found, value)
    assert new == expected
    assert threshold(parse(new)).value == value
    assert threshold(parse(new)).op == found.op


def test_splice_refuses():
    found = threshold(parse("x > 5"))
    with pytest.raises(ValueError, match="NaN"):
        splice("x > 5", found, math.nan)
    for text in ("x > 6", "xx > 5", "x", ""):
        with pytest.raises(ValueError, match="not the text"):
            splice(text, found, 7)
