"""The trunk exporter through hours of a busy repository, on a clock that jumps: `run_day.py [SHAPE AS JSON]`.

The client, the cache and the exporter are the real ones, and so are the connections; the API is `github_day.py`, in
another process, so that the memory that is told is the exporter's alone. It prints one object, and ends with 1 where
a bound does not hold.
"""

# ruff: noqa: T201  (a command prints)

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from github_day import HOUR, LONGEST, MINUTE, RED, START, Shape
from github_standin import TOKEN

from watchkeeper_fleet.github import GitHub
from watchkeeper_fleet.trunk.blocking import Blocking
from watchkeeper_fleet.trunk.cache import Cache
from watchkeeper_fleet.trunk.exporter import Branch, Trunk

REPO = "pytorch/pytorch"
MOST_REQUESTS = 4000  # an hour, with ten commits
MOST_MEGABYTES = 100
INTERVAL = 5 * MINUTE


class Api:
    """The other process: a clock to set, and what was asked of it."""

    def __init__(self, shape: Shape) -> None:
        script = Path(__file__).with_name("github_day.py")
        self.child = subprocess.Popen(
            [sys.executable, str(script), shape.to_json()], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.url = self.child.stdout.readline().strip()
        self.now = START

    def at(self, now: float) -> tuple[Counter[str], int]:
        """Set the clock; return the answers by status until then, and how many of them count."""
        self.now = now
        self.child.stdin.write(f"{now}\n")
        self.child.stdin.flush()
        told = json.loads(self.child.stdout.readline())
        return Counter(told["statuses"]), told["used"]

    def close(self) -> None:
        self.child.stdin.close()
        self.child.wait()
        self.child.stdout.close()


class Exporter:
    """One process' worth of the exporter."""

    def __init__(self, api: Api, state: Path, commits: int) -> None:
        self.github = GitHub(api.url, lambda: TOKEN, clock=lambda: api.now, sleep=lambda _: None)
        of = Branch(REPO, "main", Blocking(), commits=commits)
        self.trunk = Trunk(of, self.github, Cache(state), clock=lambda: api.now)

    def scrape(self) -> dict[str, float]:
        return {series: value for rows in self.trunk.collect().values() for series, value in rows}

    def known(self) -> dict[str, float]:
        """Return what is known of the branch; how the polls of this process went, and its requests, are its own."""
        return {
            series: value
            for series, value in self.scrape().items()
            if not re.match(r"trunk_(api|poll|up)|watchkeeper_", series)
        }

    def failing(self) -> list[float]:
        found = self.scrape()
        name = f'trunk_jobs_failing{{repository="{REPO}",branch="main",commits='
        return [found[f'{name}"{commits}"}}'] for commits in (1, 2, 3)]

    def failed(self) -> float:
        return sum(value for series, value in self.scrape().items() if series.startswith("trunk_poll_errors_total"))


def run(shape: Shape, commits: int, state: Path) -> dict[str, object]:
    """Go through the hours with a poll every five minutes, and one restart in their midst."""
    api = Api(shape)
    try:
        exporter = Exporter(api, state, commits)
        # What is asked for in the first poll of all is no measure of the others.
        exporter.trunk.poll()
        first, before = api.at(START)
        polls = int(shape.hours * HOUR / INTERVAL)
        hours: list[dict[str, int]] = []
        restart: dict[str, object] = {}
        failed = 0.0
        asked, counted = first, before
        for number in range(1, polls + 1):
            api.at(START + number * INTERVAL)
            exporter.trunk.poll()
            if number == polls // 2:
                known = exporter.known()
                failed += exporter.failed()
                exporter.github.close()
                del exporter  # it has no part in the memory of the next one
                statuses, used = api.at(api.now)
                exporter = Exporter(api, state, commits)
                same = exporter.known() == known
                exporter.trunk.poll()
                again, used_again = api.at(api.now)
                restart = {"requests": dict(again - statuses), "counted": used_again - used, "same": same}
                asked = asked + (again - statuses)  # these are no hour's
            if number * INTERVAL % HOUR == 0:
                statuses, used = api.at(api.now)
                hours.append({**dict(sorted((statuses - asked).items())), "counted": used - counted})
                asked, counted = statuses, used
        found = {
            "commits": commits,
            "polls": polls,
            "first": dict(first),
            "hours": hours,
            "restart": restart,
            "failing": exporter.failing(),
            "failed_polls": failed + exporter.failed(),
            "state_bytes": state.stat().st_size,
            "peak_megabytes": peak(),
        }
        exporter.github.close()
        return found
    finally:
        api.close()


def peak() -> float:
    """Return the most memory that this process has had at a time."""
    found = re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())
    return round(int(found[1]) * 1024 / 1e6, 1)


def wrong(found: dict, shape: Shape) -> list[str]:
    """Return what does not hold."""
    faults = []
    # In each poll the branch, the runs of each commit, and all pages of jobs of those commits that are under way.
    pages = shape.workflows * -(-shape.jobs // 100)
    under_way = min(found["commits"], int(shape.pushes * LONGEST / HOUR) + 1)
    most = HOUR / INTERVAL * (1 + found["commits"] + under_way * pages)
    if found["commits"] <= 10:
        most = min(most, MOST_REQUESTS)
    for number, hour in enumerate(found["hours"], 1):
        requests = sum(value for key, value in hour.items() if key != "counted")
        if requests > most:
            faults.append(f"{requests} requests in hour {number}")
    if found["peak_megabytes"] >= MOST_MEGABYTES:
        faults.append(f"{found['peak_megabytes']} MB")
    if found["restart"]["counted"] or set(found["restart"]["requests"]) != {"304"} or not found["restart"]["same"]:
        faults.append(f"restart: {found['restart']}")
    if found["failed_polls"]:
        faults.append(f"{found['failed_polls']} polls failed")
    if found["failing"] != [RED] * 3:
        faults.append(f"jobs failing: {found['failing']}")
    return faults


def main(shape: Shape, commits: int) -> int:
    begun = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        found = run(shape, commits, Path(folder, "trunk.state"))
    faults = wrong(found, shape)
    print(json.dumps({**found, "seconds": round(time.monotonic() - begun, 1), "wrong": faults}))
    return 1 if faults else 0


if __name__ == "__main__":
    options = json.loads(sys.argv[1]) if len(sys.argv) > 1 else {}
    sys.exit(main(commits=options.pop("commits", 10), shape=Shape(**options)))
