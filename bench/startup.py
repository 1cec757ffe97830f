"""How long `watchkeeper --help` takes, beside an empty Python and promtool.

    .venv/bin/python bench/startup.py [--quick]

One JSON object a line. `ours` and `peer` are medians of wall time in seconds; the bar is on ours alone, in seconds.
"""

from __future__ import annotations

import json
import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path

BAR_S = 0.1
OURS = [str(Path(sys.executable).with_name("watchkeeper")), "--help"]


def wall(command: list[str]) -> float:
    start = time.perf_counter()
    subprocess.run(command, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return time.perf_counter() - start


def main() -> int:
    quick = "--quick" in sys.argv[1:]
    runs = 3 if quick else 25
    peers = {"python -c pass": [sys.executable, "-c", "pass"]}
    promtool = shutil.which("promtool")
    if promtool:
        peers["promtool --version"] = [promtool, "--version"]
        said = subprocess.run(peers["promtool --version"], capture_output=True, text=True, check=True)
        peer_version = (said.stdout + said.stderr).splitlines()[0]
    else:
        peer_version = "promtool is missing: not compared with it"
    print(json.dumps({"case": "startup", "python": sys.version.split()[0], "peer": peer_version, "runs": runs}))
    for command in (OURS, *peers.values()):  # a warm-up: byte code is written, files are in the page cache
        wall(command)
    times: dict[str, list[float]] = {name: [] for name in ("ours", *peers)}
    for _ in range(runs):  # in turn, so that a slow moment of the machine meets all of them
        times["ours"].append(wall(OURS))
        for name, command in peers.items():
            times[name].append(wall(command))
    ours = statistics.median(times["ours"])
    ok = ours <= BAR_S
    for name in peers:
        peer = statistics.median(times[name])
        line = {
            "case": f"watchkeeper --help against {name}",
            "ours": round(ours, 4),
            "peer": round(peer, 4),
            "unit": "s",
        }
        print(json.dumps({**line, "ratio": round(ours / peer, 2), "bar": BAR_S, "ok": ok}))
    return 0 if ok or quick else 1


if __name__ == "__main__":
    sys.exit(main())
