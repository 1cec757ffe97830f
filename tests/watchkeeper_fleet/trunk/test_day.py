"""An hour of a busy repository: the short form; `run_day.py` is the long one."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).with_name("run_day.py")


@pytest.mark.parametrize("busy", [False, True], ids=["usual", "busy"])
def test_an_hour_costs_few_requests_and_a_restart_none(busy):
    shape = {"hours": 1.0, "workflows": 1, "jobs": 120, "busy": busy}
    # In a process of its own, whose memory is the exporter's.
    run = subprocess.run([sys.executable, str(SCRIPT), json.dumps(shape)], capture_output=True, text=True, check=False)
    assert run.stderr == ""
    found = json.loads(run.stdout)
    assert found["wrong"] == []
    assert run.returncode == 0
    (hour,) = found["hours"]
    assert hour["counted"] == hour["200"]
    assert found["polls"] == 12
