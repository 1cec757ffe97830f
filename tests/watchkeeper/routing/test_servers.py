"""Routing as real Alertmanagers route: which receivers are told of an alert, and what mutes it."""

from __future__ import annotations

import http.server
import json
import shutil
import subprocess
import sys
import threading
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))
import random_routing as cases
import run_verdicts
from alertmanagers import newer, write

from watchkeeper import Pack, routed
from watchkeeper.proof.routing import inhibitors
from watchkeeper.routing import Receiver, Webhook
from watchkeeper.settings import Settings
from watchkeeper.testing import Bench
from watchkeeper_fleet.pack import PACK
from watchkeeper_fleet.routing import ROUTING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from alertmanagers import Alertmanager

    from watchkeeper.proof.routing import InhibitRule
    from watchkeeper.routing import Routing

SETTINGS = Settings(root=Path())


def fleet_labels(random: Random) -> dict[str, str]:
    """Return labels of an alert of the fleet's, some of which are another's or none."""
    alert = random.choice(list(PACK.alerts.values()))
    found = {"alertname": alert.name, "severity": str(alert.severity), "team": alert.team}
    for name, values in (("severity", ["critical", "warning", "page"]), ("team", ["inference-sre", "web"])):
        if random.random() < 0.2:
            found[name] = random.choice([*values, ""])
    for name, values in (("cluster", ["c1", "c2"]), ("node", ["n1", "n2"]), ("gpu", ["0"]), ("branch", ["main"])):
        found[name] = random.choice([*values, ""])
    return {name: value for name, value in found.items() if value}


def posted(server: Alertmanager, label_sets: list[dict[str, str]]) -> None:
    """Have the server know of alerts, told apart by the label `n`."""
    ends = (datetime.now(timezone.utc) + timedelta(days=1)).isoformat()
    server.post("/api/v2/alerts", [{"labels": labels, "endsAt": ends} for labels in label_sets])


def numbered(label_sets: list[dict[str, str]]) -> list[dict[str, str]]:
    return [{**labels, "n": str(number)} for number, labels in enumerate(label_sets)]


def compare(server: Alertmanager, routing: Routing, label_sets: list[dict[str, str]]) -> tuple[int, int]:
    """Compare what the server does with each alert with what we say, by its label `n`.

    Return how many ways alerts go, and how many are muted. A server takes up alerts for its inhibitions a little
    after they were posted.
    """
    server.configure(routed.files(routing, SETTINGS))
    bench = Bench(Pack(routing=routing))
    ways = {labels["n"]: sorted(bench.routes(labels)) for labels in label_sets}
    muting = {labels["n"]: inhibitors(bench.router, labels, label_sets) for labels in label_sets}
    may = {n: {other["n"] for _, other in found} for n, found in muting.items()}
    # Since 0.28.1 a server remembers one source for the same `equal` labels. Where that passes both sides, an alert
    # that does so too is not muted, though there are other sources.
    must = {n for n, found in muting.items() if not all(passes(rule, label_sets[int(n)]) for rule, _ in found)}
    wrong: dict[str, tuple[list[str], list[str]]] = {}

    def agreed() -> bool:
        there = {one["labels"]["n"]: one for one in server.alerts()}
        by = {one["fingerprint"]: n for n, one in there.items()}
        wrong.clear()
        for n, one in there.items():
            told = sorted(receiver["name"] for receiver in one["receivers"])
            muted = [by[source] for source in one["status"]["inhibitedBy"]]
            if told != ways[n] or set(muted) - may[n] or (n in must and not muted):
                wrong[n] = told, muted
        return not wrong and there.keys() == ways.keys()

    server.wait(wrong, agreed)
    return len(set(map(tuple, ways.values()))), len(must)


def passes(rule: InhibitRule, labels: dict[str, str]) -> bool:
    """Tell whether an alert that an inhibition mutes could be its source too."""
    return all(matcher.matches(labels.get(matcher.name, "")) for matcher in rule.source)


