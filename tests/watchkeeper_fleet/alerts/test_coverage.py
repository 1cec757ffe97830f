"""Every alert of the pack has a test in which it fires and one in which it is silent: those of this folder show it.

The tests run once more, in a process of their own, so that the answer does not depend on which tests were chosen.
"""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]


def test_every_alert_fires_in_one_test_and_is_silent_in_another():
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--alert-coverage-fail"]
    here = Path(__file__)
    # Those that hold the whole pack against others' evaluation assert no alert of their own, and take their time.
    others = [f"--ignore={here.with_name(f'test_{name}.py')}" for name in ("server", "promtool", "compressed")]
    environment = {key: value for key, value in os.environ.items() if not key.startswith("PYTEST_")}
    run = subprocess.run(
        [*command, f"--ignore={here}", *others, str(here.parent)],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stdout + run.stderr
    assert "41 of 41 alerts have a firing and a silent test (100 %)" in run.stdout
