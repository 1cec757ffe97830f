"""The pack's ALERTS over time equal to those of a real Prometheus 3, for RC-9902 and the quiet hour before.

Time is compressed 50 times (compressed.py), so that it takes 40 seconds. With WATCHKEEPER_REPLAY_SCALE=1 it is real
time, half an hour. What promtool says of the rules at full length is in test_promtool.py.
"""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path
from typing import Any

import pytest

from watchkeeper_fleet.incidents import rc9902

pytestmark = pytest.mark.slow

SCALE = int(os.environ.get("WATCHKEEPER_REPLAY_SCALE", "50"))
# Of the evaluations that fit into a part. A busy machine may begin late or leave some out: those there are must be
# equal, and where nothing was left out, so must be those of the vectorised evaluator.
ENOUGH = 0.5
# All at once, each in its own server, and each from five minutes or more before the end of the one before it.
PARTS = {
    "quiet hour, first half": (rc9902.QUIET, -1800.0),
    "quiet hour, second half": (-2100.0, -300.0),
    "RC-9902": (-600.0, rc9902.END),
}
FIRING = {
    "GPUMemoryHeadroomLow", "GPUMemoryJump", "GPUNodeCascade", "GPUNodeNotReady", "GPUOutOfMemory",
    "InferenceEndpointDown", "InferenceStuck", "IngressUpstreamErrors", "LatencyP99Spike", "NodeOOMKill",
    "NonFiniteOutput", "TorchProcessLost", "VectorDatabaseDown", "Watchdog", "WeightsChangedLive", "ZombieRank",
}  # fmt: skip


def module(name: str) -> Any:
    spec = importlib.util.spec_from_file_location(f"{name}_for_server", Path(__file__).with_name(f"{name}.py"))
    assert spec is not None
    assert spec.loader is not None
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


REPLAY = module("replay")


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    binary = REPLAY.SERVERS.find("3")
    if not binary:
        pytest.skip("Prometheus 3 is not here: name one in WATCHKEEPER_PROMETHEUS3")
    data = rc9902.incident("linear")
    ms = {name: [round(rc9902.at(time).timestamp() * 1000) for time in ends] for name, ends in PARTS.items()}
    found = {name: REPLAY.Part(data, first, last) for name, (first, last) in ms.items()}
    REPLAY.replay([*found.values()], SCALE, binary, tmp_path_factory.mktemp("replay"))
    return found


@pytest.mark.parametrize("name", PARTS)
def test_the_servers_alerts_are_ours(parts, name):
    part = parts[name]
    assert part.times.keys() == {group.name for group in part.groups}
    assert part.health == dict.fromkeys((rule.name for group in part.groups for rule in group.rules), "ok")
    samples = pairs = at_once = 0
    for group in part.groups:
        times, told = part.times[group.name], part.told[group.name]
        assert REPLAY.ours(part, group) == told, group.name
        if REPLAY.is_regular(part, group):
            assert REPLAY.ours(part, group, at_once=True) == told, group.name
            at_once += 1
        samples += sum(map(len, told.values()))
        pairs += len(times) * sum(rule.is_alert for rule in group.rules)
        wanted = (part.last - part.first) // (group.interval_ms * SCALE)
        assert len(times) >= ENOUGH * wanted, (group.name, len(times), wanted)
    row = f"{name}: {pairs} pairs of alert and evaluation, {samples} samples, {at_once} groups also at once"
    print(row)  # noqa: T201 - how much was compared, for whoever runs this with -rP


def test_what_the_servers_saw(parts):
    fired = {
        name: {
            labels["alertname"]
            for told in part.told.values()
            for labels in map(dict, map(REPLAY.json.loads, told))
            if labels["__name__"] == "ALERTS" and labels["alertstate"] == "firing"
        }
        for name, part in parts.items()
    }
    assert fired == {**{name: {"Watchdog"} for name in PARTS}, "RC-9902": FIRING}
