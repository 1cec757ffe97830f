"""Compressed time changes nothing but time."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest

from watchkeeper.engine import Data, Engine
from watchkeeper.ruler import Ruler, groups_of
from watchkeeper_fleet.incidents import rc9902


def module(name: str) -> Any:
    spec = importlib.util.spec_from_file_location(f"{name}_for_compressed", Path(__file__).with_name(f"{name}.py"))
    assert spec is not None
    assert spec.loader is not None
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


REPLAY = module("replay")
SCALE = 50


def compression(scale=SCALE):
    return REPLAY.COMPRESSED.Compression(scale, 1_000_000, 2_000_500)


@pytest.mark.parametrize(
    ("text", "compressed"),
    [
        ("sum by (a) (rate(x_total[2m])) > 2", "sum by (a) ((rate(x_total[2400ms]) / 50)) > 2"),
        ("increase(x_total[5m] offset 1d) > 0", "increase(x_total[6000ms] offset 1728000ms) > 0"),
        ("300 * (deriv(x[1m]) > 0)", "300 * ((deriv(x[1200ms]) / 50) > 0)"),
        ("predict_linear(x[30m], 1800) > y", "predict_linear(x[36000ms], 36.0) > y"),
        ("time() - x > 300", "(1000.0 + (time() - 2000.5) * 50) - x > 300"),
        (
            "max_over_time(rate(x_total[1m])[10m:30s])",
            "max_over_time((rate(x_total[1200ms]) / 50)[12000ms:600ms])",
        ),
    ],
)
def test_only_what_counts_in_time_is_rewritten(text, compressed):
    assert compression().expr(text) == compressed


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("resets(x[5m]) > 1", r"resets\(\)"),
        ("x @ 1000", "compressed: 1000"),
        ("max_over_time(x[10m:])", r"compressed: x\[10m:\]"),
        ("rate(x_total[10ms])", "10 ms can't"),
    ],
)
def test_what_is_not_known_is_said(text, words):
    with pytest.raises(ValueError, match=words):
        compression().expr(text)


def alerts(history):
    """The states of all alerts by number of evaluation."""
    return {
        (name, one.key): [(clock.index(first), clock.index(last)) for first, last in spans]
        for name in history.names
        for one in history.alerts(name)
        for clock in [history.clock]
        for spans in [one.pending, one.firing]
    }


def test_alerts_of_the_incident_stay_what_they_are():
    """At each evaluation the same alerts are pending, and the same are firing."""
    data = rc9902.incident("linear")
    first, last = (round(rc9902.at(time).timestamp()) for time in (rc9902.QUIET + 7, rc9902.END))
    short = REPLAY.COMPRESSED.Compression(SCALE, first * 1000, 1_700_000_000_000)
    samples = Data(short.samples(data.series, last * 1000))
    engine = Engine(lookback=REPLAY.LOOKBACK_S / SCALE)
    seen = 0
    for group in REPLAY.pack():
        long = Ruler([group]).run(data, start=first, end=last, step=group.interval_ms / 1000)
        (compressed,) = groups_of({"groups": short.groups([group])})
        run = Ruler([compressed], engine=engine).run(
            samples,
            start=short.at(first * 1000) / 1000,
            end=short.at(last * 1000) / 1000,
            step=compressed.interval_ms / 1000,
        )
        assert len(run.clock) == len(long.clock)
        assert alerts(run) == alerts(long), group.name
        seen += len(alerts(run))
    assert seen > 40
