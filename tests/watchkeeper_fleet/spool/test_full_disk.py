"""A full disk: who has a file goes on, who has none is told, and nothing is left half made."""

import errno
import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from spool_workload import IDENTITY

from watchkeeper_fleet import spool

# In mount and user namespaces of its own, so that no right is needed but to make them.
MOUNT = ("unshare", "--user", "--map-root-user", "--mount", "sh", "-ec")
SMALL = 'mount -t tmpfs -o size=200k none "$0"; exec "$@"'

FULL = """
import errno, os, sys
from pathlib import Path
from watchkeeper_fleet.spool import Writer, scan
folder = sys.argv[1]
writer = Writer(folder, {"workload": "w", "process": "0", "rank": "0"})
with open(folder + "/filler", "wb", buffering=0) as filler:
    try:
        while filler.write(bytes(512)):
            pass
    except OSError as error:
        assert error.errno == errno.ENOSPC
# Every page that there is, written to.
for number in range(500):
    assert writer.field("torch_process_ready", function=str(number)) == number
    assert writer.publish([float(number)] * number)
    assert writer.set_text("t", str(number))
    assert writer.beat()
assert writer.dropped == 0
try:
    Writer(folder, {"workload": "w", "process": "1", "rank": "0"})
except OSError as error:
    assert error.errno == errno.ENOSPC
else:
    raise AssertionError
assert sorted(os.listdir(folder)) == sorted(["filler", Path(writer.path).name])
(record,), refused = scan(folder)
assert not refused and record.values == (499.0,) * 499
print("fine")
"""


def test_a_full_disk(tmp_path):
    tried = subprocess.run([*MOUNT, SMALL, tmp_path, "true"], capture_output=True, text=True, check=False)
    if tried.returncode:
        pytest.skip("mounting a small file system is not permitted here")
    command = [*MOUNT, SMALL, tmp_path, sys.executable, "-c", FULL, tmp_path]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.stdout == "fine\n", run.stderr


@pytest.mark.parametrize("room", [0, 1, 50_000])
def test_no_room_for_a_file(tmp_path, room):
    """The same by a limit, which is found in every place."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    writer = spool.Writer(str(tmp_path), IDENTITY)
    writer.field("torch_process_ready")
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, before[1]))
    try:
        with pytest.raises(OSError, match=os.strerror(errno.EFBIG)):
            spool.Writer(str(tmp_path), IDENTITY)
        assert writer.publish([1.0])
        assert writer.beat()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert [str(path) for path in tmp_path.iterdir()] == [writer.path]
    writer.abandon()
    assert spool.read(writer.path).values == (1.0,)


def test_no_descriptor_left(tmp_path):
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, before[1]))
    try:
        with pytest.raises(OSError, match=os.strerror(errno.EMFILE)):
            spool.Writer(str(tmp_path), IDENTITY)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
    assert list(tmp_path.iterdir()) == []


def test_no_second_descriptor_left(tmp_path):
    """The map wants one of its own."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    first = os.open("/dev/null", os.O_RDONLY)
    os.close(first)
    resource.setrlimit(resource.RLIMIT_NOFILE, (first + 1, before[1]))
    try:
        with pytest.raises(OSError, match=os.strerror(errno.EMFILE)):
            spool.Writer(str(tmp_path), IDENTITY)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
    assert list(Path(tmp_path).iterdir()) == []
