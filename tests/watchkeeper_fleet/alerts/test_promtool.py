"""The pack on its incidents, as it is and in full: what promtool's rule engine says at each evaluation.

promtool 3 evaluates rules with the server's code, though not by the clock: it needs no compression of time, which
test_server.py does. Ours is written down as what is expected, so promtool itself compares: every sample of ALERTS,
ALERTS_FOR_STATE and recorded series, and the texts of all that fires.
"""

from __future__ import annotations

import functools
import importlib.util
import json
import math
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from watchkeeper.engine import Data, Series
from watchkeeper.engine.data import is_stale
from watchkeeper.promql import walk
from watchkeeper.promql.nodes import VectorSelector
from watchkeeper.ruler import Ruler, groups_of
from watchkeeper_fleet.incidents import hud, rc9902

pytestmark = pytest.mark.slow

TESTS = Path(__file__).parents[2]
RULES = TESTS.parent / "rules"
GROUPS = sorted(path.stem for path in RULES.glob("*.yaml"))
WRITTEN = '{__name__=~"ALERTS|ALERTS_FOR_STATE|.+:.+"}'
EVERY_MS = {"linear": 15_000, "stepped": 15_000, "exponential": 15_000, "HUD": 60_000}  # scrapes


def servers() -> Any:
    spec = importlib.util.spec_from_file_location("servers_for_promtool", TESTS / "servers/conftest.py")
    assert spec is not None
    assert spec.loader is not None
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


@pytest.fixture(scope="module")
def promtool():
    binary = servers().find("3")
    if not binary or not (binary.parent / "promtool").exists():
        pytest.skip("Prometheus 3 is not here: name one in WATCHKEEPER_PROMETHEUS3")
    return binary.parent / "promtool"


@functools.cache
def world(incident: str) -> Data:
    """The incident from 0 on: promtool 3.5 begins there. Values that are times are moved along."""
    data = hud.incident() if incident == "HUD" else rc9902.incident(incident)
    begin = min(one.times[0] for one in data.series)
    moved = Data()
    for one in data.series:
        name = dict(one.labels)["__name__"]
        by = begin / 1000 if name.endswith("_timestamp_seconds") else 0.0
        values = [value if is_stale(value) else value - by for value in one.values] if by else list(one.values)
        moved.add(Series(one.labels, [time - begin for time in one.times], values))
    return moved


def notation(series: Series, every: int) -> str:
    """The values in promtool's notation."""
    known = dict(zip(series.times, series.values, strict=True))
    found = []
    for time in range(0, series.times[-1] + 1, every):
        value = known.get(time)
        found.append("_" if value is None else "stale" if is_stale(value) else repr(value))
    assert sum(one != "_" for one in found) == len(known)  # all are on the grid
    return " ".join(found)


def named(labels: Any) -> str:
    inner = ", ".join(f"{name}={json.dumps(value)}" for name, value in labels if name != "__name__")
    return f"{dict(labels)['__name__']}{{{inner}}}"


