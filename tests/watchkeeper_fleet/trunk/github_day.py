"""A day of a busy repository, and the API that tells of it, in a process of its own: `github_day.py SHAPE`.

It prints its address. Then each line that it reads is a time; it answers with what was asked of it until then.
"""

from __future__ import annotations

import json
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from random import Random

sys.path.insert(0, str(Path(__file__).parent))

from github_standin import serving
from github_world import Job, Run, World

MINUTE = 60.0
HOUR = 3600.0
START = 1_764_000_000.0 - 1_764_000_000.0 % HOUR  # a full hour, at which the budget is new
SHARDS = 5
LONGEST = 100 * MINUTE  # from a push until all its jobs are done: with six an hour, ten are under way at a time
RED = 14  # jobs, with all their shards one, that are red on all commits but the oldest


@dataclass(frozen=True)
class Shape:
    """How large a day is. On a busy one all jobs run from the first minute to the last."""

    hours: float = 3.0
    before: int = 10  # commits that are there when it begins
    workflows: int = 10
    jobs: int = 300
    pushes: int = 6  # an hour
    busy: bool = False
    seed: int = 0

    def to_json(self) -> str:
        return json.dumps(asdict(self))


def plan(shape: Shape) -> World:
    """Return all that will be pushed, and when each job starts and ends."""
    random = Random(shape.seed)
    world = World(now=START)
    for number in range(-shape.before, int(shape.hours * shape.pushes) + 1):
        time = START + number * HOUR / shape.pushes
        # A push just before a poll and not with it.
        time -= MINUTE
        world.push(
            *(
                _run(shape, random, time, name, red=number > -shape.before and name == 0)
                for name in range(shape.workflows)
            ),
            time=time,
        )
    return world


def _run(shape: Shape, random: Random, time: float, name: int, *, red: bool) -> Run:
    """Return a run: a third of its jobs build, the others test what they have built; few take long."""
    jobs = []
    for number in range(shape.jobs):
        group, shard = divmod(number, SHARDS)
        builds = group < shape.jobs // SHARDS // 3
        created = time + (0.0 if builds or shape.busy else 25 * MINUTE)
        started = created + random.uniform(0.5, 5) * MINUTE
        length = random.uniform(5, 20 if builds else 35) * MINUTE
        fails = red and group < RED and shard == 1
        lasts = number >= shape.jobs - 3 or (shape.busy and not fails)
        jobs.append(
            Job(
                f"linux / test {group} (default, {shard + 1}, {SHARDS}, linux.{random.choice('24')}xlarge)",
                "failure" if fails else "success",
                *(created, started, time + LONGEST if lasts else started + length),
            )
        )
    return Run(f"workflow-{name}", jobs, created=time)


def main(shape: Shape) -> None:
    with serving(plan(shape)) as standin:
        print(standin.url, flush=True)  # noqa: T201 - that is how it tells
        for line in sys.stdin:
            with standin.lock:
                standin.world.now = float(line)
                told = {"statuses": dict(standin.statuses), "used": sum(standin.used.values())}
            print(json.dumps(told), flush=True)  # noqa: T201 - the same


if __name__ == "__main__":
    main(Shape(**json.loads(sys.argv[1])))
