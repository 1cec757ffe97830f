"""Generating 1,000 dashboards of 20 panels and 10,000 rules, side by side with grafanalib's own encoder.

usage: bench/generate.py [--quick]

- cold: `watchkeeper generate`, everything (start-up, loading, rendering, every check, writing), against grafanalib's
  DashboardEncoder (indent 2) on the same dashboards, encoding alone.
- unchanged: the same command again.
- one definition changed: `watchkeeper generate` in this repository, in a copy.
- memory: the most that the cold run held.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from importlib.metadata import version
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PYTHON = sys.executable
# As on a user's machine: byte code is kept from one run to the next.
ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
WATCHKEEPER = Path(sys.executable).with_name("watchkeeper")

DEFINITIONS = """
from watchkeeper import Alert, Counter, Gauge, Group, Pack, Recording, Severity
from watchkeeper import dashboards as d

METRICS = tuple(
    kind(f"{{stem}}_{{i}}_{{end}}", "A metric.", labels=("gpu",), unit=unit)
    for i in range(50)
    for kind, stem, end, unit in ((Gauge, "gpu_memory", "bytes", "bytes"), (Counter, "gpu_errors", "total", ""))
)


def make(n):
    def dashboard(pack):
        panels = []
        for i in range({panels}):
            gauge, counter = METRICS[2 * (i % 50)], METRICS[2 * (i % 50) + 1]
            if i % 4 == 0:
                expr = f'sum by (instance) (rate({{counter}}{{{{instance=~"$instance"}}}}[$__rate_interval]))'
                panels.append(d.timeseries(f"Errors {{i}}", expr, unit="short", legend="{{{{instance}}}}"))
            elif i % 4 == 1:
                panels.append(d.stat(f"Least {{i}}", f"min({{gauge}})", unit="bytes", thresholds={{1e9: "red"}}))
            elif i % 4 == 2:
                exprs = [f"max by (gpu) ({{gauge}})", f"min by (gpu) ({{gauge}})"]
                panels.append(d.timeseries(f"Memory {{i}}", exprs, unit="bytes", description="Most and least."))
            else:
                panels.append(d.table(f"Now {{i}}", f"topk(10, {{gauge}})", unit="bytes"))
        variables = [d.datasource(), d.label_values("instance", "up")]
        return d.dashboard(uid=f"board-{{n}}", title=f"Board {{n}}", variables=variables, panels=panels)

    return dashboard


def recording(i):
    return Recording(f"instance:gpu_memory_{{i}}:min", f"min by (instance) ({{METRICS[2 * (i % 50)]}})")


def alert(i):
    expr = f"increase({{METRICS[2 * (i % 50) + 1]}}[5m]) > {{i}} and on (instance, gpu) {{METRICS[2 * (i % 50)]}} < 1e9"
    return Alert(
        f"Alert{{i}}", expr=expr, for_="5m", severity=Severity.WARNING, team="sre", runbook="all",
        summary="{{{{ $labels.instance }}}} has {{{{ $value | humanize }}}} errors", labels={{"number": str(i)}},
    )


def shown(pack):
    names = [[f"Alert{{j}}" for j in range(i, {rules}, 50) if j % 2] for i in range(50)]
    panels = [d.text("All.", "All", key=f"k{{i}}", alerts=alerts) for i, alerts in enumerate(names)]
    return d.dashboard(uid="alerts", title="Alerts", panels=panels)


GROUPS = tuple(
    Group(
        f"group{{start // 50}}",
        [
            alert(i) if i % 2 else recording(i) for i in range(start, min(start + 50, {rules}))
        ],
    )
    for start in range(0, {rules}, 50)
)
PACK = Pack(metrics=METRICS, groups=GROUPS, dashboards=(shown, *(make(n) for n in range({dashboards}))))
"""

PEER = """
import json, sys, time
sys.path.insert(0, {folder!r})
from defs import PACK
from grafanalib._gen import DashboardEncoder
made = [dashboard(PACK) for dashboard in PACK.dashboards]
start = time.perf_counter()
size = 0
for dashboard in made:
    size += len(json.dumps(dashboard.to_json_data(), sort_keys=True, indent=2, cls=DashboardEncoder))
