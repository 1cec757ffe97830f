"""Assertions about a run: what passes, what fails, and what is no question at all."""

import datetime as dt
import math
import re

import pytest

from watchkeeper import contract, testing

LABELS = {"instance": "i1", "job": "acme", "rack": "r1"}
UTC = dt.timezone.utc


@pytest.fixture
def failing(bench, acme):
    """One error a second from 2m on to 5m; AcmeFailing is pending at 2m30s and fires at 3m30s."""
    return bench.run({acme.ERRORS: "0x8 0+15x12 180x20"}, labels=LABELS)


def test_it_fires(failing, acme):
    alert = failing.fires(acme.FAILING)
    assert alert.labels["rack"] == "r1"
    assert failing.fires("AcmeFailing").labels == alert.labels


@pytest.mark.parametrize(
    "asked",
    [
        {"first": "3m30s"},
        {"first": 210},
        {"by": "3m30s"},
        {"by": "5m"},
        {"by": "1h"},
        {"at": "4m"},
        {"labels": {"rack": "r1", "severity": "warning"}},
        {"labels": {"rack": contract.re("r.")}},
        {"labels": {"rack": contract.not_("r2"), "instance": contract.not_(contract.re("x.*"))}},
        {"labels": {"rack": re.compile("1$")}},
        {"labels": {"fan": ""}},
        {"summary": "Rack r1"},
        {"summary": re.compile(r"^Rack r\d: 1$")},
        {"description": "i1 fails", "count": 1},
        {"annotations": {"description": "fails"}},
        {"exact": True, "labels": {"rack": "r1", "instance": "i1", "severity": "warning", "team": "acme"}},
        {"exact": True, "summary": "Rack r1: 1", "description": "i1 fails"},
    ],
)
def test_it_fires_as_asked(failing, acme, asked):
    failing.fires(acme.FAILING, **asked)


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"first": "3m"}, "AcmeFailing first fires at 3m30s, not at 3m"),
        ({"by": "3m15s"}, "AcmeFailing first fires at 3m30s, not by 3m15s"),
        ({"at": "3m"}, "AcmeFailing does not fire at 3m"),
        ({"labels": {"rack": "r2"}}, 'AcmeFailing with {rack="r2"} does not fire'),
        ({"labels": {"rack": contract.re("r")}}, 'AcmeFailing with {rack="r"} does not fire'),
        ({"labels": {"rack": "r1"}, "exact": True}, 'AcmeFailing with {rack="r1"} does not fire'),
        ({"count": 2}, "AcmeFailing 1 fire, not 2"),
    ],
)
def test_it_does_not_fire_as_asked(failing, acme, failed, asked, message):
    assert failed(failing.fires, acme.FAILING, **asked).startswith(message)


@pytest.mark.parametrize(
    ("asked", "lines"),
    [
        ({"summary": "Rack r2"}, ["summary: Rack r1: 1", '"Rack r2" is not in it']),
        ({"summary": "Rack r1", "exact": True}, ["summary: Rack r1: 1", '"Rack r1" is wanted']),
        ({"description": re.compile("i2")}, ["description: i1 fails", "/i2/ is not in it"]),
        ({"annotations": {"runbook_url": "x"}}, ["runbook_url: there is none"]),
    ],
)
def test_it_fires_with_another_text(failing, acme, failed, asked, lines):
    message = failed(failing.fires, acme.FAILING, **asked)
    assert message.startswith("AcmeFailing fires, with another text")
    for line in lines:
        assert line in message


def test_texts_are_those_of_the_time_asked_for(bench, acme):
    run = bench.run({acme.LOAD: "0.05 0.05 0.05 0.04 0.03 0.02 1x20"}, labels={**LABELS, "fan": "1"})
    run.fires(acme.COLD, first="30s", summary="r1: 0.05")
    run.fires(acme.COLD, at="1m15s", summary="r1: 0.02")
    # Kept by keep_firing_for, with the last value that there was.
    run.fires(acme.COLD, at="2m", summary="r1: 0.02")


def test_of_several_one_is_enough_for_a_text(bench, acme):
    series = {acme.LOAD: ['{fan="1"} 0.01x20', '{fan="2"} 0.02x20']}
    run = bench.run(series, labels=LABELS)
    alert = run.fires(acme.COLD, summary="0.02", count=2)
    assert alert.labels["fan"] == "2"


def test_it_is_silent(failing, acme):
    failing.silent(acme.FAILING, until="3m30s")
    failing.silent(acme.FAILING, after="7m")
    failing.silent(acme.FAILING, labels={"rack": "r2"})


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({}, "AcmeFailing fires, from 3m30s to 5m15s"),
        ({"until": "4m"}, "AcmeFailing fires, from 3m30s to 3m59s999ms"),
        ({"after": "5m"}, "AcmeFailing fires, from 5m to 5m15s"),
    ],
)
def test_it_is_not_silent(failing, acme, failed, asked, message):
    assert failed(failing.silent, acme.FAILING, **asked).startswith(message)


