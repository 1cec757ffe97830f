"""The pack in a real Prometheus 3, while an incident passes by in compressed time.

Each part of the incident has a server of its own. It gets the samples from before the part at once, and those of the
part before their time has come. Its rules are loaded when it has them, so that no evaluation sees less than a later
query does. What it wrote, and when it evaluated, is then read back.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import subprocess
import time
from bisect import bisect_left
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from watchkeeper.engine import Data, Engine, Series
from watchkeeper.engine.data import is_stale
from watchkeeper.ruler import Ruler, groups_of, steps
from watchkeeper.ruler.expand import Expander
from watchkeeper.ruler.history import Clock, Outcome

if TYPE_CHECKING:
    from collections.abc import Iterator

    from watchkeeper.ruler import RuleGroup

TESTS = Path(__file__).parents[2]
RULES = TESTS.parent / "rules"
TIME = "evaluated:time"  # the last rule of each group: its samples tell when the group has been evaluated, to its end
LOOKBACK_S = 300
START_S = 5.0  # from here to the start of a part: time to start all servers and write the samples on a busy machine
AHEAD_MS = 120_000  # a server takes samples that are up to ten minutes ahead of its clock

# Time stamp and value, by the text of a series' labels. Values are texts, or NaN were no NaN's equal.
Written = dict[str, list[tuple[int, str]]]


def module(path: str, beside: Path = TESTS) -> Any:
    spec = importlib.util.spec_from_file_location(Path(path).stem + "_for_replay", beside / path)
    assert spec is not None
    assert spec.loader is not None
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


SERVERS = module("servers/conftest.py")
WIRE = module("watchkeeper/promql/diff_server.py")
COMPRESSED = module("compressed.py", Path(__file__).parent)


def pack() -> list[RuleGroup]:
    """The groups of the rule files that a server is pointed at."""
    return [group for file in sorted(RULES.glob("*.yaml")) for group in groups_of(yaml.safe_load(file.read_text()))]


class Part:
    """A part of an incident, `first` and `last` in its own ms, and what came of it."""

    def __init__(self, data: Data, first: int, last: int) -> None:
        self.data, self.first, self.last = data, first, last
        self.samples: list[Series] = []
        self.groups: list[RuleGroup] = []
        self.told: dict[str, Written] = {}  # by the group's name
        self.times: dict[str, list[int]] = {}
        self.health: dict[str, str] = {}  # by the rule's name
        self.compression: Any = None
        self.written_until = 0

    def compress(self, scale: int, at_ms: int) -> dict[str, Any]:
        """Prepare the samples; return the plain data of the rules."""
        self.compression = COMPRESSED.Compression(scale, self.first, at_ms)
        self.samples = self.compression.samples(self.data.series, self.last)
        document = {"groups": self.compression.groups(pack())}
        for group in document["groups"]:
            group["rules"].append({"record": TIME, "expr": "time()", "labels": {"group": group["name"]}})
        self.groups = groups_of(document)
        return document

    def read(self, series: list[dict[str, Any]]) -> None:
        """Take what a server answered: by group, up to the end of its last whole evaluation."""
        rules = [(rule.name, group.name) for group in self.groups for rule in group.rules if rule.name != TIME]
        homes = dict(rules)
        assert len(homes) == len(rules)  # no name is in two groups
        found: dict[str, Written] = {}
        for one in series:
            labels = one["metric"]
            values = [(round(float(at) * 1000), repr(float(value))) for at, value in one["values"]]
            if labels["__name__"] == TIME:
                self.times[labels["group"]] = [at for at, _ in values]
            else:
                home = homes[labels["alertname"] if labels["__name__"].startswith("ALERTS") else labels["__name__"]]
                found.setdefault(home, {})[key(labels.items())] = values
        for home, times in self.times.items():
            self.told[home] = cut(found.get(home, {}), times[-1])


def key(labels: Any) -> str:
    return json.dumps(sorted(labels))


def cut(written: Written, last: int) -> Written:
    kept = {name: [one for one in values if one[0] <= last] for name, values in written.items()}
    return {name: values for name, values in kept.items() if values}


def replay(parts: list[Part], scale: int, binary: Path, folder: Path) -> None:
    """Let all parts pass by at the same time, each in its own server."""
    with contextlib.ExitStack() as stack:
        servers = []
        for number, part in enumerate(parts):
            own = folder / str(number)
            own.mkdir()
            servers.append((part, stack.enter_context(running(binary, own, scale)), own))
        # All parts begin at one moment of the clock, a whole second, which is soon.
        begin = round(time.time() + START_S) * 1000
        for part, server, own in servers:
            document = part.compress(scale, begin)
            write(part, server)
            (own / "rules.yml").write_text(json.dumps(document))  # JSON is YAML
        for _, server, _ in servers:
            time.sleep(max(0.0, begin / 1000 - time.time()))
            assert server.post("/-/reload", b"") == b"", server.log.read_text()
        end = max(part.compression.at(part.last) for part in parts) / 1000
        while time.time() < end:
            time.sleep(max(0.0, min(AHEAD_MS / 4000, end - time.time())))
            for part, server, _ in servers:
                write(part, server)
        now = round(time.time() * 1000)
        back = now - begin + 60_000
        for part, server, _ in servers:
            groups = json.loads(server._ask("GET", "/api/v1/rules", b"", {})[1])["data"]["groups"]
            part.health = {rule["name"]: rule["health"] for group in groups for rule in group["rules"]}
            answer = server.query(f'{{__name__=~"ALERTS|ALERTS_FOR_STATE|.+:.+"}}[{back}ms]', now)
            part.read(answer["data"]["result"])


def write(part: Part, server: Any) -> None:
    """Write the samples that were not written yet and are not too far ahead."""
    since, until = part.written_until, round(time.time() * 1000) + AHEAD_MS
    fresh = []
    for one in part.samples:
        low, high = bisect_left(one.times, since), bisect_left(one.times, until)
        if low < high:
            fresh.append(Series(one.labels, one.times[low:high], one.values[low:high]))
    server.write(fresh)
    part.written_until = until


@contextlib.contextmanager
def running(binary: Path, folder: Path, scale: int) -> Iterator[Any]:
    (folder / "rules.yml").write_text("groups: []\n")
    (folder / "prometheus.yml").write_text("rule_files: [rules.yml]\n")
    log = folder / "log"
    command = [
        binary, "--config.file=prometheus.yml", "--storage.tsdb.path=data", "--web.listen-address=127.0.0.1:0",
        "--web.enable-remote-write-receiver", "--web.enable-lifecycle",
        f"--query.lookback-delta={LOOKBACK_S * 1000 // scale}ms",
    ]  # fmt: skip
    with log.open("wb") as file:
        process = subprocess.Popen(
            command, cwd=folder, stdin=subprocess.DEVNULL, stdout=file, stderr=file, env={**os.environ, "TZ": "UTC"}
        )
    server = WIRE.Server(process, log)
    try:
        server.start()
        yield server
    finally:
        if server.connection is not None:
            server.connection.close()
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def is_regular(part: Part, group: RuleGroup) -> bool:
    """Whether the server left no evaluation out."""
    times = part.times[group.name]
    return len(times) > 1 and times == [*range(times[0], times[-1] + 1, group.interval_ms)]


def ours(part: Part, group: RuleGroup, *, at_once: bool = False) -> Written:
    """What our ruler writes for a group at the server's times: one after the other, or at once if they are regular."""
    times = part.times[group.name]
    engine = Engine(lookback=LOOKBACK_S / part.compression.scale)
    data = Data(part.samples)
    if at_once:
        run = Ruler([group], engine=engine).run(
            data, start=times[0] / 1000, end=times[-1] / 1000, step=group.interval_ms / 1000
        )
        outcomes = run.outcomes
    else:
        clock = Clock.irregular(times)
        outcomes = [Outcome(rule, group, place, clock, lambda *_: {}) for place, rule in enumerate(group.rules)]
        steps.run(outcomes, data, engine, Expander({}, ""))
    assert {outcome.rule.name: outcome.errors for outcome in outcomes if outcome.errors} == {}
    found: Written = {}
    for outcome in outcomes:
        if outcome.rule.name == TIME:
            continue
        for one in outcome.series():
            values = [(at, repr(value)) for at, value in zip(one.times, one.values, strict=True) if not is_stale(value)]
            if values:
                found[key(one.labels)] = values
    return found
