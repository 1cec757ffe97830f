"""Plan and apply of 1,000 dashboards in 50 folders, at a Grafana on loopback that answers after 10 ms.

    .venv/bin/python bench/sync.py [--quick]

One JSON object a line; the bars are on ours alone, in seconds, and on requests; `cpu` is what our process used, which
a busy machine does not stretch. The Grafana is the one that stands in for it in the tests, in a process of its own,
with each of its two APIs. A plan is the check of the token's rights, the listing and the comparison; building the
project, which comes before it, is in bench/generate.py.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from watchkeeper.sync.apply import apply
from watchkeeper.sync.grafana import DELETES, connect
from watchkeeper.sync.http import Client
from watchkeeper.sync.objects import Dashboard, Folder
from watchkeeper.sync.plan import plan

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).parents[1]
LATENCY_S = 0.010
PLAN_BAR_S, APPLY_BAR_S = 20.0, 60.0
OWNER = "bench"

# Prints its address, and for each line that it is given what it was asked and has written since the last one.
SERVER = """
import copy, json, sys
copy.deepcopy = lambda value: json.loads(json.dumps(value))  # which is ten times as fast: measured is not the server
sys.path.insert(0, sys.argv[1])
from standin_grafana import TOKEN, Grafana
grafana = Grafana(has_apis=sys.argv[2] == "apis", version="13.0.0" if sys.argv[2] == "apis" else "11.6.0", latency=LAG)
with grafana.running():
    print(json.dumps([grafana.url, TOKEN]), flush=True)
    for _ in sys.stdin:
        print(json.dumps([len(grafana.asked), grafana.writes]), flush=True)
        grafana.server.requests.clear()
        grafana.writes = 0
"""


def wanted(boards: int, folders: int) -> list[Folder | Dashboard]:
    """Return dashboards of some 20 kB, in folders of which each tenth holds the nine after it."""
    made: list[Folder | Dashboard] = [
        Folder(f"f{number}", f"Folder {number}", f"f{number - number % 10}" if number % 10 else "")
        for number in range(folders)
    ]
    model = json.loads((ROOT / "dashboards/gpu-stall.json").read_text())
    for number in range(boards):
        title = f"Dashboard {number}"
        made.append(Dashboard(f"b{number}", title, f"f{number % folders}", {**model, "title": title}))
    return made


class Bench:
    """A server, and what is measured at it."""

    def __init__(self, api: str, runs: dict[str, Any]) -> None:
        self.api, self.runs = api, runs
        command = [
            sys.executable,
            "-c",
            SERVER.replace("LAG", str(LATENCY_S)),
            str(ROOT / "tests/watchkeeper/sync"),
            api,
        ]
        self.server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        url, token = self.said()
        self.client = Client(url, lambda: token)
        self.ok = True

    def said(self) -> list[Any]:
        assert self.server.stdout
        said: list[Any] = json.loads(self.server.stdout.readline())
        return said

    def asked(self) -> tuple[int, int]:
        """Return how many requests and writes there were since the last time."""
        assert self.server.stdin
        self.server.stdin.write("\n")
        self.server.stdin.flush()
        requests, writes = self.said()
        return requests, writes

    def measure(self, case: str, bar: float, call: Callable[[], Any], *, most: int | None = None) -> Any:
        """Print how long it takes; `most` is how many requests it may need, none of which writes."""
        self.asked()
        start, used = time.perf_counter(), time.process_time()
        found = call()
        took, used = time.perf_counter() - start, time.process_time() - used
        requests, writes = self.asked()
        ok = took <= bar and (most is None or (requests <= most and writes == 0))
        self.ok = self.ok and ok
        line = {"case": f"sync: {case}, /{self.api}", "ours": round(took, 2), "unit": "s", "bar": bar, "ok": ok}
        print(json.dumps({**line, **self.runs, "cpu": round(used, 2), "requests": requests, "writes": writes}))
        return found

    def close(self) -> None:
        self.client.close()
        self.server.communicate("")


def run(api: str, boards: int, folders: int) -> bool:
    bench = Bench(api, {"dashboards": boards, "folders": folders})
    things = wanted(boards, folders)
    uids = [thing.uid for thing in things]

    def planned() -> Any:
        grafana = connect(bench.client, OWNER, target=(11, 0), rights=DELETES)
        live = grafana.list("folder", uids) + grafana.list("dashboard", uids)
        return grafana, plan(things, live, OWNER, prune=True)

    try:
        grafana, changes = bench.measure("first plan", PLAN_BAR_S, planned)
        outcomes = bench.measure("first apply", APPLY_BAR_S, lambda: apply(changes, grafana, OWNER))
        assert {outcome.result for outcome in outcomes} == {"done"}
        # Of /apis, a listing for each page of 100 and the four requests of a connection; of /api, three a dashboard.
        most = 4 + -(-boards // 100) + 1 if api == "apis" else 10 + 3 * boards + folders
        grafana, changes = bench.measure("plan, all unchanged", PLAN_BAR_S, planned, most=most)
        assert {change.action for change in changes} == {"unchanged"}
        for number in range(folders, len(things), 10):
            thing = things[number]
            assert isinstance(thing, Dashboard)
            things[number] = Dashboard(thing.uid, thing.title, thing.folder, {**thing.model, "refresh": "7m"})
        grafana, changes = bench.measure("plan, a tenth changed", PLAN_BAR_S, planned)
        bench.measure("apply, a tenth changed", APPLY_BAR_S, lambda: apply(changes, grafana, OWNER))
    finally:
        bench.close()
    return bench.ok


def main() -> int:
    quick = "--quick" in sys.argv[1:]
    boards, folders = (40, 4) if quick else (1000, 50)
    print(
        json.dumps(
            {"case": "sync", "python": sys.version.split()[0], "peer": "none is measured", "latency_s": LATENCY_S}
        )
    )
    oks = [run(api, boards, folders) for api in ("apis", "api")]
    return 0 if all(oks) or quick else 1


if __name__ == "__main__":
    sys.exit(main())
