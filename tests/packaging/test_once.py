"""What the tests share is made once in a run, though its files run in several processes."""

import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]

SOURCE = """
import time
import pytest
from conftest import once

@pytest.fixture(scope="session")
def made(tmp_path_factory, request):
    def make(folder):
        with (request.config.rootpath / "log").open("a") as log:
            log.write("made\\n")
        assert {first} or (request.config.rootpath / "log").read_text() != "made\\n", "the first time it fails"
        time.sleep(1)
        (folder / "it").write_text("whole")
    return once(tmp_path_factory, "it", make)

def test_it(made):
    time.sleep(0.5)  # so that another process takes the other file
    assert (made / "it").read_text() == "whole"
"""


@pytest.mark.parametrize("processes", ["0", "2"])
@pytest.mark.parametrize("first", [True, False], ids=["made", "failed first"])
def test_it_is_made_once(tmp_path, processes, first):
    (tmp_path / "conftest.py").write_bytes((TESTS / "conftest.py").read_bytes())
    (tmp_path / "skips.txt").touch()
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    for name in ("test_a.py", "test_b.py"):
        (tmp_path / name).write_text(SOURCE.replace("{first}", str(first)))
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", processes, "--dist", "loadfile"]
    run = subprocess.run(command, cwd=tmp_path, env={}, capture_output=True, text=True, check=False)
    made = (tmp_path / "log").read_text().count("made")
    if first:
        assert (run.returncode, made) == (0, 1), run.stdout
    else:
        assert "1 error" in run.stdout
        assert made == 2, run.stdout
