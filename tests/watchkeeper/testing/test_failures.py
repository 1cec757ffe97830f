"""What a failure shows: why an alert was silent, and a picture of it over time."""

import pytest

from watchkeeper import testing

LABELS = {"instance": "i1", "rack": "r1"}
FAN = {**LABELS, "fan": "1"}


def test_the_picture(bench, acme, failed):
    run = bench.run({acme.ERRORS: "0x8 0+9x3 30+15x6 120x20"}, labels=LABELS)
    assert failed(run.fires, acme.FAILING, first="2m") == (
        "AcmeFailing first fires at 4m30s, not at 2m\n"
        '  fires 4m30s to 4m45s: {alertname="AcmeFailing", instance="i1", rack="r1", severity="warning", team="acme"}\n'
        "  rack:acme_errors:irate1m > 0.5\n"
        '  {alertname="AcmeFailing", instance="i1", rack="r1", severity="warning", team="acme"}\n'
        "    value  ·▁▁▁▁▁▁▁▁▁▅▅▅▂██████▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁  0 to 1; it takes > 0.5\n"
        "    state  ··········ppp·ppppFF·····················  p pending, F firing\n"
        "           |                 |                 |\n"
        "           0s                4m30s             9m\n"
        "           one character is 15s"
    )


def lines(message):
    return [line.strip() for line in message.split("\n")]


def why(message):
    return [line.removeprefix("why: ") for line in lines(message) if line.startswith("why: ")]


def test_nothing_of_the_name(bench, acme, failed):
    run = bench.run({acme.READY: "1x20"}, labels={"instance": "i1"})
    assert why(failed(run.fires, acme.COLD)) == ["no series matches acme_load; there is no acme_load at all"]


def test_others_of_the_name(bench, acme, failed):
    run = bench.run({acme.LOAD: "9x20"}, labels=FAN)
    assert why(failed(run.fires, acme.EITHER)) == [
        'no series matches acme_load{fan="9"}; there is acme_load{fan="1", instance="i1", rack="r1"}',
        "no series matches acme_ready; there is no acme_ready at all",
    ]


def test_below_the_threshold(bench, acme, failed):
    run = bench.run({acme.ERRORS: "0+3x10 30x10"}, labels=LABELS)
    assert why(failed(run.fires, acme.FAILING)) == [
        (
            'below the threshold: the maximum of rack:acme_errors:irate1m is 0.2 at 15s {instance="i1", rack="r1"}, '
            "and it takes > 0.5"
        )
    ]


def test_above_the_threshold(bench, acme, failed):
    run = bench.run({acme.LOAD: "0.5 0.3 0.2 0.4"}, labels=FAN)
    assert why(failed(run.fires, acme.COLD)) == [
        (
            'above the threshold: the minimum of acme_load is 0.2 at 30s {fan="1", instance="i1", rack="r1"}, '
            "and it takes < 0.1"
        )
    ]


def test_a_threshold_on_the_left(failed):
    rules = {"groups": [{"name": "g", "rules": [{"alert": "Low", "expr": "0.5 > a"}]}]}
    message = failed(testing.run(rules, "a 3 2 4").fires, "Low")
    assert why(message) == ["above the threshold: the minimum of a is 2 at 15s {}, and it takes < 0.5"]
    assert "value  ▆▄█  2 to 4; it takes < 0.5" in lines(message)


def test_never_equal(bench, acme, failed):
    run = bench.run({acme.READY: "1 5 6 2"}, labels={"instance": "i1"})
    assert why(failed(run.fires, acme.EITHER))[1] == (
        'off the threshold: the nearest of acme_ready is 6 at 30s {instance="i1"}, and it takes == 7'
    )


def test_a_threshold_that_is_a_series(bench, acme, failed):
    run = bench.run({acme.LOAD: "1+1x5", acme.LIMIT: "9x5", acme.READY: "1x5"}, labels=FAN)
    message = failed(run.fires, acme.LOADED)
    assert why(message) == [
        (
            'below the threshold: the maximum of acme_load is 6 at 1m15s {fan="1", instance="i1", rack="r1"}, '
            "and it takes > acme_load_limit"
        )
    ]
    assert "value  ▁▂▃▄▅▆  1 to 6; it takes > 9" in lines(message)


def test_a_threshold_that_moves_is_a_row_of_its_own(bench, acme, failed):
    run = bench.run({acme.LOAD: "1+1x5", acme.LIMIT: "9-0.5x5", acme.READY: "1x5"}, labels=FAN)
    shown = lines(failed(run.fires, acme.LOADED))
    assert "value  ▁▂▃▄▅▆  1 to 6" in shown
    assert "limit  ███▇▇▆  6.5 to 9" in shown


def test_the_other_side_of_and(bench, acme, failed):
    run = bench.run({acme.LOAD: "9x5", acme.LIMIT: "1x5", acme.READY: "0x5"}, labels=FAN)
    assert why(failed(run.fires, acme.LOADED)) == [
        (
            'the `and` side gives nothing: off the threshold: the nearest of acme_ready is 0 at 0s {instance="i1"}, '
            "and it takes == 1"
        )
    ]


