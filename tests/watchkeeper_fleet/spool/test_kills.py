"""Writers killed at any point: the short form; `run_kills.py` is the long one. In a process of its own, which forks."""

import subprocess
import sys
from pathlib import Path

KILLS = 50


def test_killed_writers_leave_whole_records():
    command = [sys.executable, str(Path(__file__).with_name("run_kills.py")), str(KILLS)]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
    assert f"kills: {KILLS}" in run.stdout
    assert "records alive: 0" not in run.stdout
