"""Groups over time by the Python interface: histories, alerts, errors, restoring."""

from __future__ import annotations

import subprocess
import sys

import pytest

from watchkeeper.engine import Data, Engine, Series
from watchkeeper.engine.data import is_stale
from watchkeeper.engine.labels import make
from watchkeeper.promql import parse
from watchkeeper.ruler import RuleError, Ruler, groups_of
from watchkeeper.ruler.plan import plan


def data(**values):
    return Data(
        [
            Series({"__name__": name, "i": "1"}, list(range(0, 60_000 * len(row), 60_000)), [float(v) for v in row])
            for name, row in values.items()
        ]
    )


def groups(*rules, **group):
    return groups_of({"groups": [{"name": "g", "rules": list(rules), **group}]}, "rules.yml")


def run(series, *rules, end=600, **group):
    return Ruler(groups(*rules, **group), engine=Engine()).run(series, start=0, end=end, step=60)


DOWN = {"alert": "Down", "expr": "up == 0", "for": "2m", "annotations": {"s": "{{ $labels.i }} at {{ $value }}"}}


def test_an_alert_over_time():
    history = run(data(up=[1, 0, 0, 0, 0, 1, 0, 1]), DOWN, end=420)
    assert history.names == ["Down"]
    assert history.times == [60.0 * i for i in range(8)]
    (alert,) = history.alerts("Down")
    assert alert.labels == {"alertname": "Down", "i": "1"}
    assert alert.pending == [(60, 120), (360, 360)]
    assert alert.firing == [(180, 240)]
    times = (0, 59.9, 60, 179, 180, 299, 300, 360, 420, 1e6, -5)
    states = ["inactive"] * 2 + ["pending"] * 2 + ["firing"] * 2 + ["inactive", "pending"] + ["inactive"] * 3
    assert [alert.state_at(t) for t in times] == states
    assert (alert.active_at(200), alert.value_at(200), alert.annotations_at(200)) == (60, 0.0, {"s": "1 at 0"})
    assert (alert.active_at(0), alert.value_at(0), alert.annotations_at(0)) == (None, None, {})
    assert alert.rule.name == "Down"
    assert str(alert.rule.place).endswith("rules.yml")


def test_an_unknown_name_is_an_error():
    history = run(data(up=[1]), DOWN)
    assert history.alerts("Down") == []
    with pytest.raises(KeyError, match='no alert has the name "Dwon"; did you mean "Down"'):
        history.alerts("Dwon")


def test_series_have_what_rules_wrote():
    rule = {"record": "up:twice", "expr": "up * 2 > 0", "labels": {"l": "x"}}
    found = run(data(up=[1, 0, 2, 2]), rule, DOWN, end=180).series
    series = found.get(make({"__name__": "up:twice", "i": "1", "l": "x"}))
    assert list(series.times) == [0, 60_000, 120_000, 180_000]
    assert [None if is_stale(v) else v for v in series.values] == [2.0, None, 4.0, 4.0]
    names = {dict(one.labels)["__name__"] for one in found.series}
    assert names == {"up", "up:twice", "ALERTS", "ALERTS_FOR_STATE"}


def test_the_data_stays_as_it_was():
    series = data(up=[0, 0, 0])
    run(series, {"record": "r", "expr": "up"}, DOWN).series  # noqa: B018
    assert [dict(one.labels)["__name__"] for one in series.series] == ["up"]
    assert len(series.series[0].times) == 3