def test_silent_for_want_of_data_shows_nothing(bench, acme, failed):
    run = bench.run({acme.LOAD: "1x20"}, labels={**LABELS, "fan": "1"})
    message = failed(run.silent, acme.FAILING)
    assert "no series matches rack:acme_errors:irate1m, acme_errors_total[1m]" not in message
    assert "is silent for want of data: no series matches rack:acme_errors:irate1m, acme_errors_total" in message
    assert "there are series of: acme_load" in message
    run.silent(acme.FAILING, without_data=True)


def test_silent_for_a_matcher_is_silent(bench, acme):
    bench.run({acme.LOAD: "9x20"}, labels={**LABELS, "fan": "1"}).silent(acme.EITHER)


def test_it_resolves(failing, acme):
    failing.resolves(acme.FAILING)
    failing.resolves(acme.FAILING, at="5m30s")
    failing.resolves(acme.FAILING, by="6m", labels={"rack": "r1"})


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"at": "6m"}, "AcmeFailing resolves at 5m30s, not at 6m"),
        ({"by": "5m"}, "AcmeFailing resolves at 5m30s, not by 5m"),
        ({"labels": {"rack": "r2"}}, 'AcmeFailing with {rack="r2"} does not fire, so it can\'t resolve'),
    ],
)
def test_it_does_not_resolve_as_asked(failing, acme, failed, asked, message):
    assert failed(failing.resolves, acme.FAILING, **asked).startswith(message)


def test_it_never_resolves(bench, acme, failed):
    run = bench.run({acme.ERRORS: "0+15x40"}, labels=LABELS)
    assert failed(run.resolves, acme.FAILING).startswith("AcmeFailing still fires at the end of the run")


def test_it_fires_again(bench, acme, failed):
    run = bench.run({acme.LOAD: "0x10 1x20 0x10"}, labels={**LABELS, "fan": "1"})
    run.resolves(acme.COLD, at="3m45s")
    assert failed(run.resolves, acme.COLD).startswith("AcmeCold fires again at the end of the run")


def test_it_waits(failing, acme, failed):
    failing.pending(acme.FAILING, first="2m30s", by="3m", at="3m15s", labels={"rack": "r1"})
    assert failed(failing.pending, acme.FAILING, at="4m").startswith("AcmeFailing is not pending at 4m")
    assert failed(failing.pending, acme.FAILING, first="3m").startswith("AcmeFailing is first pending at 2m30s, not at")
    assert failed(failing.pending, acme.FAILING, labels={"rack": "x"}).startswith(
        'AcmeFailing with {rack="x"} is never'
    )


def test_nothing_fires(failing, acme, failed):
    failing.nothing_fires(labels={"severity": "critical"}, but=[acme.GONE])
    failing.nothing_fires(until="3m30s", but=["AcmeQuiet", acme.GONE])
    message = failed(failing.nothing_fires, but=["AcmeQuiet", "AcmeGone"])
    assert message.startswith("AcmeFailing fires\n  3m30s  AcmeFailing {")


def test_what_fires_in_order(failing):
    found = [(failing.told(since), name) for since, name, _ in failing.firing()]
    assert found == [("0s", "AcmeGone"), ("2m30s", "AcmeQuiet"), ("3m30s", "AcmeFailing")]
    assert [name for _, name, _ in failing.firing(after="3m", until="3m30s")] == ["AcmeQuiet", "AcmeGone"]
    failing.nothing_fires(labels={"severity": "critical"})


def test_values(failing):
    assert failing.value("rack:acme_errors:irate1m", "4m") == 1
    assert failing.value("count(ALERTS)", "4m") == pytest.approx(3)
    assert failing.value("scalar(rack:acme_errors:irate1m) + 1", "4m") > 1.5
    assert failing.values("rack:acme_errors:irate1m * 2", "4m") == {'{instance="i1", rack="r1"}': 2.0}
    assert failing.values("nothing", "4m") == {}
    with pytest.raises(LookupError, match="nothing gives 0 samples at 4m: none"):
        failing.value("nothing", "4m")
    with pytest.raises(LookupError, match="gives 3 samples at 4m: ALERTS"):
        failing.value("ALERTS", "4m")


def test_a_value_is_an_assertion_once_it_is_compared(bench, acme):
    run = bench.run({acme.ERRORS: "0+15x40"}, labels=LABELS)
    value = run.value("rack:acme_errors:irate1m", "4m")
    assert not run.asserted
    assert math.isclose(value, 1.0)
    assert not run.asserted
    assert value != 2
    assert run.asserted
    assert (value < 2, value <= 1, value >= 1, value > 0) == (True,) * 4
    assert len({value, 1.0}) == 1


@pytest.mark.parametrize("name", ["AcmeFailin", "acmefailing"])
@pytest.mark.parametrize("assertion", ["fires", "silent", "resolves", "pending", "timeline"])
def test_unknown_alerts_are_errors(failing, assertion, name):
    with pytest.raises(testing.UnknownNameError, match=f'there is no alert "{name}"; did you mean "AcmeFailing"?'):
        getattr(failing, assertion)(name)
    failing.resolves("AcmeFailing")


