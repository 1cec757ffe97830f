"""Random routings, good and bad: is the file one that Alertmanager takes, and do we say the same?

    python tests/watchkeeper/routing/run_verdicts.py 500 0      so many routings, from a seed

It asks `amtool check-config` of the distribution and, where WATCHKEEPER_PROMETHEUS3 names a Prometheus 3, the amtool
beside that. Texts of receivers, of which amtool says nothing, are as the page has them.
"""

# ruff: noqa: T201  (a command prints)

from __future__ import annotations

import re as regex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import yaml

sys.path.insert(0, str(Path(__file__).parent))
from alertmanagers import newer, write

from watchkeeper import Pack, not_, re, routed
from watchkeeper.building import build
from watchkeeper.render.alertmanager import document
from watchkeeper.routing import (
    Email,
    Global,
    Inhibition,
    PagerDuty,
    Period,
    Receiver,
    Route,
    Routing,
    Slack,
    TimeInterval,
    Webhook,
)
from watchkeeper.settings import Settings, Targets

if TYPE_CHECKING:
    from collections.abc import Sequence

TEXTS = [
    "a", "b c", "é", "x: y", "- z", "'q'", '"d"', "#h", "{m}", "[l]", "*s", "&r", "!t", "%p", "@u", "`v", "null",
    "true", "1", "1.5", "2026-01-01", "a\nb", " lead", "trail ", "a\\b", "~", "a,b", "…", "\u200b", "\x07", "\t", "$x",
    "\u2028", "\ufeffx", "\x85",
]  # fmt: skip


class Maker:
    """Makes routings; of each choice, a share of `badness` is one that may be refused."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.badness = random.choice([0, 0, 0.02, 0.1])

    def pick(self, good: Sequence[Any], bad: Sequence[Any] = ()) -> Any:
        return self.random.choice(bad if bad and self.random.random() < self.badness else good)

    def duration(self) -> str:
        return self.pick(["", "", "30s", "5m", "1h30m", "1y"], ["0s", "5x", "1.5h", "-1s"])

    def match(self) -> dict[str, str]:
        found: dict[str, str] = {}
        for _ in range(self.random.randint(0, 2)):
            value = self.pick(TEXTS)
            if self.random.random() < 0.4:
                value = re(self.pick(["a|b", ".*", "a{2}", "(?i)x", "a\\.b", "", "\\d+"], ["(", "[z-a]"]))
            found[self.pick(["a", "b", "team", "x_y"], ["é", "a b", "", "9a", "a.b"])] = self.pick([value, not_(value)])
        return found

    def integration(self) -> PagerDuty | Slack | Email | Webhook:
        return self.pick(
            [
                PagerDuty(self.pick(["/k"], [""]), url=self.pick(["", "https://x/y"], ["nope"])),
                Slack(self.pick(TEXTS), api_url_file=self.pick(["/s"], [""]), username=self.pick(TEXTS)),
                Email(self.pick(TEXTS)),
                Webhook(self.pick(["http://h/x"], ["nope", ""]), timeout=self.pick([""], ["5s"]), max_alerts=2),
            ]
        )

    def time_interval(self, number: int) -> TimeInterval:
        period = Period(
            times=self.pick([(), ("09:00-17:00",)], [("22:00-02:00",), ("9-5",)]),
            weekdays=self.pick([(), ("monday:friday",), ("Sunday",)], [("friday:monday",), ("mon",)]),
            days_of_month=self.pick([(), ("1:5",), ("-3:-1",)], [("32",), ("0",), ("-1:3",)]),
            months=self.pick([(), ("january:march",), ("1:3",)], [("13",), ("march:january",)]),
            years=self.pick([(), ("2026",)], [("2027:2026",)]),
            location=self.pick(["", "UTC", "Europe/Berlin"], ["X/Y"]),
        )
        return TimeInterval(f"{self.pick(TEXTS)}{number}", [period])

    def route(self, depth: int, receivers: list[str], times: list[TimeInterval]) -> Route:
        during = [self.pick(times)] if times and depth and self.random.random() < 0.3 else []
        return Route(
            self.pick(receivers, ["", "none"]),
            match=self.match() if depth else self.pick([{}], [{"a": "b"}]),
            group_by=self.pick([(), ["a"], ["..."]], [["é"], ["a", "..."], ["a", "a"], [""]]),
            group_wait=self.duration(),
            group_interval=self.duration(),
            repeat_interval=self.duration(),
            continue_=self.pick([bool(depth)], [True]),
            mute_during=during,
            active_during=during[: self.random.randint(0, 1)],
            routes=[self.route(depth + 1, receivers, times) for _ in range(self.random.randint(0, 2))]
            if depth < 3
            else [],
        )

    def routing(self) -> Routing:
        receivers = [
            Receiver(self.pick([f"r{n}", f"{self.pick(TEXTS)}{n}"], ["r0"]), [self.integration()][: n % 3])
            for n in range(3)
        ]
        times = [self.time_interval(n) for n in range(self.random.randint(0, 2))]
        equal = self.pick([[], ["a"], ["a", "b"]], [["é"], [""], ["a", "a"]])
        return Routing(
            self.route(0, [one.name for one in receivers], times),
            receivers=receivers,
            inhibitions=[Inhibition(self.match(), self.match(), equal)],
            time_intervals=times,
            global_=Global(
                smtp_from=self.pick(["a@b"], [""]),
                smtp_smarthost=self.pick(["h:25"], ["h", ""]),
                resolve_timeout=self.duration(),
            ),
        )


def refused(routing: Routing, version: tuple[int, int]) -> bool:
    """Tell whether we say that this Alertmanager refuses the file."""
    _, findings = build(Pack(routing=routing), Settings(root=Path(), targets=Targets(alertmanager=version)))
    useless = ("routing/unreachable", "routing/inhibition")  # which it takes all the same
    return any(one.severity == "error" and one.check not in useless for one in findings)


def version_of(program: str) -> tuple[int, int]:
    """Return the version of an amtool."""
    run = subprocess.run([program, "--version"], capture_output=True, text=True, check=True)
    found = regex.search(r"version (\d+)\.(\d+)", run.stdout + run.stderr)
    assert found, run
    return int(found[1]), int(found[2])


def main(count: int, seed: int) -> int:
    """Compare so many routings, print each that we disagree about, and return how many these are."""
    random, wrong, seen = Random(seed), 0, {True: 0, False: 0}
    programs = [(program, version_of(program)) for program in (shutil.which("amtool"), newer("amtool")) if program]
    folder = Path(tempfile.mkdtemp())
    for _ in range(count):
        routing = Maker(random).routing()
        files = routed.files(routing, Settings(root=Path()))
        text = files["deploy/alertmanager/alertmanager.yaml"]
        assert yaml.safe_load(text) == document(routing)
        write(files, folder)
        for program, version in programs:
            command = [program, "check-config", "alertmanager.yaml"]
            run = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
            seen[run.returncode == 0] += 1
            if refused(routing, version) is not (run.returncode != 0):
                wrong += 1
                print(f"{program} {'takes' if run.returncode == 0 else 'refuses'}:\n{text}\n{run.stdout}{run.stderr}")
    shutil.rmtree(folder)
    print(
        f"{count} routings, {len(programs)} amtools: {seen[True]} taken, {seen[False]} refused, {wrong} otherwise by us"
    )
    return wrong


if __name__ == "__main__":
    sys.exit(min(main(int(sys.argv[1]), int(sys.argv[2])), 1))