@pytest.mark.parametrize("evaluator", ["auto", "arrays", "steps"])
def test_samples_may_hold_alerts_of_a_server(evaluator):
    old = {"__name__": "ALERTS", "alertname": "Down", "alertstate": "pending", "i": "1"}
    series = Data([*data(up=[0, 0, 0]).series, Series(old, [-60_000, 0], [1.0, 1.0])])
    ruler = Ruler(groups(DOWN), engine=Engine(evaluator=evaluator))
    history = ruler.run(series, start=0, end=120, step=60)
    found = history.series.get(make(old))
    assert list(found.times) == [-60_000, 0, 60_000, 120_000]
    assert [value for value in found.values if not is_stale(value)] == [1.0, 1.0, 1.0]
    history = ruler.run(series, start=0, end=120, step=60)
    expr = 'count_over_time(ALERTS{alertstate="pending"}[5m])'
    assert [one.value for one in history.instant(parse(expr), expr, 120).samples] == [3.0]


def test_errors_are_told_and_states_stay():
    series = Data(
        [
            *data(x=[1] * 8).series,
            Series({"__name__": "y", "i": "1", "k": "a"}, list(range(0, 480_000, 60_000)), [1.0] * 8),
            Series({"__name__": "y", "i": "1", "k": "b"}, [180_000], [1.0]),
        ]
    )
    history = Ruler(groups({"alert": "Both", "expr": "x + on (i) y", "for": "1m"}), engine=Engine(lookback=60.0)).run(
        series, start=0, end=420, step=60
    )
    assert [(error.rule.name, error.time) for error in history.errors] == [("Both", 180)]
    assert "many-to-many matching not allowed" in history.errors[0].message
    (alert,) = history.alerts("Both")
    assert alert.firing == [(60, 420)]
    (told,) = [one for one in history.series.series if dict(one.labels).get("alertstate") == "firing"]
    assert 180_000 not in told.times
    assert not any(map(is_stale, told.values))


def test_a_limit_clears_and_the_alert_starts_anew():
    series = Data(
        [
            Series({"__name__": "x", "i": i}, times, [1.0] * len(times))
            for i, times in (("1", list(range(0, 480_000, 60_000))), ("2", [180_000]))
        ]
    )
    ruler = Ruler(groups({"alert": "A", "expr": "x", "for": "1m"}, limit=1), engine=Engine(lookback=60.0))
    history = ruler.run(series, start=0, end=420, step=60)
    assert [(error.time, error.message) for error in history.errors] == [(180, "exceeded limit of 1 with 2 alerts")]
    assert [(alert.firing, alert.pending) for alert in history.alerts("A")] == [
        ([(60, 120), (300, 420)], [(0, 0), (240, 240)])
    ]


LONG = {"alert": "Long", "expr": "up == 0", "for": "30m"}


def restored(active_at, last, **rule):
    """When a restarted server takes an alert to be active since, and its ALERTS in the first evaluations."""
    saved = Series({"__name__": "ALERTS_FOR_STATE", "alertname": "Long", "i": "1"}, [last * 1000], [float(active_at)])
    up = Series({"__name__": "up", "i": "1"}, list(range(0, 9_000_000, 60_000)), [0.0] * 150)
    history = Ruler(groups({**LONG, **rule}), engine=Engine()).run(
        Data([up]), start=3600, end=7200, step=60, restore=Data([saved])
    )
    (alert,) = history.alerts("Long")
    first = min(one.times[0] for one in history.series.series if dict(one.labels)["__name__"] == "ALERTS") / 1000
    return alert.active_at(3660), alert.active_at(3720), first, alert.firing


def test_for_goes_on_after_a_restart():
    # Pending for 500 s when the server went down at 3300, back for its second evaluation 360 s later.
    assert restored(2800, 3300) == (3600, 2800 + 360, 3720, [(4980, 7200)])


def test_for_that_was_nearly_over_waits_for_the_grace_period():
    # 200 s were left; it fires 10 minutes after it was restored.
    assert restored(3300 - 1600, 3300)[1] == 3660 + 600 - 1800


def test_what_fired_fires_at_once():
    active, restored_at, _, firing = restored(1000, 3300)
    assert (active, restored_at) == (3600, 1000)
    assert firing == [(3720, 7200)]


def test_nothing_is_restored_after_a_long_outage_or_for_a_short_for():
    assert restored(10, 30)[1] == 3600
    assert restored(3000, 3500, **{"for": "9m"})[1] == 3600


