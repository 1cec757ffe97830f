"""The committed rules in a real Prometheus: loaded as they are meant, and evaluated on samples that it scraped."""

from __future__ import annotations

import http.server
import json
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from watchkeeper import Alert, Histogram
from watchkeeper.names import milliseconds
from watchkeeper.promql import parse
from watchkeeper_fleet.alerts.gpu_memory import JUMP, OUT_OF_MEMORY, RETRYING, SLACK
from watchkeeper_fleet.metrics.agent import ALLOCATED, RESERVED
from watchkeeper_fleet.pack import PACK

if TYPE_CHECKING:
    from collections.abc import Iterator

    from watchkeeper import Metric

RULES = Path(__file__).parents[2] / "rules"
TARGET = {"instance": "n1", "node": "n1", "cluster": "c1"}


@pytest.fixture(scope="module")
def committed() -> dict[str, dict[str, Any]]:
    """The groups of the committed rule files, by name."""
    files = [yaml.safe_load(path.read_text()) for path in sorted(RULES.glob("*.yaml"))]
    return {group["name"]: group for file in files for group in file["groups"]}


@pytest.fixture(scope="module")
def loaded(prometheus) -> Iterator[dict[str, dict[str, Any]]]:
    """The groups that a server reports of the committed files, by name."""
    with prometheus({"rule_files": [str(RULES / "*.yaml")]}) as server:
        yield {group["name"]: group for group in server.get("rules")["groups"]}


def test_every_group_is_loaded(loaded, committed):
    assert loaded.keys() == committed.keys() == {group.name for group in PACK.groups}
    for group in PACK.groups:
        if group.interval:
            assert loaded[group.name]["interval"] * 1000 == milliseconds(group.interval)


def test_every_rule_is_loaded_in_its_order(loaded):
    for group in PACK.groups:
        assert [rule["name"] for rule in loaded[group.name]["rules"]] == [rule.name for rule in group.rules]
    assert sum(len(group["rules"]) for group in loaded.values()) == sum(1 for _ in PACK.rules) > 0


def test_it_reads_the_queries_as_we_do(loaded):
    for group in PACK.groups:
        for rule, told in zip(group.rules, loaded[group.name]["rules"], strict=True):
            # It prints its own syntax tree; ours compares without positions.
            assert parse(told["query"]) == parse(rule.expr), rule.name


def test_alerts_have_their_durations_labels_and_annotations(loaded, committed):
    for group in PACK.groups:
        rules = zip(group.rules, loaded[group.name]["rules"], committed[group.name]["rules"], strict=True)
        for rule, told, written in rules:
            assert told["type"] == ("alerting" if isinstance(rule, Alert) else "recording")
            assert told.get("labels", {}) == written.get("labels", {})
            if isinstance(rule, Alert):
                assert told["duration"] * 1000 == (milliseconds(rule.for_) or 0)
                assert told["keepFiringFor"] * 1000 == (milliseconds(rule.keep_firing_for) or 0)
                assert told["annotations"] == written["annotations"]
                assert written["labels"]["severity"] == rule.severity


class Exposition(http.server.BaseHTTPRequestHandler):
    """Serves every metric of the pack in the text format; each value rises with each scrape."""

    scrapes = 0

    def do_GET(self) -> None:
        Exposition.scrapes += 1
        text = "".join(line for metric in PACK.metrics for line in lines(metric, Exposition.scrapes)).encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/plain; version=0.0.4")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def lines(metric: Metric, scrape: int) -> Iterator[str]:
    yield f"# TYPE {metric.name} {'gauge' if metric.type == 'info' else metric.type}\n"
    # Two processes on one GPU, and one process on two GPUs: where matching breaks, it breaks here.
    sets = [
        dict.fromkeys(metric.labels, process) | {"gpu": gpu} for process, gpu in (("p0", "0"), ("p1", "0"), ("p1", "1"))
    ]
    for labels in {tuple((name, labels[name]) for name in metric.labels) for labels in sets}:
        if isinstance(metric, Histogram):
            for bound in (*metric.buckets, "+Inf"):
                yield f"{metric.bucket}{braces((*labels, ('le', str(bound))))} {scrape}\n"
            yield f"{metric.sum}{braces(labels)} {scrape}\n{metric.count}{braces(labels)} {scrape}\n"
        else:
            yield f"{metric}{braces(labels)} {VALUES.get(metric.name, lambda n: n)(scrape)}\n"


