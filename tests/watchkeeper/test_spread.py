"""Large packs over several cores: the same result, whatever a definition does there."""

import os
import subprocess
import sys

import pytest

from watchkeeper.cache import Recorder
from watchkeeper.spread import FEW, ChildDied, spread


@pytest.fixture
def recorder(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1}, raising=False)
    recorder = Recorder()
    yield recorder
    recorder.stop()


@pytest.mark.parametrize("number", [0, 1, FEW - 1, FEW, 3 * FEW + 1])
def test_the_order_is_kept(recorder, number):
    assert list(spread(lambda n: n * n, range(number), recorder)) == [n * n for n in range(number)]


def test_what_children_read_is_noted(recorder, tmp_path):
    (tmp_path / "read.txt").write_text("x")

    def work(_):
        (tmp_path / "read.txt").read_text()
        list(tmp_path.iterdir())
        return os.getpid()

    pids = set(spread(work, range(FEW), recorder))
    assert os.getpid() not in pids
    assert str(tmp_path / "read.txt") in recorder.files
    assert str(tmp_path) in recorder.folders


def test_what_children_do_that_cannot_be_followed_is_noted_and_forking_them_is_not(recorder):
    list(spread(abs, range(FEW), recorder))
    assert not recorder.beyond
    list(spread(lambda n: os.system("true") if n == 7 else n, range(FEW), recorder))
    assert recorder.beyond


def test_an_interruption_ends_the_children_without_a_word():
    code = f"""
import os, signal, sys, time
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may run the tests with it ignored
os.sched_getaffinity = lambda _: {{0, 1}}
from watchkeeper.cache import Recorder
from watchkeeper.spread import spread
def work(n):
    if n == 20:
        os.killpg(0, signal.SIGINT)
    time.sleep(60 if n > 20 else 0)
try:
    list(spread(work, range({FEW}), Recorder()))
except KeyboardInterrupt:
    print("interrupted")
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=30, check=False, start_new_session=True
    )
    assert (done.stdout, done.stderr, done.returncode) == ("interrupted\n", "", 0)


def test_a_child_that_dies_is_told(recorder):
    with pytest.raises(ChildDied):
        list(spread(lambda n: os._exit(3) if n == FEW // 2 else n, range(FEW), recorder))


def test_an_exception_is_the_callers(recorder):
    with pytest.raises(ZeroDivisionError):
        list(spread(lambda n: 1 // (n - FEW // 2), range(FEW), recorder))
