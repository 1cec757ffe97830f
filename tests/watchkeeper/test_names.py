"""Names and durations as Prometheus takes them."""

import pytest

from watchkeeper.names import LABEL, METRIC, milliseconds


@pytest.mark.parametrize(
    ("duration", "expected"),
    [
        ("5m", 300_000),
        ("1h30m", 5_400_000),
        ("250ms", 250),
        ("1y2w3d", 31_536_000_000 + 2 * 604_800_000 + 3 * 86_400_000),
        ("0", 0),
        ("0s", 0),
        ("", None),
        ("5 m", None),
        ("30m1h", None),
        ("5", None),
        ("1.5h", None),
        ("-5m", None),
        ("5m\n", None),
        ("\u0665m", None),  # a digit, but not ASCII
        ("9999999999y", None),
    ],
)
def test_durations(duration, expected):
    assert milliseconds(duration) == expected


def test_names():
    assert METRIC.match("a:b_c1")
    assert not METRIC.match("1a")
    assert not METRIC.match("a-b")
    assert not METRIC.match("a\n")
    assert LABEL.match("_a1")
    assert not LABEL.match("a:b")
    assert not LABEL.match("ä")
