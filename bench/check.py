"""Checking rule files: `watchkeeper check` beside `promtool check rules` 3.5, which parses and proves far less.

    .venv/bin/python bench/check.py [--quick] [--promtool BINARY]

One JSON object a line; the first names the versions. Both run in turn after a warm-up; medians of wall times. "cold"
has nothing remembered, "unchanged" is the same command again; 100 rules have a bar in seconds. The peer is
WATCHKEEPER_PROMTOOL3, or .cache/prometheus3/usr/bin/promtool.
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
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
OURS = [str(Path(sys.executable).with_name("watchkeeper")), "check"]
# Byte code is kept, as on a user's machine.
ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
MEMORY = "cache"  # what is remembered of a folder, in it for once

# Expressions as rule files have them: no two rules of the file are alike.
SHAPES = (
    'sum by (instance, gpu) (rate(gpu_errors_total{{job="gpu",code=~"5..|429"}}[5m])) > {n}',
    'gpu_temperature_celsius{{job="gpu"}} > {n} and on (instance) gpu_up{{job="gpu"}} == 1',
    "(node_memory_used_bytes / node_memory_total_bytes) * 100 > {n}",
    "histogram_quantile(0.99, sum by (le, job) (rate(http_request_duration_seconds_bucket[5m]))) > {n}",
    'max_over_time(queue_length{{queue!=""}}[{m}m]) - queue_length > {n}',
    'absent(up{{job="job{n}"}})',
    'predict_linear(node_filesystem_free_bytes{{fstype!~"tmpfs|overlay"}}[{m}m], 4 * 3600) < {n}',
    'count by (cluster) (up{{job="node"}} == 0) / count by (cluster) (up{{job="node"}}) > 0.{n}',
)


def rules(number: int) -> str:
    """The text of a file with so many rules, 50 a group, every tenth a recording rule."""
    lines = ["groups:"]
    for n in range(number):
        if n % 50 == 0:
            lines += [f"  - name: group{n // 50}", "    interval: 1m", "    rules:"]
        expr = SHAPES[n % len(SHAPES)].format(n=n, m=5 + n % 55)
        if n % 10 == 9:
            lines += [
                f"      - record: instance:gpu_power_watts_{n}:sum",
                "        expr: sum by (instance) (gpu_power_watts)",
            ]
            continue
        lines += [
            f"      - alert: Alert{n}",
            "        expr: |",
            f"          {expr}",
            "        for: 5m",
            "        labels:",
            "          severity: warning",
            "        annotations:",
            f"          summary: Number {n} is above its limit",
            f'          description: "It is {{{{ $value | humanize }}}} now, and should be below {n}; see the page."',
        ]
    return "\n".join(lines) + "\n"


def wall(command: list[str], folder: Path) -> float:
    """Seconds that a command takes. What it prints goes to a file, as in CI."""
    with tempfile.TemporaryFile("w+") as out:
        start = time.perf_counter()
        done = subprocess.run(
            [*command, "rules.yml"],
            cwd=folder,
            env={**ENVIRONMENT, "XDG_CACHE_HOME": str(folder / MEMORY)},
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            check=False,
        )
        seconds = time.perf_counter() - start
        if done.returncode:
            out.seek(0)
            raise SystemExit(f"{' '.join(command)} failed: {out.read(2000)}")
    return seconds


def forget(folder: Path) -> None:
    shutil.rmtree(folder / MEMORY, ignore_errors=True)


def show(case: str, ours: list[float], peer: list[float], *, most: float = 0, bar: float = 0) -> bool:
    """Print a line; `most` is the bar on the ratio, `bar` one in seconds on ours alone."""
    mine = statistics.median(ours)
    theirs = statistics.median(peer) if peer else None
    ratio = round(mine / theirs, 3) if theirs else None
    ok = (ratio is not None and ratio <= most) if most else mine <= bar
    line = {"case": case, "ours": round(mine, 3), "peer": round(theirs, 3) if theirs else None, "unit": "s"}
    print(json.dumps({**line, "ratio": ratio, "bar": most or f"{bar} s", "ok": ok}), flush=True)
    return ok


def promtool_of(given: str) -> str | None:
    """The peer's binary, None where there is none."""
    for one in (given, os.environ.get("WATCHKEEPER_PROMTOOL3", ""), str(ROOT / ".cache/prometheus3/usr/bin/promtool")):
        if one and (found := shutil.which(one)):
            return found
    return None


def main() -> int:
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--quick", action="store_true", help="few rules, once: only whether it runs")
    arguments.add_argument("--promtool", default="", help="the peer's binary")
    given = arguments.parse_args()
    promtool = promtool_of(given.promtool)
    version = "promtool 3 is missing: not compared with it"
    if promtool:
        said = subprocess.run([promtool, "--version"], capture_output=True, text=True, check=True)
        version = (said.stdout + said.stderr).splitlines()[0]
    many, rounds = (500, 1) if given.quick else (10_000, 7)
    print(
        json.dumps({"case": "check", "python": sys.version.split()[0], "peer": version, "rounds": rounds}), flush=True
    )
    results = []
    with tempfile.TemporaryDirectory() as name:
        large, small = Path(name, "large"), Path(name, "small")
        for folder, number in ((large, many), (small, 100)):
            folder.mkdir()
            (folder / "rules.yml").write_text(rules(number))
            (folder / "pyproject.toml").write_text("[tool.watchkeeper]\n")  # where what is remembered is kept
        time.sleep(0.1)  # a file changed just now is not trusted to be unchanged
        peer = [promtool, "check", "rules", "--lint=none"] if promtool else []
        cold, unchanged, theirs, hundred = [], [], [], []
        for turn in range(rounds + 1):
            forget(large)
            forget(small)
            times = [wall(OURS, large), wall(OURS, large), wall(peer, large) if peer else 0.0, wall(OURS, small)]
            if turn or given.quick:  # the first is the warm-up
                for kept, seconds in zip((cold, unchanged, theirs, hundred), times, strict=True):
                    kept.append(seconds)
        theirs = theirs if peer else []
        results += [show(f"{many} rules, cold", cold, theirs, most=1.5)]
        results += [show(f"{many} rules, unchanged", unchanged, theirs, most=0.15)]
        results += [show("100 rules", hundred, [], bar=0.15)]
    return 0 if given.quick or all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
