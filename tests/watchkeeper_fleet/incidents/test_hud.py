"""The HUD alert of 24 November: 14 blocking jobs red on three commits."""

import datetime as dt

import pytest

from watchkeeper_fleet.alerts.trunk import BADLY_BROKEN, BROKEN, STALE
from watchkeeper_fleet.incidents import hud


def at(seconds):
    return hud.OCCURRED + dt.timedelta(seconds=seconds)


@pytest.fixture
def run(pack):
    return pack.run(hud.incident(), every="1m")


def test_it_fires_when_it_did(run):
    run.fires(
        BADLY_BROKEN,
        first=hud.OCCURRED,
        count=1,
        labels={"team": "pytorch-dev-infra", "priority": "P1", "severity": "critical"},
        summary="14 blocking jobs of pytorch/pytorch are red for 3 commits in a row",
        description="which usually indicates an infrastructure failure",
    )


def test_it_is_one_alert_and_not_two(run):
    run.silent(BROKEN)


def test_flaky_jobs_in_the_hours_before_alarm_nobody(run):
    run.silent(BADLY_BROKEN, until=hud.OCCURRED)
    run.nothing_fires(until=hud.OCCURRED, but=["Watchdog", "ExporterDown"])


def test_it_resolves_after_a_green_commit(run):
    # 10 minutes of keep_firing_for.
    run.resolves(BADLY_BROKEN, at=at(hud.GREEN + 600))


def test_the_exporter_was_not_blind(run):
    run.silent(STALE)


@pytest.mark.parametrize("phase", [0, 20, 40])
def test_in_every_phase_within_a_minute(pack, phase):
    run = pack.run(hud.incident(phase=phase), every="1m")
    run.fires(BADLY_BROKEN, by=at(60))