def test_sides_that_never_meet(bench, acme, failed):
    series = {acme.LOAD: "9x5", acme.LIMIT: "1x5", acme.READY.where(instance="i2"): "1x5"}
    message = failed(bench.run(series, labels=FAN).fires, acme.LOADED)
    assert why(message) == [
        "both sides of `and` give something, never at the same time with labels that match",
        (
            "  left: acme_load > on (instance, rack) group_left () acme_load_limit has "
            '{fan="1", instance="i1", rack="r1"} from 0s to 1m15s'
        ),
        '  right: acme_ready == 1 has {instance="i2"} from 0s to 1m15s',
    ]


def test_taken_away_by_unless(bench, acme, failed):
    run = bench.run({acme.ERRORS: "1x5", acme.READY: "1x5"}, labels=LABELS)
    assert why(failed(run.fires, acme.QUIET)) == [
        "all of acme_errors_total > 0 is taken away by `unless` acme_ready == 1"
    ]


def test_there_all_the_time(bench, acme, failed):
    run = bench.run({acme.READY: "1x5"}, labels={"instance": "i1"})
    assert why(failed(run.fires, acme.GONE)) == ["absent(acme_ready) gives nothing"]


def test_a_range_with_too_few_samples(bench, acme, failed):
    run = bench.run({acme.ERRORS: "0+9x5"}, labels=LABELS, interval="2m")
    assert why(failed(run.fires, acme.FAILING)) == [
        (
            "rack:acme_errors:irate1m is not recorded: acme_errors_total[1m] never holds the samples that its function "
            "needs (two, as a rule)"
        )
    ]


def test_pending_for_too_short(bench, acme, failed):
    run = bench.run({acme.ERRORS: "0x8 0+15x3 45x20"}, labels=LABELS)
    assert why(failed(run.fires, acme.FAILING)) == [
        "was pending for only 30s of 1m, from 2m30s to 3m: then its expression gave nothing more"
    ]
    run = bench.run({acme.ERRORS: "0x8 0+15x3"}, labels=LABELS)
    assert why(failed(run.fires, acme.FAILING)) == [
        "was pending for only 30s of 1m, from 2m30s to 3m: then the run ended"
    ]


def test_other_labels(bench, acme, failed):
    run = bench.run({acme.ERRORS: "0+15x20"}, labels=LABELS)
    message = failed(run.fires, acme.FAILING, labels={"rack": "r2"})
    assert why(message) == ['no alert has the labels {rack="r2"}']
    assert '{alertname="AcmeFailing", instance="i1", rack="r1", severity="warning", team="acme"} fires' in lines(
        message
    )


def test_a_part_that_fails(failed):
    rules = {"groups": [{"name": "g", "rules": [{"alert": "Odd", "expr": "c > 1 and (a * on (x) b)"}]}]}
    run = testing.run(rules, 'c 0x5\na{x="1"} 1x5\nb{x="1",y="1"} _x9 1\nb{x="1",y="2"} _x9 1', until="1m")
    assert why(failed(run.fires, "Odd"))


def test_many_are_cut_short(bench, acme, failed):
    run = bench.run({acme.LOAD: [f'{{fan="{fan}"}} 0.0{fan}x9' for fan in range(1, 8)]}, labels=LABELS)
    message = failed(run.silent, acme.COLD)
    assert message.count("state  ") == 3
    assert "and 4 more" in lines(message)


def test_long_runs_fit_the_line(bench, acme, failed):
    run = bench.run({acme.LOAD: "0.5x500 0.05x3 0.5x500"}, labels=FAN)
    message = failed(run.silent, acme.COLD)
    assert max(map(len, message.split("\n")[4:])) < 120
    assert "one character is 3m30s" in lines(message)
    # Four evaluations of a thousand, and the kept ones, are not lost in the picture.
    assert "F" in next(line for line in lines(message) if line.startswith("state"))


@pytest.mark.parametrize("values", ["NaN NaN NaN", "+Inf -Inf 1", "1e300 -1e300 0"])
def test_odd_values_can_be_drawn(bench, acme, failed, values):
    run = bench.run({acme.LOAD: values}, labels=FAN)
    assert run.timeline(acme.COLD).count("\n") > 3
    failed(run.fires, acme.COLD)


def test_histograms_can_be_drawn(failed):
    rules = {"groups": [{"name": "g", "rules": [{"alert": "Any", "expr": "h"}]}]}
    run = testing.run(rules, {"h": "{{schema:0 sum:5 count:4 buckets:[1 2 1]}}x4"})
    assert failed(run.silent, "Any").startswith("Any fires, from 0s to 1m")


def test_an_alert_without_series(bench, acme):
    run = bench.run({acme.READY: "1x5"}, labels={"instance": "i1"})
    assert run.timeline(acme.COLD) == ""
    run.silent(acme.GONE)
