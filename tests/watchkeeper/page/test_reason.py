"""The reason of an alert: an annotation that is checked as the others are."""

from watchkeeper import Alert, Gauge, Group, Pack, Severity
from watchkeeper.building import build
from watchkeeper.settings import Settings

JOBS = Gauge("trunk_jobs_failing", "Jobs that fail.", labels=("repository",))


def findings(tmp_path, **fields):
    alert = Alert("X", expr=f"sum({JOBS}) > 5", severity=Severity.WARNING, team="ci", summary="Jobs fail", **fields)
    _, found = build(Pack([JOBS], [Group("g", [alert])]), Settings(root=tmp_path))
    return [(one.check, one.message) for one in found]


def test_a_label_that_is_not_there(tmp_path):
    assert not [one for one in findings(tmp_path, reason="Failing={{ $value }}") if "reason" in one[1]]
    (found,) = [one for one in findings(tmp_path, reason="{{ $labels.repository }}") if "reason" in one[1]]
    assert found[0] == "template/label"


def test_a_template_that_is_none(tmp_path):
    assert [one for one in findings(tmp_path, reason="{{ $value | nope }}") if one[0] == "alert/template"]


def test_it_is_said_once(tmp_path):
    (found,) = [one for one in findings(tmp_path, reason="a", annotations={"reason": "b"}) if "reason" in one[1]]
    assert found[1].endswith('annotation "reason" is made from the definition')