def test_an_alert_that_was_taken_out(acme):
    pack = acme.PACK.without("AcmeCold", reason="no winter here")
    run = testing.run(pack, {acme.LOAD: "0x9"})
    with pytest.raises(testing.UnknownNameError, match=r"removed at .*test_runs.py:\d+, no winter here"):
        run.fires(acme.COLD)


def test_times_outside_of_the_run_are_errors(failing, acme):
    for asked in ({"first": "1h"}, {"at": "1h"}):
        with pytest.raises(ValueError, match="1h is not in the run, whose last evaluation is at 10m30s"):
            failing.fires(acme.FAILING, **asked)
    with pytest.raises(ValueError, match="until: 1h is not in the run"):
        failing.silent(acme.FAILING, until="1h")
    with pytest.raises(ValueError, match="nothing is evaluated between 4m and 3m"):
        failing.silent(acme.FAILING, after="4m", until="3m")
    with pytest.raises(ValueError, match='first: "4 minutes" is not a duration'):
        failing.fires(acme.FAILING, first="4 minutes")


def test_a_rule_that_fails_proves_nothing(failed):
    rules = {"groups": [{"name": "g", "rules": [{"alert": "Twice", "expr": "a * on (x) b"}]}]}
    run = testing.run(rules, 'a{x="1"} 1x9\nb{x="1",y="1"} _x4 1x5\nb{x="1",y="2"} _x4 1x5')
    for assertion in (run.silent, run.fires):
        message = failed(assertion, "Twice")
        assert message.startswith("rule Twice fails at 1m: found duplicate series for the match group")
        assert "(and " in message


def test_recorded_data_has_a_clock(acme):
    start = dt.datetime(2023, 10, 24, 3, 12, 1, tzinfo=UTC)
    lines = "".join(f'acme_ready{{instance="i1"}} 1 {start.timestamp() + 15 * i:.0f}\n' for i in range(20))
    text = f"# TYPE acme_ready gauge\n{lines}# EOF\n"
    data = read(text)
    run = testing.run(acme.PACK, data, until="10m")
    run.fires(acme.GONE, first=start + dt.timedelta(minutes=9, seconds=45))
    assert run.told(run.start) == "0s (03:12:01)"
    with pytest.raises(ValueError, match="has no time zone"):
        run.silent(acme.GONE, until=dt.datetime(2023, 10, 24, 3, 13))  # noqa: DTZ001 - that is the point


def read(text):
    import io

    from watchkeeper.engine.read import read as read_

    return read_(io.BytesIO(text.encode()), path="x.om")


def test_every_since_until(bench, acme):
    run = bench.run({acme.ERRORS: "0+15x40"}, labels=LABELS, every="1m", since="30s", until="9m")
    assert (run.start, run.step, run.end) == (30_000, 60_000, 570_000)
    run.fires(acme.FAILING, first="1m", at="9m")
    with pytest.raises(ValueError, match="nothing is evaluated between 1h and None"):
        bench.run({acme.ERRORS: "0+15x40"}, labels=LABELS, since="1h")
    with pytest.raises(ValueError, match="every: it must be longer than nothing"):
        bench.run({acme.ERRORS: "0+15x40"}, labels=LABELS, every=0)


def test_only_what_an_assertion_needs_is_evaluated(bench, acme):
    run = bench.run({acme.ERRORS: "0+15x40"}, labels=LABELS)
    run.fires(acme.FAILING)
    assert [rule.name for group in bench.closure("AcmeFailing") for rule in group.rules] == [
        "rack:acme_errors:irate1m",
        "AcmeFailing",
    ]
    assert run.history_of("AcmeFailing").names == ["AcmeFailing"]
    assert len(run.history.names) == 6


def test_rules_that_read_alerts_need_all():
    rules = {
        "groups": [
            {
                "name": "g",
                "rules": [
                    {"alert": "Cause", "expr": "a > 0"},
                    {"alert": "Follows", "expr": 'ALERTS{alertname="Cause"} == 1'},
                ],
            }
        ]
    }
    testing.run(rules, "a 0x4 1x5").fires("Follows", first="1m15s")


def test_two_rules_of_one_name(failed):
    one = {"alert": "Full", "labels": {"severity": "warning"}, "expr": "a > 1"}
    two = {"alert": "Full", "labels": {"severity": "critical"}, "expr": "a > 5"}
    run = testing.run({"groups": [{"name": "g", "rules": [one, two]}]}, "a 0+1x9")
    run.fires("Full", labels={"severity": "warning"}, first="30s")
    run.fires("Full", labels={"severity": "critical"}, first="1m30s")
    assert failed(run.fires, "Full", count=3).startswith("Full 2 fire, not 3")


def test_older_prometheus_counts_both_ends_of_a_range():
    rules = {"groups": [{"name": "g", "rules": [{"alert": "Five", "expr": "count_over_time(a[1m]) == 5"}]}]}
    testing.run(rules, "a 0x9", compat="2").fires("Five", first="1m")
    testing.run(rules, "a 0x9").silent("Five")
