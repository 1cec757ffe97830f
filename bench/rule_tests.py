"""Unit tests of rules: `watchkeeper test` beside `promtool test rules` 3.5 on the same files, as whole processes.

    .venv/bin/python bench/rule_tests.py [--quick] [--promtool BINARY] [-k TEXT]

One JSON object a line; the first names the versions. Both run in turn after a warm-up; the medians of their wall times
are compared, and the peaks of their memory. "faster" is how many times faster ours is; the bar on the ratio is one
over what is asked for. Lines of "growth" are ours alone: how much longer twice as much takes. The peer is
WATCHKEEPER_PROMTOOL3, or .cache/prometheus3/usr/bin/promtool; the files are written by ../shared/tools/bench_rules.py.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
WRITER = ROOT.parent / "shared/tools/bench_rules.py"
OURS = [sys.executable, "-c", "from watchkeeper.cli import main; main()", "test"]
# Byte code is kept, as on a user's machine.
ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
MOST_MEMORY = 0.6  # of the peer's

# Case, arguments of the writer, how many times faster, rounds of both.
CASES = (
    ("tiny: 10 rules, 14 series, 1 h", "--rules 10 --hosts 1 --gpus 2 --hours 1 --firing none", 1.0, 15),
    ("10 quiet", "--rules 10 --firing none", 6.0, 7),
    ("10 firing", "--rules 10", 15.0, 5),
    ("100 quiet", "--rules 100 --firing none", 25.0, 3),
    ("100 firing", "--rules 100", 60.0, 1),
    ("100 distinct, quiet", "--rules 100 --firing none --distinct", 12.0, 3),
    ("100 distinct, firing", "--rules 100 --distinct", 30.0, 1),
    ("10 quiet, every 15s", "--rules 10 --firing none --every 15s", 15.0, 3),
    ("10 firing, every 15s", "--rules 10 --every 15s", 40.0, 3),
)
# What is doubled, and the arguments for one and for two. Distinct rules have longer windows the more there are.
GROWTH = (
    ("rules", "--rules 500", "--rules 1000"),
    ("series", "--rules 100 --distinct --hosts 16", "--rules 100 --distinct --hosts 32"),
    ("hours", "--rules 100 --distinct --hours 12", "--rules 100 --distinct --hours 24"),
)
MOST_GROWTH = 2.2


def tell(**line: Any) -> None:
    print(json.dumps(line), flush=True)


def measure(command: list[str], folder: Path) -> tuple[float, float, int]:
    """Seconds, peak memory in MB, and exit status of a command."""
    with tempfile.TemporaryFile() as out:
        start = time.perf_counter()
        process = subprocess.Popen(
            [*command, "test.yml"], cwd=folder, env=ENVIRONMENT, stdin=subprocess.DEVNULL, stdout=out, stderr=out
        )
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    return seconds, usage.ru_maxrss / 1024, process.returncode


def write(folder: Path, arguments: str) -> None:
    subprocess.run([sys.executable, str(WRITER), str(folder), *arguments.split()], check=True)


def compared(case: str, folder: Path, promtool: str, faster: float, rounds: int) -> bool:
    peer = [promtool, "test", "rules"]
    measure(OURS, folder)  # writes byte code, and has the files in memory
    runs = [(measure(OURS, folder), measure(peer, folder)) for _ in range(rounds)]
    passed = all(mine[2] == theirs[2] == 0 for mine, theirs in runs)
    ours, theirs = (statistics.median(run[side][0] for run in runs) for side in (0, 1))
    memory, their_memory = (max(run[side][1] for run in runs) for side in (0, 1))
    quick = ours * faster <= theirs
    small = memory <= MOST_MEMORY * their_memory
    tell(
        case=case,
        ours=round(ours, 3),
        peer=round(theirs, 3),
        unit="s",
        ratio=round(ours / theirs, 4),
        bar=round(1 / faster, 4) if faster else None,
        faster=round(theirs / ours, 1),
        ok=passed and quick,
    )
    tell(
        case=f"{case}: memory",
        ours=round(memory, 1),
        peer=round(their_memory, 1),
        unit="MB",
        ratio=round(memory / their_memory, 2),
        bar=MOST_MEMORY,
        ok=small,
    )
    return passed and quick and small


def growth(what: str, one: Path, two: Path, rounds: int) -> bool:
    measure(OURS, one)
    runs = [(measure(OURS, one), measure(OURS, two)) for _ in range(rounds)]
    first, second = (statistics.median(run[side][0] for run in runs) for side in (0, 1))
    ok = second <= MOST_GROWTH * first and all(run[0][2] == run[1][2] == 0 for run in runs)
    ratio = round(second / first, 2)
    tell(
        case=f"growth: twice the {what}",
        ours=round(second, 3),
        peer=None,
        unit="s",
        ratio=ratio,
        bar=MOST_GROWTH,
        ok=ok,
    )
    return ok


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="small files, once: only whether it runs")
    parser.add_argument("--promtool", default=os.environ.get("WATCHKEEPER_PROMTOOL3"), help="the peer")
    parser.add_argument("-k", default="", metavar="TEXT", help="only cases with this text in their name")
    options = parser.parse_args()
    promtool = options.promtool or str(ROOT / ".cache/prometheus3/usr/bin/promtool")
    if not WRITER.exists():
        tell(skipped="all", reason=f"{WRITER.name} is not beside this repository, in shared/tools")
        return 0
    if not os.access(promtool, os.X_OK):
        tell(skipped="all", reason="promtool 3 is not here: name one in WATCHKEEPER_PROMTOOL3")
        return 0
    version = subprocess.run([promtool, "--version"], capture_output=True, text=True, check=True)
    peer = (version.stdout + version.stderr).partition(" (")[0]
    tell(bench="rule_tests", python=platform.python_version(), peer=peer, cpus=os.cpu_count(), quick=options.quick)
    ok = True
    with tempfile.TemporaryDirectory() as name:
        for number, (case, arguments, faster, rounds) in enumerate(CASES):
            if options.k not in case:
                continue
            folder = Path(name, str(number))
            write(folder, arguments + (" --hosts 1 --hours 1" if options.quick else ""))
            ok &= compared(case, folder, promtool, 0.0 if options.quick else faster, 1 if options.quick else rounds)
        for what, one, two in () if options.quick else GROWTH:
            if options.k not in f"growth: twice the {what}":
                continue
            folders = [Path(name, f"{what}{size}") for size in (1, 2)]
            for folder, arguments in zip(folders, (one, two), strict=True):
                write(folder, arguments)
            ok &= growth(what, *folders, rounds=3)
    return 0 if ok or options.quick else 1


if __name__ == "__main__":
    sys.exit(main())