print(time.perf_counter() - start, size)
"""


def generate(folder: Path) -> tuple[float, float]:
    """Run `watchkeeper generate` there; return seconds and the most memory, in bytes."""
    before = time.perf_counter()
    process = subprocess.Popen(
        [WATCHKEEPER, "generate"], cwd=folder, stderr=subprocess.PIPE, text=True, env=ENVIRONMENT
    )
    message = process.stderr.read() if process.stderr else ""
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(message)
    return time.perf_counter() - before, usage.ru_maxrss * 1024


def peer(folder: Path) -> float:
    done = subprocess.run(
        [PYTHON, "-c", PEER.format(folder=str(folder))],
        capture_output=True,
        text=True,
        check=True,
        cwd=folder,
        env=ENVIRONMENT,
    )
    return float(done.stdout.split()[0])


def clean(folder: Path) -> None:
    for name in ("rules", "dashboards", ".watchkeeper_cache"):
        shutil.rmtree(folder / name, ignore_errors=True)
    (folder / "watchkeeper.manifest").unlink(missing_ok=True)


def show(case: str, ours: float, against: float | None, unit: str, bar: float) -> None:
    """Print a line; the bar is on the ratio where there is a peer, else on our own figure."""
    line = {"case": case, "ours": round(ours, 4), "peer": against and round(against, 4), "unit": unit}
    ratio = round(ours / against, 3) if against else None
    print(json.dumps({**line, "ratio": ratio, "bar": bar, "ok": (ratio or ours) <= bar}), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="small sizes, one run: only whether it runs")
    quick = parser.parse_args().quick
    sizes = (
        {"dashboards": 20, "panels": 20, "rules": 200} if quick else {"dashboards": 1000, "panels": 20, "rules": 10_000}
    )
    rounds = 1 if quick else 3
    print(
        json.dumps(
            {
                "bench": "generate",
                "peer": f"grafanalib {version('grafanalib')}",
                "python": sys.version.split()[0],
                **sizes,
            }
        )
    )
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "pyproject.toml").write_text('[tool.watchkeeper]\ndefinitions = "defs:PACK"\n')
        (folder / "defs.py").write_text(DEFINITIONS.format(**sizes))
        colds, peers, warms, memory = [], [], [], 0.0
        for number in range(rounds + 1):  # the first is a warm-up
            clean(folder)
            cold, most = generate(folder)
            encoding = peer(folder)
            generate(folder)
            unchanged, _ = generate(folder)
            if number or quick:
                colds.append(cold)
                peers.append(encoding)
                warms.append(unchanged)
                memory = max(memory, most)
        cold, encoding, unchanged = map(statistics.median, (colds, peers, warms))
        show("cold, everything", cold, encoding, "s", 2.5)
        show("unchanged", unchanged, encoding, "s", 0.15)
        show("cold, peak memory", memory / 1e6, None, "MB", 200)
    with tempfile.TemporaryDirectory() as name:
        copy = Path(name) / "copy"
        ignore = shutil.ignore_patterns(".*", "tests", "docs", "bench")
        shutil.copytree(ROOT, copy, ignore=ignore)
        module = copy / "monitoring/watchkeeper_fleet/alerts/gpu_memory.py"
        text = module.read_text()
        times = []
        for number in range(rounds + 1):
            module.write_text(text.replace("0.30", f"0.3{number + 1}"))
            before = time.perf_counter()
            subprocess.run(
                [WATCHKEEPER, "generate"],
                cwd=copy,
                env={**ENVIRONMENT, "PYTHONPATH": str(copy / "monitoring")},
                check=True,
                capture_output=True,
            )
            times.append(time.perf_counter() - before)
        changed = statistics.median(times[1:] or times)
        show("one definition changed, this repository", changed, None, "s", 1.0)


if __name__ == "__main__":
    main()
