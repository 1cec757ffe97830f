"""An unchanged run does nothing; and each input that changes makes it a whole run again."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from watchkeeper.cache import Cache, Recorder

DEFINITIONS = """
import json, os
from pathlib import Path
from watchkeeper import Group, Pack, Recording
import parts.one

HERE = Path(__file__).parent
LIMIT = json.loads((HERE / "limit.json").read_text())
(HERE / "runs").open("a").write("x")   # tells each whole run
try:
    (HERE / "absent").read_text()
except OSError:
    pass
try:
    import extra
except ImportError:
    pass
os.chdir(HERE / "boards")
try:
    open("../boards/relative.txt").close()
    open("update", "r+").close()
finally:
    os.chdir(HERE)

def dashboard(pack):
    os.listdir(HERE / "boards")
    return {"uid": "board", "title": (HERE / "title.txt").read_text()}

PACK = Pack(groups=(Group("g", [Recording("job:up:sum", f"sum by (job) (up) > {LIMIT}")]),), dashboards=(dashboard,))
OTHER = PACK
"""


@pytest.fixture
def project(tmp_path):
    (tmp_path / "pyproject.toml").write_text('[tool.watchkeeper]\ndefinitions = "defs:PACK"\n')
    (tmp_path / "defs.py").write_text(DEFINITIONS)
    (tmp_path / "limit.json").write_text("1")
    (tmp_path / "title.txt").write_text("Board")
    (tmp_path / "runs").write_text("")
    (tmp_path / "boards").mkdir()
    (tmp_path / "boards/relative.txt").write_text("")
    (tmp_path / "boards/update").write_text("")
    (tmp_path / "path").mkdir()
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts/one.py").write_text("A = 1\n")
    time.sleep(0.1)  # what is younger than the run is not trusted
    assert run(tmp_path) == 1
    return tmp_path


def run(project, *arguments, code=0, folder=None, **environment):
    """Run generate, and return how many whole runs there were so far."""
    done = subprocess.run(
        [Path(sys.executable).with_name("watchkeeper"), "generate", *arguments],
        cwd=folder or project,
        env={
            **{k: v for k, v in os.environ.items() if k != "PYTEST_CURRENT_TEST"},
            "PYTHONPATH": str(project / "path"),
            **environment,
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == code, done.stderr
    if not code:
        assert "unchanged" in done.stderr
    return len((project / "runs").read_text())


def rewrite(path):
    path.write_text(path.read_text() + " ")


CHANGES = {
    "a file that a definition reads": lambda p: (p / "limit.json").write_text("2"),
    "a file that a dashboard reads": lambda p: (p / "title.txt").write_text("Other"),
    "the definitions": lambda p: (p / "defs.py").write_text(DEFINITIONS + "\n"),
    "a module that they import": lambda p: (p / "parts/one.py").write_text("A = 2\n"),
    "the same bytes written again": lambda p: (p / "parts/one.py").write_text("A = 1\n"),
    "a new file in a folder that is listed": lambda p: (p / "boards/new.json").write_text("{}"),
    "the settings": lambda p: rewrite(p / "pyproject.toml"),
    "a generated file that is gone": lambda p: (p / "rules/g.yaml").unlink(),
    "the manifest that is gone": lambda p: [
        (p / n).unlink() for n in ("watchkeeper.manifest", "rules/g.yaml", "dashboards/board.json")
    ],
    "a file that was not there": lambda p: (p / "absent").write_text(""),
    "a module that was not there, in a folder listed before": lambda p: (p / "path/extra.py").write_text(""),
    "a file read from another working directory": lambda p: rewrite(p / "boards/relative.txt"),
    "a file opened for update": lambda p: rewrite(p / "boards/update"),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_each_input_and_output_counts(project, change):
    change(project)
    assert run(project) == 2


def test_unchanged_stays_unchanged(project):
    assert run(project) == 1
    (project / "limit.json").write_text("2")
    time.sleep(0.1)
    assert run(project) == 2
    assert run(project) == 2


@pytest.mark.parametrize(
    ("arguments", "environment"),
    [
        ((), {"TEAM": "other"}),
        ((), {"PYTHONPATH": "elsewhere"}),
        ((), {"LINES": "7", "COLUMNS": "7"}),
        (("--definitions", "defs:OTHER"), {}),
        (("--out", "elsewhere"), {}),
    ],
)
def test_what_is_said_on_the_command_line_and_in_the_environment_counts(project, arguments, environment):
    assert run(project, *arguments, **environment) == 2


def test_a_hand_edit_is_noticed(project):
    (project / "rules/g.yaml").write_text("edited")
    assert run(project, code=1) == 2


def test_check_profits_too_and_trusts_no_edit(project):
    assert run(project, "--check") == 1
    (project / "limit.json").write_text("2")
    assert run(project, "--check", code=1) == 2


@pytest.mark.parametrize("text", ["", "{", "[]", '{"key": 1}', "\x00"])
def test_a_record_that_is_none_is_not_believed(project, text):
    (record,) = (project / ".watchkeeper_cache").glob("*.json")
    record.write_text(text)
    assert run(project) == 2


def test_the_record_is_out_of_gits_sight(project):
    subprocess.run(["git", "init", "-q"], cwd=project, check=True)
    status = subprocess.run(["git", "status", "--short"], cwd=project, capture_output=True, text=True, check=True)
    assert ".watchkeeper_cache" not in status.stdout


def test_a_variable_that_only_shells_change_does_not_count(project):
    assert run(project, SHLVL="7", OLDPWD="/", _="x") == 1


def test_the_working_directory_counts(project):
    assert run(project, folder=project / "parts") == 2


BEYOND = {
    "subprocess": "import subprocess; subprocess.run(['true'])",
    "system": "os.system('true')",
    "fork": "os.fork() or os._exit(0)",
    "spawn": "os.posix_spawn('/bin/true', ['true'], {})",
    "sqlite": "import sqlite3; sqlite3.connect(':memory:').close()",
    "socket": """
