"""The agent with no change of code: one variable, or `python -m watchkeeper_fleet.agent`."""

from __future__ import annotations

import importlib
import os
import re
import shutil
import subprocess
import sys
import textwrap
import zipfile
from pathlib import Path

import pytest

from watchkeeper_fleet.agent import auto

ROOT = Path(__file__).parents[3]
TORCH_LIKE = Path(__file__).with_name("torch_like")
PROGRAM = """
import shapes, sys, torch
torch.cuda.initialize()
torch.cuda.statistics[0] = shapes.statistics("2.14.1")
print(__name__, *sys.argv)
"""


@pytest.fixture
def installed(built, children, tmp_path) -> Path:
    """A python with the wheel unpacked in its site-packages, and torch's stand-in, as a training image has them."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(tmp_path / "venv")], check=True)
    (packages,) = (tmp_path / "venv").glob("lib/python3*/site-packages")
    with zipfile.ZipFile(built.wheel) as wheel:
        wheel.extractall(packages)
    shutil.copytree(TORCH_LIKE / "torch", packages / "torch")
    shutil.copy(TORCH_LIKE.with_name("shapes.py"), packages)
    children.folder = tmp_path / "spool"
    children.folder.mkdir()
    return tmp_path / "venv/bin/python"


def without_paths(children, **more: str) -> dict[str, str]:
    return {key: value for key, value in children.environment(**more).items() if key != "PYTHONPATH"}


def run(installed, children, script, *arguments, **more):
    command = [str(installed), *([] if script is None else [str(script)]), *arguments]
    environment = without_paths(children, **more)
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)


def test_one_variable_starts_it(installed, children, tmp_path):
    (tmp_path / "finetune.py").write_text(PROGRAM)
    done = run(installed, children, tmp_path / "finetune.py", "-x", WATCHKEEPER_AGENT="1")
    assert (done.stderr, done.stdout) == ("", f"__main__ {tmp_path}/finetune.py -x\n")
    record = children.record()
    assert (record.identity["workload"], record.mark) == ("finetune", "clean")
    assert children.values(record)["torch_cuda_memory_reserved_bytes gpu=0"] == 6 << 20


@pytest.mark.parametrize(
    "more", [{}, {"WATCHKEEPER_AGENT": "0"}, {"WATCHKEEPER_AGENT": ""}], ids=["unset", "0", "empty"]
)
def test_without_it_nothing_happens(installed, children, more):
    code = "import sys, torch; print([m for m in sys.modules if m.startswith('watchkeeper')])"
    done = run(installed, children, None, "-c", code, **more)
    assert (done.stderr, done.stdout) == ("", "[]\n")
    assert [*children.folder.iterdir()] == []


def test_half_an_installation_stops_no_python(installed, children, tmp_path):
    (package,) = (tmp_path / "venv").glob("lib/python3*/site-packages/watchkeeper_fleet")
    shutil.rmtree(package)
    done = run(installed, children, None, "-c", "print('ran')", WATCHKEEPER_AGENT="1")
    assert (done.stderr, done.stdout) == ("", "ran\n")


def test_spawned_processes_have_it_too(installed, children, tmp_path):
    (tmp_path / "job.py").write_text(
        "import multiprocessing\n"
        "def work(x):\n    import torch\n    torch.cuda.initialize()\n    return x + 1\n"
        "if __name__ == '__main__':\n"
        "    with multiprocessing.get_context('spawn').Pool(1) as pool:\n        print(pool.map(work, [1]))\n"
        "        pool.close()\n        pool.join()\n"
    )
    done = run(installed, children, tmp_path / "job.py", WATCHKEEPER_AGENT="1")
    assert (done.stderr, done.stdout) == ("", "[2]\n")
    # Of the three processes, the parent and multiprocessing's tracker have no torch, and no file.
    assert [record.identity["workload"] for record in children.records()] == ["job"]


def test_the_files_name_what_is_there():
    line = (ROOT / "monitoring/watchkeeper_agent.start").read_text()
    module, name = re.fullmatch(r"([\w.]+):(\w+)\n", line).groups()  # PEP 829
    assert getattr(importlib.import_module(module), name) is auto.start
    assert (ROOT / "monitoring/watchkeeper_agent.pth").read_text().startswith("import os; ")


def test_what_python_3_15_calls_is_off_by_default(monkeypatch):
    monkeypatch.delenv("WATCHKEEPER_AGENT", raising=False)
    monkeypatch.setattr(sys, "meta_path", before := [*sys.meta_path])
    auto.start()
    assert sys.meta_path == before


def test_the_line_loads_nothing_where_the_variable_is_unset():
    line = (ROOT / "monitoring/watchkeeper_agent.pth").read_text()
    environment = {key: value for key, value in os.environ.items() if key != "WATCHKEEPER_AGENT"}
    code = f"""
    import sys
    before = {{*sys.modules}}
    exec({line!r})
    print({{*sys.modules}} - before)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout == "set()\n"


