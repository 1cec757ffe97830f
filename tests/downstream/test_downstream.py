"""Someone else's repository, `acme/`, on the built wheel: its own package `monitoring`, and its own committed output.

`make generate` writes that output anew; what changes in it is what users will see change.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from watchkeeper_fleet.pack import PACK as FLEET

ROOT = Path(__file__).parents[2]
ACME = Path(__file__).parent / "acme"
FOLDERS = ("rules", "dashboards", "runbooks", "deploy")

pytestmark = pytest.mark.slow


@pytest.fixture
def acme(tmp_path: Path) -> Path:
    return Path(shutil.copytree(ACME, tmp_path / "acme", ignore=shutil.ignore_patterns("__pycache__")))


@pytest.fixture
def watchkeeper(generator_install, clean_environment):
    """Run the installed command in a folder."""

    def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
        command = [generator_install.with_name("watchkeeper"), *arguments]
        return subprocess.run(
            command, cwd=folder, env=clean_environment, capture_output=True, text=True, check=False, timeout=60
        )

    return run


def generated(folder: Path) -> dict[str, bytes]:
    paths = [path for name in FOLDERS for path in (folder / name).rglob("*")] + [*folder.glob("*.manifest")]
    return {str(path.relative_to(folder)): path.read_bytes() for path in paths if path.is_file()}


def changed(folder: Path) -> set[str]:
    """Return the names of the generated files in folder that are not as committed, byte for byte."""
    there, committed = generated(folder), generated(ACME)
    return {name for name in there.keys() | committed.keys() if there.get(name) != committed.get(name)}


def remove_generated(folder: Path) -> None:
    for name in FOLDERS:
        shutil.rmtree(folder / name)
    (folder / "watchkeeper.manifest").unlink()


def test_it_generates_what_is_committed(acme, watchkeeper):
    remove_generated(acme)
    run = watchkeeper(acme, "generate")
    assert run.returncode == 0, run.stderr
    assert changed(acme) == set()
    files = len(generated(acme)) - 1  # without the manifest
    assert run.stderr == f"{files} files: {files} written, 0 deleted, 0 unchanged\n"


def test_the_steps_that_the_docs_give_for_ci_pass(acme, watchkeeper):
    steps = re.findall(r"- run: watchkeeper (.*)", (ROOT / "docs/ci.md").read_text())
    assert steps == ["check", "generate --check"]
    for step in steps:
        run = watchkeeper(acme, *step.split())
        assert (run.returncode, run.stdout) == (0, ""), run.stderr
    assert changed(acme) == set()


WHERE = """
import json, sys
from watchkeeper.cli import main
sys.argv = ["watchkeeper", "check"]
try:
    main()
except SystemExit as exit:
    status = exit.code