def test_500_alerts_are_routed_and_muted_as_ours_are(start):
    """The fleet's own routing, with its own alerts, and less likely ones."""
    random = Random(9)
    label_sets = numbered([fleet_labels(random) for _ in range(500)])
    routing = with_webhooks("http://127.0.0.1:1")
    with start(routed.files(routing, SETTINGS)) as server:
        posted(server, label_sets)
        ways, muted = compare(server, routing, label_sets)
    assert ways >= 10
    assert 20 <= muted <= 250


def test_random_routings_are_as_ours(start):
    random = Random(10)
    label_sets = numbered([cases.labels(random) for _ in range(200)])
    routings = [cases.routing(random) for _ in range(6)]
    with start(routed.files(routings[0], SETTINGS)) as server:
        posted(server, label_sets)
        found = [compare(server, routing, label_sets) for routing in routings]
    assert sum(ways for ways, _ in found) >= 25
    assert sum(muted for _, muted in found) >= 50


def with_webhooks(url: str) -> Routing:
    """Return the fleet's routing with one webhook for each receiver that tells somebody, at url/NAME."""
    receivers = [
        Receiver(one.name, [Webhook(f"{url}/{one.name}")] if one.integrations else []) for one in ROUTING.receivers
    ]
    return replace(ROUTING, receivers=receivers)


class Hooks:
    """Webhooks on loopback; `told` are the names of receivers and the alerts that they were told of."""

    def __init__(self) -> None:
        self.told: set[tuple[str, str]] = set()
        hooks = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                data = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                hooks.told |= {(self.path[1:], alert["labels"]["alertname"]) for alert in data["alerts"]}
                self.send_response(200)
                self.end_headers()

            def log_message(self, *args: Any) -> None:
                """Say nothing."""

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"


@pytest.fixture
def hooks() -> Iterator[Hooks]:
    made = Hooks()
    thread = threading.Thread(target=made.server.serve_forever, daemon=True)
    thread.start()
    yield made
    made.server.shutdown()
    made.server.server_close()
    thread.join()


def test_the_pager_and_the_heartbeat_are_told_without_a_wait(start, hooks):
    """Both have `group_wait: 0s`."""
    bench = Bench(PACK)
    stalled = {"alertname": "GPUStallRatioHigh", "severity": "critical", "team": "inference-sre", "cluster": "c1"}
    watchdog = {"alertname": "Watchdog", "severity": "info", "team": "monitoring"}
    wanted = {(name, labels["alertname"]) for labels in (stalled, watchdog) for name in bench.routes(labels)}
    assert wanted == {("pagerduty-inference", "GPUStallRatioHigh"), ("heartbeat", "Watchdog")}
    with start(routed.files(with_webhooks(hooks.url), SETTINGS)) as server:
        posted(server, [stalled, watchdog])
        server.wait("both to be told", lambda: hooks.told >= wanted)
    assert hooks.told == wanted


@pytest.mark.parametrize("release", ["installed", "newer"])
def test_amtool_takes_the_generated_file(release, tmp_path):
    amtool = shutil.which("amtool") if release == "installed" else newer("amtool")
    if not amtool:
        reason = {
            "installed": "amtool is not here: apt-get install prometheus-alertmanager",
            "newer": "Prometheus 3 is not here: name one in WATCHKEEPER_PROMETHEUS3, with its amtool beside it",
        }
        pytest.skip(reason[release])
    write(routed.files(ROUTING, SETTINGS), tmp_path)
    command = [amtool, "check-config", "alertmanager.yaml"]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
    assert "1 templates" in run.stdout


@pytest.mark.skipif(not shutil.which("amtool"), reason="amtool is not here: apt-get install prometheus-alertmanager")
def test_amtool_refuses_what_we_refuse():
    assert run_verdicts.main(12, seed=4) == 0