def launched(children, *arguments, cwd=None, **more):
    command = [sys.executable, "-m", "watchkeeper_fleet.agent", *arguments]
    environment = children.environment(**more)
    return subprocess.run(command, env=environment, cwd=cwd, capture_output=True, text=True, timeout=60, check=False)


@pytest.fixture
def spool(children, tmp_path):
    children.folder = tmp_path / "spool"
    children.folder.mkdir()
    return children


def test_a_script(spool, tmp_path):
    (tmp_path / "train.py").write_text(f"import helper{PROGRAM}")
    (tmp_path / "helper.py").write_text("")  # beside the script, as Python has it
    done = launched(spool, str(tmp_path / "train.py"), "--epochs", "3")
    assert (done.stderr, done.stdout) == ("", f"__main__ {tmp_path}/train.py --epochs 3\n")
    assert (spool.record().identity["workload"], spool.record().mark) == ("train", "clean")


def test_a_module_and_a_folder(spool, tmp_path):
    (tmp_path / "pkg").mkdir()
    (tmp_path / "pkg/__main__.py").write_text(PROGRAM)
    (tmp_path / "pkg/__init__.py").write_text("")
    assert launched(spool, "-m", "pkg", "-v", cwd=tmp_path).stdout.endswith("/pkg/__main__.py -v\n")
    assert launched(spool, str(tmp_path / "pkg"), "-v").stdout == f"__main__ {tmp_path}/pkg -v\n"
    assert {record.identity["workload"] for record in spool.records()} == {"pkg"}


def test_the_exit_code_and_the_traceback_are_the_scripts(spool, tmp_path):
    script = tmp_path / "train.py"
    script.write_text("import sys, torch\nsys.exit(7)")
    assert launched(spool, str(script)).returncode == 7
    script.write_text("import torch\nraise ValueError('batch')")
    done = launched(spool, str(script))
    assert done.returncode == 1
    assert done.stderr.endswith(
        f"  File \"{script}\", line 2, in <module>\n    raise ValueError('batch')\nValueError: batch\n"
    )
    assert [record.mark for record in spool.records()] == ["clean", "exception:ValueError"]


def test_a_spawned_process_finds_the_scripts_functions(spool, tmp_path):
    (tmp_path / "job.py").write_text(
        "import multiprocessing\n"
        "class Item:\n    pass\n"
        "def work(item):\n    return type(item).__name__\n"
        "if __name__ == '__main__':\n"
        "    with multiprocessing.get_context('spawn').Pool(1) as pool:\n        print(pool.map(work, [Item()]))\n"
    )
    done = launched(spool, str(tmp_path / "job.py"))
    assert (done.stderr, done.stdout) == ("", "['Item']\n")


@pytest.mark.parametrize("how", [["job.py"], ["-m", "job"]], ids=["script", "module"])
def test_a_program_sees_itself_as_python_has_it(spool, tmp_path, how):
    (tmp_path / "job.py").write_text(
        "import os, sys, __main__\n"
        "os.chdir('/')\n"
        "print(__file__, sys.argv, __name__, __main__.__file__, __spec__ and __spec__.name, sys.path[0])\n"
        "print((lambda: 0).__code__.co_filename)\n"
    )
    environment = spool.environment()
    itself = subprocess.run(
        [sys.executable, *how, "-v"], cwd=tmp_path, env=environment, capture_output=True, text=True, check=True
    )
    assert launched(spool, *how, "-v", cwd=tmp_path).stdout == itself.stdout


def test_a_module_that_is_none_is_told_as_python_does(spool):
    done = launched(spool, "-m", "nomod")
    assert (done.returncode, done.stderr) == (1, f"{sys.executable}: No module named nomod\n")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "usage: "),
        (["-m"], "python -m watchkeeper_fleet.agent: -m needs the name of a module\n"),
        (["none.py"], "python -m watchkeeper_fleet.agent: can't open file 'none.py': No such file or directory\n"),
    ],
)
def test_a_wrong_use_says_so(spool, arguments, said):
    done = launched(spool, *arguments)
    assert done.returncode in (1, 2)
    assert done.stderr.startswith(said)
    assert "Traceback" not in done.stderr


def test_it_may_be_off(spool, tmp_path):
    (tmp_path / "train.py").write_text(PROGRAM)
    done = launched(spool, str(tmp_path / "train.py"), WATCHKEEPER_AGENT="0")
    assert done.stdout == f"__main__ {tmp_path}/train.py\n"
    assert spool.records() == []