import socket
try:
    socket.create_connection(('127.0.0.1', 1))
except OSError:
    pass
""",
    "dir_fd": "f = os.open(HERE, os.O_RDONLY); os.close(os.open('limit.json', os.O_RDONLY, dir_fd=f)); os.close(f)",
    "listing a descriptor": "f = os.open(HERE, os.O_RDONLY); os.listdir(f); os.close(f)",
    "a device": "open('/dev/urandom', 'rb').close()",
    "proc": "open('/proc/uptime').close()",
}


@pytest.mark.parametrize("code", BEYOND.values(), ids=BEYOND.keys())
def test_what_cannot_be_followed_is_noticed(tmp_path, monkeypatch, code):
    (tmp_path / "limit.json").write_text("1")
    monkeypatch.chdir(tmp_path)
    recorder = Recorder()
    Path("limit.json").read_text()
    assert not recorder.beyond
    exec(code, {"HERE": tmp_path, "os": os})
    recorder.stop()
    assert recorder.beyond


@pytest.mark.parametrize(
    "code",
    [
        BEYOND["subprocess"],
        "(HERE / 'own').write_text('x'); (HERE / 'own').read_text()",
        "(HERE / 'once').read_text(); (HERE / 'once').unlink()",
        "os.listdir(HERE); (HERE / f'new{os.getpid()}').touch()",
    ],
)
def test_no_record_of_what_cannot_be_followed(project, code):
    (project / "defs.py").write_text(DEFINITIONS.replace("PACK =", f"{code}\nPACK ="))
    for number in (2, 3):
        (project / "once").write_text("")
        time.sleep(0.1)
        assert run(project) == number


def test_what_can_be_followed_is(project):
    code = "open(os.devnull).close(); import tempfile; tempfile.TemporaryFile().close(); os.listdir()\n"
    (project / "defs.py").write_text(DEFINITIONS + code)
    time.sleep(0.1)
    assert run(project) == 2
    assert run(project) == 2


def test_a_missing_output_makes_no_record(project):
    folder = project.resolve()
    cache = Cache(folder, "defs:PACK", folder)
    recorder = Recorder()
    recorder.stop()
    cache.path.unlink(missing_ok=True)
    recorder.started = time.time_ns() + 10**9
    cache.store(recorder, ["rules/g.yaml", "rules/none.yaml"], "unchanged")
    assert not cache.path.exists()
    cache.store(recorder, ["rules/g.yaml"], "unchanged")
    assert cache.fresh() == "unchanged"


def test_a_linked_output_is_no_output(project):
    (project / "rules/g.yaml").rename(project / "real.yaml")
    (project / "rules/g.yaml").symlink_to("../real.yaml")
    assert run(project, code=1) == 2


def test_a_record_that_is_a_pipe_is_not_waited_for(project):
    (record,) = (project / ".watchkeeper_cache").glob("*.json")
    record.unlink()
    os.mkfifo(record)
    assert run(project) == 2
    assert run(project) == 2