files = {name: getattr(module, "__file__", None) for name, module in sys.modules.items()}
print(json.dumps({"status": status, "path": sys.path, "files": {k: v for k, v in files.items() if v}}))
"""


def test_its_own_package_is_its_own_and_nothing_comes_from_our_sources(acme, generator_install, clean_environment):
    command = [generator_install, "-c", WHERE]
    run = subprocess.run(command, cwd=acme, env=clean_environment, capture_output=True, text=True, check=True)
    told = json.loads(run.stdout)
    assert not told["status"], run.stderr
    files = told["files"]
    assert [path for path in (*told["path"], *files.values()) if Path(path).is_relative_to(ROOT)] == []
    assert files["monitoring.oncall"] == str(acme / "monitoring/oncall.py")
    for name in ("watchkeeper", "watchkeeper_fleet.pack"):
        assert Path(files[name]).is_relative_to(generator_install.parents[1])


def test_what_it_took_out_and_changed(acme):
    groups = {
        group["name"]: group
        for path in sorted(acme.glob("rules/*.yaml"))
        for group in yaml.safe_load(path.read_text())["groups"]
    }
    assert groups.keys() == {group.name for group in FLEET.groups} - {"trunk"} | {"acme_serving", "acme_devices"}
    rules = {rule.get("alert") or rule["record"]: rule for group in groups.values() for rule in group["rules"]}
    assert "GPUMemoryJump" not in b"".join(generated(acme).values()).decode()
    assert not (acme / "runbooks/gpu-memory-jump.md").exists()
    assert {rule["labels"]["team"] for rule in rules.values() if "alert" in rule} == {
        *("inference-sre", "acme-serving", "acme-platform")
    }
    assert groups["gpu_memory"]["interval"] == "1m"
    assert rules["GPUAllocatorRetrying"]["for"] == "10m"
    assert rules["GPUAllocatorRetrying"]["labels"]["severity"] == "info"
    assert "> 0.5) and" in rules["HighGPUMemoryFragmentation"]["expr"]
    assert (
        rules["GPUOutOfMemory"]["annotations"]["runbook_url"] == "https://wiki.acme.example/runbooks/gpu-out-of-memory"
    )
    assert rules["AcmeErrors"]["expr"] == (
        'sum by (route) (rate(acme_requests_total{code=~"5..",route=~"/v1\\\\..*"}[5m]))\n'
        "  / sum by (route) (rate(acme_requests_total[5m])) > 0.01"
    )
    assert rules["AcmeNoSpareGPU"]["annotations"]["dashboard_url"].startswith(
        "https://grafana.acme.example/d/acme-spare?"
    )


def test_its_dashboards_show_its_own_thresholds(acme):
    dashboards = {path.stem: json.loads(path.read_text()) for path in acme.glob("dashboards/*.json")}
    assert dashboards.keys() >= {"gpu-memory", "acme-serving", "acme-spare"}
    assert "trunk" not in dashboards
    panels = {(uid, panel["title"]): panel for uid, board in dashboards.items() for panel in board["panels"]}
    for uid, title, value in (
        ("gpu-memory", "Reserved but unused", 0.5),
        ("acme-serving", "Slowest hundredth", 2),
        ("acme-spare", "Spare", 1),
    ):
        steps = panels[uid, title]["fieldConfig"]["defaults"]["thresholds"]["steps"]
        assert pytest.approx(value) in [step["value"] for step in steps if step["value"] is not None], title


def test_its_runbooks_tell_its_own_teams_and_thresholds(acme):
    pages = {path.stem: path.read_text() for path in acme.glob("runbooks/*.md")}
    assert "Tell acme-platform;" in pages["gpu-too-hot"]
    assert "takes more than 2 s, for 5m by now" in pages["acme-route-slow"]


def test_its_routing_is_its_own(acme):
    data = yaml.safe_load((acme / "deploy/alertmanager/alertmanager.yaml").read_text())
    assert [one["name"] for one in data["receivers"]] == ["pager", "platform-pager", "channel", "heartbeat", "nobody"]


def test_a_hand_edit_is_not_overwritten(acme, watchkeeper):
    edited = acme / "rules/gpu_memory.yaml"
    edited.write_text(edited.read_text().replace("for: 10m", "for: 11m"))
    before = generated(acme)
    pack = acme / "monitoring/pack.py"
    pack.write_text(pack.read_text().replace("< 1e9", "< 2e9"))
    run = watchkeeper(acme, "generate")
    assert run.returncode == 1
    assert "rules/gpu_memory.yaml: error[output/edited]" in run.stderr
    assert generated(acme) == before, "a refusal writes nothing"
    assert watchkeeper(acme, "generate", "--check").returncode == 1


def test_a_stale_file_is_shown_then_written(acme, watchkeeper):
    pack = acme / "monitoring/pack.py"
    pack.write_text(pack.read_text().replace('for_="10m"', 'for_="20m"'))
    run = watchkeeper(acme, "generate", "--check")
    assert run.returncode == 1
    assert "-    for: 10m\n+    for: 20m\n" in run.stdout
    assert changed(acme) == set()
    assert watchkeeper(acme, "generate").returncode == 0
    assert watchkeeper(acme, "generate", "--check").returncode == 0
    assert changed(acme) == {*("rules/gpu_memory.yaml", "runbooks/gpu-allocator-retrying.md", "watchkeeper.manifest")}


def test_it_works_from_a_sub_folder(acme, watchkeeper):
    remove_generated(acme)
    run = watchkeeper(acme / "monitoring/runbooks", "generate")
    assert run.returncode == 0, run.stderr
    assert changed(acme) == set()
    assert watchkeeper(acme / "monitoring", "check").returncode == 0


def test_a_fault_is_told_with_its_place(acme, watchkeeper):
    serving = acme / "monitoring/serving.py"
    source = serving.read_text().replace("sum by (route, le)", "sum by (rout, le)")
    serving.write_text(source)
    line = source[: source.index("P99 = Recording(")].count("\n") + 1
    run = watchkeeper(acme, "check")
    assert run.returncode == 1
    assert re.search(
        rf'^monitoring/serving\.py:{line}: error\[promql/label\] .*did you mean "route"\?', run.stdout, re.MULTILINE
    )
    assert watchkeeper(acme, "generate").returncode == 1
    assert changed(acme) == set()
