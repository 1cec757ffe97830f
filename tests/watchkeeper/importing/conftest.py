import subprocess
import sys
from pathlib import Path

import pytest

from watchkeeper.importing.literals import WIDTH


@pytest.fixture(scope="session")
def reformatted():
    """Return a function that returns what ruff would change in a module."""

    def run(path):
        ruff = Path(sys.executable).with_name("ruff")
        command = [ruff, "format", "--isolated", "--no-cache", f"--line-length={WIDTH}", "--diff", path]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode in (0, 1), done.stderr
        return done.stdout

    return run
