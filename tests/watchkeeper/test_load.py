"""Definitions that load, and every way in which they don't."""

import sys

import pytest

from watchkeeper import Pack
from watchkeeper.load import LoadError, load_pack


@pytest.fixture
def project(tmp_path):
    """Return a function that writes defs.py and loads it; sys is left as it was."""
    path = list(sys.path)

    def load(text, definitions="defs:PACK"):
        (tmp_path / "defs.py").write_text(text)
        return load_pack(definitions, tmp_path)

    yield load
    sys.path[:] = path
    sys.modules.pop("defs", None)
    sys.modules.pop("acme", None)


def test_a_pack(project):
    assert isinstance(project("from watchkeeper import Pack\nPACK = Pack()"), Pack)


@pytest.mark.parametrize(
    ("text", "check", "message", "line"),
    [
        (
            "import nosuchmodule",
            "load/import",
            "importing \"defs\" failed: ModuleNotFoundError: No module named 'nosuchmodule'",
            1,
        ),
        ("x = 1\n1 / 0", "load/import", 'importing "defs" failed: ZeroDivisionError: division by zero', 2),
        ("def f():\n  raise KeyError\nf()", "load/import", 'importing "defs" failed: KeyError', 2),
        ("x = (", "load/syntax", 'importing "defs" failed: ', 1),
        ("raise SystemExit(3)", "load/import", 'importing "defs" failed: SystemExit: 3', 1),
        ("from watchkeeper import Alert\nAlert('X')", "load/import", 'importing "defs" failed: TypeError: ', 2),
        (
            "from watchkeeper import Pack\n\nPack().without('X', reason='r')",
            "load/definition",
            'the pack has no "X"',
            3,
        ),
        ("PAK = 1", "load/name", 'defs has no "PACK"', 0),
        ("from watchkeeper import Pack\nPAKC = Pack()", "load/name", 'defs has no "PACK"; did you mean "PAKC"?', 0),
        ("PACK = 3", "load/name", "defs:PACK is a int, not a Pack", 0),
        ("raise ValueError('first\\nsecond')", "load/import", 'importing "defs" failed: ValueError: first', 1),
    ],
)
def test_what_fails_is_one_finding_at_the_users_line(project, tmp_path, text, check, message, line):
    with pytest.raises(LoadError) as caught:
        project(text)
    finding = caught.value.finding
    assert finding.check == check
    assert finding.message.startswith(message)
    assert "\n" not in finding.message
    assert (finding.place.file, finding.place.line) == (str(tmp_path / "defs.py"), line)


@pytest.mark.parametrize("name", ["", "defs", "defs:", "de-fs:PACK", "defs:PACK:X", ":PACK", "defs.py:PACK.x"])
def test_a_name_that_is_none(project, name):
    with pytest.raises(LoadError, match="not of the form module:PACK"):
        project("", name)


def test_a_module_that_is_not_there(tmp_path, project):
    with pytest.raises(LoadError) as caught:
        project("", "nowhere.at.all:PACK")
    assert "No module named 'nowhere'" in caught.value.finding.message
    assert str(tmp_path) in caught.value.finding.fix


@pytest.mark.parametrize("text", ["class Odd(BaseException): pass\nraise Odd", "import os\nos._exit(0)"])
def test_whatever_ends_the_import_is_a_finding(project, text):
    with pytest.raises(LoadError) as caught:
        project(text)
    assert caught.value.finding.place.line == 2


def test_a_child_of_the_users_may_end_itself(project):
    text = "import os\nif not (pid := os.fork()): os._exit(7)\nSTATUS = os.waitpid(pid, 0)[1] >> 8\nPACK = Pack()"
    project(f"from watchkeeper import Pack\n{text}")
    assert sys.modules["defs"].STATUS == 7


def test_a_recursion_limit_of_the_users_is_put_back(project):
    limit = sys.getrecursionlimit()
    project("import sys\nfrom watchkeeper import Pack\nsys.setrecursionlimit(900)\nPACK = Pack()")
    assert sys.getrecursionlimit() == limit


def test_a_wrong_type_is_told_at_the_users_line(project):
    text = "\n\nAlert('X', expr=None, severity='info', team='t', summary='s')"
    with pytest.raises(LoadError) as caught:
        project(f"from watchkeeper import Alert{text}")
    finding = caught.value.finding
    assert (finding.check, finding.place.line) == ("load/definition", 3)
    assert finding.message == "alert X: expr must be a string of PromQL, not NoneType"


def test_a_folder_that_is_no_regular_package(tmp_path, project):
    (tmp_path / "acme").mkdir()
    with pytest.raises(LoadError, match='acme has no "PACK"'):
        project("", "acme:PACK")


def test_a_module_whose_own_getattr_fails(project):
    with pytest.raises(LoadError, match="ImportError: lazily"):
        project("def __getattr__(name):\n  raise ImportError('lazily')")
