"""Alerts in the shapes that public rule files have: none of them is an error or a warning, the contract unknown."""

from pathlib import Path

import pytest

from watchkeeper import Alert, Group, Pack
from watchkeeper.building import build
from watchkeeper.settings import Settings

# The checks of what expressions mean, labels aside.
CHECKS = {
    "alert/comparison", "alert/threshold", "promql/constant", "promql/counter", "promql/fragile", "promql/histogram",
    "promql/nan", "promql/rate-window", "promql/raw-counter", "promql/regexp", "promql/selector", "promql/unit",
}  # fmt: skip
TEXT = Path(__file__).with_name("public_shapes.txt").read_text()
SHAPES = [line for line in TEXT.splitlines() if line and not line.startswith("#")]


@pytest.mark.parametrize("shape", SHAPES)
def test_a_shape_of_public_rules_is_fine(shape, tmp_path):
    alert = Alert("A", expr=shape, severity="warning", team="sre", summary="S", for_="5m")
    _, found = build(Pack(metrics=(), groups=(Group("g", [alert]),)), Settings(root=tmp_path))
    assert [f for f in found if f.check == "promql/syntax"] == []
    assert [f for f in found if f.check in CHECKS and f.severity != "note"] == []