def braces(labels: tuple[tuple[str, str], ...]) -> str:
    return "{" + ",".join(f'{name}="{value}"' for name, value in labels) + "}"


VALUES = {
    RESERVED.name: lambda n: 3 * n,
    ALLOCATED.name: lambda n: 2 * n,
    "torch_process_ready": lambda _: 1,
    "gpu_memory_free_bytes": lambda _: 1,
    "gpu_memory_total_bytes": lambda _: 20,
}


@pytest.fixture(scope="module")
def evaluating(prometheus, committed, tmp_path_factory):
    """A server that scrapes the metrics, after it evaluated all rules on several samples."""
    rules = tmp_path_factory.mktemp("rules") / "rules.yaml"
    # Each group at the server's own interval, for a test that doesn't last; what is evaluated stays as committed.
    groups = [{key: value for key, value in group.items() if key != "interval"} for group in committed.values()]
    rules.write_text(json.dumps({"groups": groups}))
    exporter = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Exposition)
    thread = threading.Thread(target=exporter.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        address = f"127.0.0.1:{exporter.server_port}"
        configuration = {
            # No scrape may take longer than the interval: what a busy machine needs.
            "global": {"scrape_interval": "1s", "evaluation_interval": "500ms"},
            "rule_files": [str(rules)],
            "scrape_configs": [{"job_name": "fleet", "static_configs": [{"targets": [address], "labels": TARGET}]}],
        }
        Exposition.scrapes = 0
        with prometheus(configuration) as server:
            server.wait("samples", lambda: Exposition.scrapes >= 4)
            now = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime())
            server.wait("an evaluation", lambda: all(rule["lastEvaluation"][:19] > now for rule in rules_of(server)))
            yield server
    finally:
        exporter.shutdown()
        thread.join()
        exporter.server_close()


def rules_of(server) -> list[dict[str, Any]]:
    return [rule for group in server.get("rules")["groups"] for rule in group["rules"]]


def test_every_rule_evaluates_without_error(evaluating):
    rules = rules_of(evaluating)
    assert len(rules) == sum(1 for _ in PACK.rules)
    assert {rule["name"]: rule.get("lastError", "") for rule in rules if rule["health"] != "ok"} == {}


def test_the_samples_are_scraped(evaluating):
    def up() -> bool:  # not always the first time: a scrape may take too long on a busy machine
        (target,) = evaluating.get("targets")["activeTargets"]
        return (target["health"], target["lastError"]) == ("up", "")

    evaluating.wait("a scrape in time", up)


def test_a_recording_rule_records(evaluating):
    result = evaluating.get("query", query=f"{SLACK}")["result"]
    assert {(r["metric"]["process"], r["metric"]["gpu"]) for r in result} == {("p0", "0"), ("p1", "0"), ("p1", "1")}
    for series in result:
        assert float(series["value"][1]) >= 3  # reserved is 3 a scrape, allocated 2
        assert TARGET.items() <= series["metric"].items()


def test_an_alert_fires_with_its_labels_and_annotations(evaluating):
    def firing() -> list[dict[str, Any]]:
        return [alert for alert in alerts_of(evaluating, OUT_OF_MEMORY) if alert["state"] == "firing"]

    first, second = sorted(evaluating.wait("a firing alert", firing), key=lambda alert: alert["labels"]["gpu"])
    assert first["labels"] == {
        "alertname": OUT_OF_MEMORY.name,
        "severity": str(OUT_OF_MEMORY.severity),
        "priority": OUT_OF_MEMORY.priority,
        "team": OUT_OF_MEMORY.team,
        **TARGET,
        "job": "fleet",
        "gpu": "0",
    }
    assert second["labels"]["gpu"] == "1"
    assert first["annotations"]["summary"] == "Out of memory on n1 GPU 0"
    assert first["annotations"]["description"][0].isdigit()
    assert first["annotations"]["runbook_url"].endswith(OUT_OF_MEMORY.runbook)


def test_templates_expand(evaluating):
    evaluating.wait("active alerts", lambda: alerts_of(evaluating, RETRYING) and alerts_of(evaluating, JUMP))
    for alert in evaluating.get("alerts")["alerts"]:
        for name, text in alert["annotations"].items():
            assert text, f"{alert['labels']['alertname']}: {name} is empty"
            assert "<error" not in text
            assert "<no value>" not in text
            assert "{{" not in text


def alerts_of(server, alert: Alert) -> list[dict[str, Any]]:
    return [one for one in server.get("alerts")["alerts"] if one["labels"]["alertname"] == alert.name]