def test_groups_go_in_order():
    document = {
        "groups": [
            {"name": "b", "rules": [{"record": "y", "expr": "x + 1"}]},
            {"name": "a", "rules": [{"record": "x", "expr": "z"}]},
        ]
    }
    for order, expected in (((), 3.0), (("a", "b"), 4.0)):
        history = Ruler(groups_of(document), engine=Engine()).run(
            data(z=[1, 2, 3]), start=0, end=120, step=60, order=order
        )
        assert history.series.get(make({"__name__": "y", "i": "1"})).values[-1] == expected
        assert [one.rule.name for one in history.outcomes] == (["x", "y"] if order else ["y", "x"])


def test_a_template_queries_the_midst_of_an_evaluation():
    states = '{{ range query "ALERTS" }}{{ .Labels.alertstate }} {{ end }}'
    text = states + '{{ with query "r" }}{{ . | first | value }}{{ end }}'
    history = run(
        data(x=[1, 2, 3]),
        {"record": "r", "expr": "x"},
        {"alert": "A", "expr": "x", "for": "1m", "annotations": {"s": text}},
        end=120,
    )
    (alert,) = history.alerts("A")
    assert [alert.annotations_at(t)["s"] for t in (0, 60, 120)] == ["1", "pending 2", "firing 3"]


def test_what_reads_the_past_is_evaluated_together():
    made = groups(
        {"record": "a", "expr": "b"},
        {"record": "free", "expr": "x"},
        {"record": "b", "expr": "x"},
        {"record": "c", "expr": "c + 1 or x"},
        {"record": "later", "expr": "a + x offset -1m"},
        {"alert": "D", "expr": "a > 1"},
    )
    history = Ruler(made, engine=Engine()).run(data(x=[1] * 5), start=0, end=240, step=60)
    blocks = plan(history.outcomes).blocks
    assert [([one.rule.name for one in block.outcomes], block.stepped) for block in blocks] == [
        (["free"], False), (["a", "b"], True), (["c"], True), (["later"], True), (["D"], False),
    ]  # fmt: skip
    assert [one.rule.name for one in plan(history.outcomes).cyclic] == ["a", "c"]


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ({"groups": [{"name": "g", "rules": [{"alert": "A", "expr": "x +"}]}]}, "could not parse expression"),
        ({"groups": [{"rules": []}]}, "group 1 has no name"),
        ({"groups": [{"name": "g", "rules": [{"alert": "A", "expr": "x", "for": "1 day"}]}]}, "for: "),
        ({"groups": [{"name": "g", "rules": [{"expr": "x"}]}]}, "one of record and alert must be set"),
        ({"groups": [{"name": "g", "limit": "many"}]}, "limit must be a whole number"),
        ({"groops": []}, 'a rule file has no field "groops"; did you mean "groups"?'),
        ([], "a rule file is a mapping"),
    ],
)
def test_faults_of_rule_files(document, message):
    with pytest.raises(RuleError, match=message[:12]) as raised:
        groups_of(document, "f.yml")
    assert message in raised.value.faults[0].message
    assert str(raised.value.faults[0]).startswith("f.yml: ")


def test_numpy_is_not_imported_for_small_data():
    code = (
        "import sys\n"
        "from watchkeeper.engine import Data, Engine, Series\n"
        "from watchkeeper.ruler import Ruler, groups_of\n"
        "groups = groups_of({'groups': [{'name': 'g', 'rules': [{'alert': 'A', 'expr': 'x > 1'}]}]})\n"
        "data = Data([Series({'__name__': 'x'}, [0, 60000], [1.0, 2.0])])\n"
        "print(Ruler(groups, engine=Engine()).run(data, start=0, end=60, step=60).alerts('A')[0].firing)\n"
        "assert 'numpy' not in sys.modules\n"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout == "[(60.0, 60.0)]\n"
