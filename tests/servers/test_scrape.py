"""The rendered scrape and rule configuration, as it is, in a real Prometheus: targets scraped, and all rules well."""

from __future__ import annotations

import contextlib
import http.server
import re
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from watchkeeper.building import build
from watchkeeper.settings import load_settings
from watchkeeper_fleet.pack import PACK

if TYPE_CHECKING:
    from collections.abc import Iterator

WATCHKEEPER = Path(sys.executable).with_name("watchkeeper")
# So that the test doesn't last; all else of the rules is as it is committed.
GROUPS = tuple(replace(group, interval="1s") for group in PACK.groups)


class KubeStateMetrics(http.server.BaseHTTPRequestHandler):
    """Serves one series of kube-state-metrics, about a node that it does not run on."""

    def do_GET(self) -> None:
        text = b'kube_node_spec_unschedulable{node="gpu-node-07"} 1\n'
        self.send_response(200)
        self.send_header("Content-Type", "text/plain; version=0.0.4")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextlib.contextmanager
def exporter() -> Iterator[str]:
    """Run the exporter's demonstration, and return where it listens."""
    command = [WATCHKEEPER, "exporter", "--demo", "--listen", "127.0.0.1:0"]
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        try:
            said = ""
            while not (found := re.search(r"http://(\S+)/metrics", said)):
                line = process.stderr.readline()
                assert line, said
                said += line
            yield found[1]
        finally:
            process.terminate()
            process.stderr.read()
            process.wait(60)


@contextlib.contextmanager
def kube_state_metrics() -> Iterator[str]:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), KubeStateMetrics)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield f"127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def generate(folder: Path, demonstration: str, kube: str) -> Path:
    """Write what the pack becomes in folder, and return the configuration."""
    (folder / "pyproject.toml").write_text(
        f"""[tool.watchkeeper.outputs.scrape]
cluster = "gpu-$1"
interval = "1s"
alertmanagers = ["127.0.0.1:9"]
[tool.watchkeeper.outputs.scrape.jobs]
watchkeeper = {{files = ["hosts.yml"]}}
kube-state-metrics = {{targets = ["{kube}"]}}
"""
    )
    project, findings = build(replace(PACK, groups=GROUPS), load_settings(folder), keep=False)
    assert [finding for finding in findings if finding.severity == "error"] == []
    for path, text in project.files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    # Nobody listens at the second address; of that one the file says what it is called, and where it is.
    second = demonstration.replace("127.0.0.1", "127.0.0.2")
    (folder / "deploy/scrape/hosts.yml").write_text(
        f"""- targets: ["{demonstration}"]
- targets: ["{second}"]
  labels: {{node: gpu-node-02, cluster: gpu-2}}
"""
    )
    return folder / "deploy/scrape/prometheus.yaml"


@pytest.fixture(scope="module")
def server(prometheus, tmp_path_factory) -> Iterator[Any]:
    with exporter() as demonstration, kube_state_metrics() as kube:
        file = generate(tmp_path_factory.mktemp("project"), demonstration, kube)
        with prometheus(file) as started:
            yield started


def test_all_groups_are_loaded_and_healthy(server):
    def rules() -> list[tuple[str, str, str]]:
        groups = server.get("rules")["groups"]
        return [(group["name"], rule["name"], rule["health"]) for group in groups for rule in group["rules"]]

    wanted = sorted((group.name, rule.name, "ok") for group in PACK.groups for rule in group.rules)
    server.wait("every rule evaluated without an error", lambda: sorted(rules()) == wanted)


def test_targets_have_the_labels_that_rules_join_by(server):
    def labels() -> list[tuple[str, ...]]:
        found = server.get("query", query="up")["result"]
        return sorted(
            tuple(one["metric"][name] for name in ("job", "node", "cluster"))
            for one in found
            if one["metric"]["instance"]
        )

    wanted = [
        ("kube-state-metrics", "127.0.0.1", "gpu-$1"),
        ("watchkeeper", "127.0.0.1", "gpu-$1"),
        ("watchkeeper", "gpu-node-02", "gpu-2"),
    ]
    server.wait("all targets", lambda: labels() == wanted)
    (series,) = server.get("query", query='up{node="gpu-node-02"}')["result"]
    assert series["metric"]["instance"] == "gpu-node-02"


def test_what_the_exporter_says_is_scraped(server):
    found = server.wait("samples", lambda: server.get("query", query='gpu_memory_total_bytes{gpu="0"}')["result"])
    for series in found:
        assert series["metric"].keys() >= {"job", "instance", "node", "cluster", "gpu"}


def test_kube_state_metrics_says_itself_whom_it_is_about(server):
    (series,) = server.wait("a sample", lambda: server.get("query", query="kube_node_spec_unschedulable")["result"])
    assert series["metric"]["node"] == "gpu-node-07"
    assert "exported_node" not in series["metric"]


def test_alerts_go_to_the_alertmanagers(server):
    (alertmanager,) = server.wait("an Alertmanager", lambda: server.get("alertmanagers")["activeAlertmanagers"])
    assert alertmanager["url"].startswith("http://127.0.0.1:9/")
