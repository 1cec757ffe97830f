"""Trunk: red for three commits in a row, or two; and an exporter that sees nothing any more."""

from watchkeeper_fleet.alerts.trunk import BADLY_BROKEN, BROKEN, STALE
from watchkeeper_fleet.metrics.trunk import JOBS_FAILING, LAST_SUCCESS

LABELS = {"job": "watchkeeper-trunk", "instance": "t1", "repository": "pytorch/pytorch", "branch": "main"}


def failing(one, two, three):
    counts = zip("123", (one, two, three), strict=True)
    return {JOBS_FAILING.where(commits=commits): values for commits, values in counts}


def test_a_few_jobs(pack):
    run = pack.run(failing("3x30", "3x30", "0x5 3x25"), labels=LABELS, interval="1m")
    run.fires(BROKEN, first="11m", summary="3 blocking jobs of pytorch/pytorch are red for 3 commits in a row")
    run.silent(BADLY_BROKEN)


def test_jobs_that_are_red_on_one_commit_only(pack):
    # A bad commit that was reverted with the next.
    pack.run(failing("20x30", "20x30", "0x30"), labels=LABELS, interval="1m").silent(BROKEN)


def test_many_jobs(pack):
    run = pack.run(failing("14x30", "14x30", "0x5 14x25"), labels=LABELS, interval="1m")
    run.fires(BADLY_BROKEN, first="11m", summary="14 blocking jobs", labels={"team": "pytorch-dev-infra"})
    # Not both: the one says what the other says, only louder.
    run.silent(BROKEN)


def test_five_jobs_are_a_few(pack):
    pack.run(failing("5x30", "5x30", "5x30"), labels=LABELS, interval="1m").silent(BADLY_BROKEN)


def test_a_trunk_that_recovers(pack):
    run = pack.run(failing("14x40", "14x40", "14x20 0x25"), labels=LABELS, interval="1m")
    run.resolves(BADLY_BROKEN, at="31m")


def test_nothing_is_known(pack):
    run = pack.run({LAST_SUCCESS: "0+60x10 600x40"}, labels=LABELS, interval="1m")
    run.fires(STALE, first="41m", summary="since 31m 0s")


def test_a_slow_hour_of_the_api(pack):
    # A poll succeeds every 20 minutes.
    run = pack.run({LAST_SUCCESS: [60.0 * (i - i % 20) for i in range(90)]}, labels=LABELS, interval="1m")
    run.silent(STALE)
