"""The three ways to evaluate rules over time are equal: in arrays, in lists at all times at once, and step by step."""

from __future__ import annotations

from random import Random
from struct import pack

import pytest

from watchkeeper.engine import Data, Engine, Series
from watchkeeper.engine.data import STALE
from watchkeeper.ruler import Ruler, groups_of, world
from watchkeeper.ruler.arrays import World as ArrayWorld
from watchkeeper.ruler.history import Clock

EXPRESSIONS = (
    "x > {n}",
    "x == {n}",
    "rate(c_total[{d}]) > 0.0{n}",
    "sum by (i) (x) > {n}",
    "avg_over_time(x[{d}]) > {n}",
    'absent(x{{i="{n}"}})',
    "x unless on (i, j) x offset {d} > {n}",
    "topk(1, x)",
    "count(x > {n}) > 1",
    "x / ignoring (j) group_left () sum by (i) (x) > 0.{n}",
    "max_over_time(x[{d}:30s]) - x > {n}",
    "x and on (i) c_total > {n}",
    "vector(time() % 90) < {n}0",
    "{r} > {n}",
    "{r} + on (i, j) x",
    "rate({r}[{d}])",
    'count by (alertname) (ALERTS{{alertstate="firing"}}) > 0',
    'ALERTS{{alertname="{a}"}}',
    'x unless on () ALERTS{{alertname="{a}",alertstate="firing"}}',
    "x @ {n}00",
    "x offset -{d}",
    '{{__name__=~"x|r.*"}} > {n}',
)
LABELS = ({}, {"severity": "page"}, {"v": "{{ $value }}"}, {"w": "{{ $labels.i }}"}, {"j": ""}, {"i": "same"})


def rules(random: Random) -> dict[str, object]:
    groups = []
    for number in range(random.randint(1, 3)):
        group: dict[str, object] = {"name": f"g{number}", "rules": []}
        if random.random() < 0.2:
            group["query_offset"] = random.choice(["15s", "1m"])
        if random.random() < 0.2:
            group["limit"] = random.randint(1, 4)
        for _ in range(random.randint(1, 5)):
            expr = random.choice(EXPRESSIONS).format(
                n=random.randint(1, 5),
                d=random.choice(["30s", "1m", "2m", "5m"]),
                r=random.choice(["r1", "r2", "r3"]),
                a=random.choice(["A1", "A2"]),
            )
            rule: dict[str, object] = {"expr": expr, "labels": random.choice(LABELS)}
            if random.random() < 0.35:
                rule |= {"record": f"r{random.randint(1, 9)}", "labels": random.choice(LABELS[:2])}
            else:
                rule |= {"alert": f"A{random.randint(1, 9)}"}
                rule |= {"annotations": {"s": "{{ $labels.i }} is {{ $value }}"}}
                for key in ("for", "keep_firing_for"):
                    if random.random() < 0.5:
                        rule[key] = random.choice(["15s", "30s", "50s", "1m", "3m"])
            group["rules"].append(rule)  # type: ignore[attr-defined]
        groups.append(group)
    return {"groups": groups}


def data(random: Random) -> list[Series]:
    found = []
    for i in "ab":
        for j in "12":
            times = [t for t in range(0, 900_000, 15_000) if random.random() < 0.9 or t < 30_000]
            values = [STALE if random.random() < 0.03 else float(random.randint(0, 6)) for _ in times]
            found.append(Series({"__name__": "x", "i": i, "j": j}, times, values))
        total, counts = 0.0, []
        for _ in range(60):
            total = 0.0 if random.random() < 0.05 else total + random.randint(0, 3)
            counts.append(total)
        found.append(Series({"__name__": "c_total", "i": i}, list(range(0, 900_000, 15_000)), counts))
    return found


def outcome(document: dict[str, object], series: list[Series], mode: str) -> dict[str, object]:
    engine = Engine(subquery_step=30.0)

    def make(mode: str) -> object:
        return ArrayWorld(Data(series), [], engine) if mode == "arrays" else world.World(Data(series), engine)

    clock = Clock(0, 900_000, 30_000)
    history = Ruler(groups_of(document), engine=engine).run_in(make, clock, ["g2", "g0"], mode)
    return {
        "errors": {(error.rule.name, error.group.name, error.time) for error in history.errors},
        "alerts": {
            (one.key, tuple(one.spans), tuple(one.annotations(index)["s"] for first, last, _, _ in one.spans
                                              for index in range(first, last + 1)))
            for name in history.names
            for one in history.alerts(name)
        },
        "series": {
            one.labels: list(zip(one.times, [pack("<d", value) for value in one.values], strict=True))
            for one in history.series.series
        },
    }  # fmt: skip


@pytest.mark.parametrize("seed", range(20))
def test_modes_are_equal(seed):
    random = Random(seed)
    document, series = rules(random), data(random)
    expected = outcome(document, series, "steps")
    for mode in ("whole", "arrays"):
        found = outcome(document, series, mode)
        assert found["errors"] == expected["errors"]
        assert found["alerts"] == expected["alerts"]
        assert found["series"] == expected["series"]
