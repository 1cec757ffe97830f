"""docs/exporter.md names what the daemon serves, and nothing else."""

from __future__ import annotations

import re
from pathlib import Path

from watchkeeper.contract import Metric
from watchkeeper_fleet.exporter.gpus import REASONS
from watchkeeper_fleet.exporter.text import FAMILIES
from watchkeeper_fleet.metrics import exporter

PAGE = (Path(__file__).parents[3] / "docs/exporter.md").read_text()


def test_every_metric_of_the_daemon_is_told_of():
    named = set(re.findall(r"`((?:gpu|torch|watchkeeper)_[a-z0-9_]+)`", PAGE))
    own = {metric.name for metric in vars(exporter).values() if isinstance(metric, Metric)}
    assert named == own | {"torch_process_info"}
    assert named <= FAMILIES.keys()


def test_every_reason_is_told_of():
    rows = PAGE.split("| `reason` of `watchkeeper_nvml_failure`")[1].split("\n\n")[0]
    assert set(re.findall(r"`([a-z_]+)`", rows)) >= set(REASONS)
