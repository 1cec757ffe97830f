"""The command as a person meets it: a real process in a project of its own."""

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from watchkeeper.cli import app as app_module

DEFINITIONS = """
from watchkeeper import Alert, Gauge, Group, Pack, Severity

FREE = Gauge("gpu_memory_free_bytes", "Free.", labels=("gpu",), unit="bytes")
FULL = Alert(
    "GPUFull", expr=f"{FREE} < 1e9", severity=Severity.CRITICAL, team="sre",
    summary="GPU {{ $labels.gpu }} is full", runbook="gpu-full",
)
PACK = Pack(metrics=(FREE,), groups=(Group("gpu", [FULL]),))
"""


@pytest.fixture
def project(tmp_path):
    (tmp_path / "pyproject.toml").write_text('[tool.watchkeeper]\ndefinitions = "acme:PACK"\n')
    (tmp_path / "acme.py").write_text(DEFINITIONS)
    return tmp_path


def run(folder, *arguments, **environment):
    return subprocess.run(
        [Path(sys.executable).with_name("watchkeeper"), *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1", **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def edit(project, old, new):
    text = (project / "acme.py").read_text()
    assert old in text
    (project / "acme.py").write_text(text.replace(old, new))


def generated(project):
    files = (path.relative_to(project) for path in project.rglob("*") if path.suffix in (".yaml", ".json", ".manifest"))
    return sorted(str(path) for path in files if path.parts[0] != ".watchkeeper_cache")


def test_generate_then_check_then_edit(project):
    done = run(project, "generate")
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr == "1 file: 1 written, 0 deleted, 0 unchanged\n"
    assert generated(project) == ["rules/gpu.yaml", "watchkeeper.manifest"]

    assert run(project, "generate", "--check").returncode == 0
    edit(project, "1e9", "2e9")
    stale = run(project, "generate", "--check")
    assert stale.returncode == 1
    assert (
        "-        expr: gpu_memory_free_bytes < 1e9" in stale.stdout
        or "-    expr: gpu_memory_free_bytes < 1e9" in stale.stdout
    )
    assert "+    expr: gpu_memory_free_bytes < 2e9" in stale.stdout
    assert stale.stderr == "1 stale, 0 to delete: run `watchkeeper generate`\n"

    assert run(project, "generate").returncode == 0
    (project / "rules/gpu.yaml").write_text("edited\n")
    refused = run(project, "generate")
    assert refused.returncode == 1
    assert refused.stderr.startswith("rules/gpu.yaml: error[output/edited] was edited by hand")
    assert (project / "rules/gpu.yaml").read_text() == "edited\n"


def test_from_a_folder_below_and_into_another(project):
    (project / "deep").mkdir()
    assert run(project / "deep", "generate").returncode == 0
    assert run(project / "deep", "generate", "--out", "here").returncode == 0
    assert generated(project) == [
        "deep/here/rules/gpu.yaml",
        "deep/here/watchkeeper.manifest",
        "rules/gpu.yaml",
        "watchkeeper.manifest",
    ]


BAD = [
    ("from watchkeeper", "import nosuch\nfrom watchkeeper", 'acme.py:2: error[load/import] importing "acme" failed: '),
    (', runbook="gpu-full"', "", "acme.py:5: error[alert/runbook] alert GPUFull has no runbook"),
    (
        'labels=("gpu",)',
        'labels=("gpu-index",)',
        'acme.py:4: error[metric/label] gpu_memory_free_bytes: label "gpu-index" is no label name',
    ),
    (
        'team="sre"',
        'team="sre", for_="5 m"',
        "acme.py:5: error[rule/duration] alert GPUFull: for_ is no duration: '5 m'",
    ),
    ("1e9", "{1e999 - 1e999}", "acme.py:5: error[alert/threshold] alert GPUFull: < NaN is never true"),
    (
        'f"{FREE}',
        '"gpu_memory_fre_bytes',
        'acme.py:5: error[promql/metric] alert GPUFull: no metric "gpu_memory_fre_bytes" in the contract; did you mean',
    ),
    ("< 1e9", "< (1e9", "acme.py:5: error[promql/syntax] alert GPUFull: "),
]


@pytest.mark.parametrize(("old", "new", "message"), BAD)
def test_bad_input_is_told_at_its_place_and_nothing_is_written(project, old, new, message):
    edit(project, old, new)
    for verb in ("generate", "check"):
        done = run(project, verb)
        assert done.returncode == 1
        assert message in (done.stdout if verb == "check" and "load/" not in message else done.stderr)
        assert "Traceback" not in done.stderr
    assert generated(project) == []


def test_all_faults_in_one_run(project):
    edit(project, ', runbook="gpu-full"', ', for_="x"')
    edit(project, "{FREE} <", "nosuch <")
    done = run(project, "check")
    assert sum("error[" in line for line in done.stdout.splitlines()) == 3
    assert done.stderr == "3 errors\n"


def test_an_output_folder_that_cannot_be_written(project):
    (project / "file").write_text("")
    done = run(project, "generate", "--out", "file/below")
    assert done.returncode == 1
    assert "error[output/file] can't be written: Not a directory" in done.stderr
    assert "Traceback" not in done.stderr


def test_without_settings(tmp_path):
    done = run(tmp_path, "generate")
    assert done.returncode == 1
    assert "error[load/name] no definitions are named" in done.stderr
    assert "fix: write definitions" in done.stderr


def test_wrong_usage(project):
    assert run(project, "generate", "--nosuch").returncode == 2
    assert run(project, "nosuch").returncode == 2


def test_help_says_how(project):
    for arguments in (["--help"], ["generate", "--help"], ["check", "-h"]):
        done = run(project, *arguments)
        assert done.returncode == 0
        assert "Examples:" in done.stdout


def in_a_terminal(folder, *arguments, **environment):
    """Run with standard error on a pseudo-terminal, and return what was printed there."""
    leader, follower = pty.openpty()
    process = subprocess.Popen(
        [Path(sys.executable).with_name("watchkeeper"), *arguments],
        cwd=folder,
        env={**os.environ, "TERM": "xterm", **environment},
        stdin=subprocess.DEVNULL,
        stdout=follower,
        stderr=follower,
    )
    os.close(follower)
    output = b""
    try:
        while piece := os.read(leader, 65536):
            output += piece
    except OSError:  # the last process on it has closed it
        pass
    os.close(leader)
    process.wait(timeout=60)
    return output.decode()


@pytest.mark.parametrize(
    ("environment", "coloured"), [({}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)]
)
def test_colour_on_a_terminal_only(project, environment, coloured):
    edit(project, ', runbook="gpu-full"', "")
    assert ("\x1b[31m" in in_a_terminal(project, "check", **environment)) is coloured
    assert "\x1b[" not in run(project, "check", **environment).stderr


def test_a_progress_bar_past_two_seconds_on_a_terminal_only(project):
    slow = "import time\ndef slow(n):\n  return lambda pack: time.sleep(0.8) or {'uid': f'u{n}', 'title': f'T{n}'}\n"
    edit(project, "PACK = Pack(", slow + "PACK = Pack(dashboards=tuple(slow(n) for n in range(4)), ")
    assert "dashboards [" in in_a_terminal(project, "check")
    assert "dashboards [" not in run(project, "check").stderr


def shell(folder, line):
    """Run a line of shell with `watchkeeper` on its path."""
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    command = ["sh", "-c", line]
    env = {**os.environ, "PATH": path, "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False, timeout=60)


@pytest.mark.parametrize("line", ["--version", "--help", "generate --check"])
def test_a_full_disk_behind_standard_output(project, line):
    done = shell(project, f"watchkeeper {line} > /dev/full")
    assert done.returncode == 1
    assert done.stderr.endswith("watchkeeper: the output can't be written: No space left on device\n")
    assert "Traceback" not in done.stderr


def test_closed_streams(project):
    done = shell(project, "watchkeeper generate --check >&-")
    assert (done.returncode, "Traceback" in done.stderr) == (1, False)
    assert done.stderr.endswith("run `watchkeeper generate`\n")
    for line in ("check 2>&-", "generate 2>&- >&- <&-", "generate --check 2>&- >&-", "check 2>/dev/full; true"):
        done = shell(project, f"watchkeeper {line}")
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


WORDLESS = "def dashboard(pack):\n  import os, sys\n  {}\nPACK = Pack(dashboards=(dashboard,), "


@pytest.mark.parametrize(
    "line", ["sys.exit(0)", "os._exit(0)", "raise GeneratorExit", "sys.setrecursionlimit(90); 1 / 0"]
)
def test_a_dashboard_that_ends_the_program_is_an_error(project, line):
    edit(project, "PACK = Pack(", WORDLESS.format(line))
    for arguments in (["check"], ["generate"], ["generate", "--check"]):
        done = run(project, *arguments)
        assert done.returncode == 1
        assert "acme.py:11: error[load/import] making the dashboard failed: " in done.stdout + done.stderr
        assert "Traceback" not in done.stderr
    assert generated(project) == []


@pytest.mark.parametrize("line", ["import os; os._exit(0)", "sys.exit(0)", "raise Odd"])
def test_definitions_that_end_the_program_are_an_error(project, line):
    edit(project, "PACK = ", f"import sys\nclass Odd(BaseException): pass\n{line}\nPACK = ")
    for arguments in (["check"], ["generate"], ["generate", "--check"]):
        done = run(project, *arguments)
        assert done.returncode == 1
        assert 'acme.py:11: error[load/import] importing "acme" failed: ' in done.stderr


@pytest.mark.parametrize("line", ["import os; os._exit(0)", "1 / 0"])
def test_an_object_of_the_users_that_fails_in_the_checks_is_an_error(project, line):
    odd = f"class Odd:\n  @property\n  def __class__(self): {line}\n"
    edit(project, "PACK = Pack(", f"{odd}PACK = Pack(dashboards=(Odd(),), ")
    done = run(project, "check")
    assert done.returncode == 1
    assert "acme.py:11: error[load/import] checking the definitions failed: " in done.stderr
    assert "Traceback" not in done.stderr


def test_a_bug_of_ours_keeps_its_traceback(monkeypatch, tmp_path):
    from datetime import date

    from watchkeeper import building, load
    from watchkeeper.cache import Recorder
    from watchkeeper.cli.common import checked_project
    from watchkeeper.settings import Settings

    monkeypatch.setattr(load, "load_pack", lambda *_: None)
    monkeypatch.setattr(load, "is_users", lambda _: False)
    monkeypatch.setattr(building, "build", lambda *_, **__: {}["bug"])
    recorder = Recorder()
    with pytest.raises(KeyError):
        checked_project(Settings(root=tmp_path), "x:PACK", recorder, date(2027, 1, 1))
    recorder.stop()


def test_the_help_says_of_each_verb_what_the_verb_says():
    for name, (_, words) in app_module._VERBS.items():
        assert app_module.app.get_command(None, name).get_short_help_str(200) == words