class Case:
    """One group on one world, and what our ruler makes of it, as a unit-test file."""

    def __init__(self, group: str, incident: str) -> None:
        (self.group,) = groups_of(yaml.safe_load((RULES / f"{group}.yaml").read_text()))
        self.data = world(incident)
        self.every = EVERY_MS[incident]
        nodes = [node for rule in self.group.rules for node in walk(rule.tree)]
        self.read = {node.metric_name for node in nodes if isinstance(node, VectorSelector)}
        self.step = self.group.interval_ms
        end = max(one.times[-1] for one in self.data.series)
        self.history = Ruler([self.group], url_functions=False).run(
            self.data, start=0, end=end / 1000, step=self.step / 1000
        )
        assert self.history.errors == []
        self.times = range(0, end + 1, self.step)
        self.samples: dict[int, list[tuple[str, float]]] = {time: [] for time in self.times}
        for outcome in self.history.outcomes:
            for one in outcome.series():
                for time, value in zip(one.times, one.values, strict=True):
                    if not is_stale(value):
                        self.samples[time].append((named(one.labels), value))
        self.fired = [name for name in self.history.names if any(one.firing for one in self.history.alerts(name))]

    def document(self) -> dict[str, Any]:
        return {
            "rule_files": [str(RULES / f"{self.group.name}.yaml")],
            "evaluation_interval": f"{self.step}ms",
            "tests": [
                {
                    "interval": f"{self.every}ms",
                    "input_series": [
                        {"series": named(one.labels), "values": notation(one, self.every)}
                        for one in self.data.series
                        if dict(one.labels)["__name__"] in self.read
                    ],
                    "promql_expr_test": [query for time in self.times for query in self.queries(time)],
                    "alert_rule_test": [self.texts(name, time) for name in self.fired for time in self.times],
                }
            ],
        }

    def queries(self, time: int) -> list[dict[str, Any]]:
        """All values but NaN, which promtool finds unequal to itself; then how many series there are, NaN or not."""
        known = [{"labels": name, "value": value} for name, value in self.samples[time] if not math.isnan(value)]
        counts: dict[str, int] = {}
        for name, _ in self.samples[time]:
            counts[name.partition("{")[0]] = counts.get(name.partition("{")[0], 0) + 1
        every = [{"labels": f'{{__name__="{name}"}}', "value": count} for name, count in counts.items()]
        at = f"{time}ms"
        return [
            {"eval_time": at, "expr": f"{WRITTEN} >= -Inf", "exp_samples": known},
            {"eval_time": at, "expr": f"count by (__name__) ({WRITTEN})", "exp_samples": every},
        ]

    def texts(self, name: str, time: int) -> dict[str, Any]:
        expected = [
            {
                "exp_labels": {label: value for label, value in one.labels.items() if label != "alertname"},
                "exp_annotations": one.annotations_at(time / 1000),
            }
            for one in self.history.alerts(name)
            if one.state_at(time / 1000) == "firing"
        ]
        return {"eval_time": f"{time}ms", "alertname": name, "exp_alerts": expected}


def run(promtool: Path, folder: Path, document: dict[str, Any]) -> subprocess.CompletedProcess[str]:
    file = folder / "tests.yml"
    file.write_text(json.dumps(document))  # JSON is YAML
    return subprocess.run([promtool, "test", "rules", file], capture_output=True, text=True, timeout=300, check=False)


CASES = [
    *((group, "linear") for group in GROUPS),
    ("gpu_memory", "stepped"),  # the shapes of RC-9902 differ in memory alone
    ("gpu_memory", "exponential"),
    ("trunk", "HUD"),  # nothing of RC-9902 is about the trunk
]


@pytest.mark.parametrize(("group", "incident"), CASES)
def test_promtool_agrees_at_every_evaluation(promtool, tmp_path, group, incident):
    case = Case(group, incident)
    done = run(promtool, tmp_path, case.document())
    assert done.returncode == 0, (done.stdout + done.stderr)[:4000]
    pairs, texts = (len(case.times) * len(names) for names in (case.history.names, case.fired))
    samples = sum(map(len, case.samples.values()))
    row = f"{group}, {incident}: {pairs} pairs of alert and evaluation, {texts} with texts, {samples} samples"
    print(row)  # noqa: T201 - how much was compared, for whoever runs this with -rP


def test_promtool_does_not_agree_with_what_is_wrong(promtool, tmp_path):
    case = Case("serving", "linear")
    document = case.document()
    (test,) = document["tests"]
    wrong = next(
        sample
        for query in test["promql_expr_test"]
        for sample in query["exp_samples"]
        if 'alertstate="firing"' in sample["labels"]
    )
    wrong["labels"] = wrong["labels"].replace("firing", "pending")
    done = run(promtool, tmp_path, document)
    assert done.returncode == 1
    assert 'alertstate="pending"' in done.stdout + done.stderr
