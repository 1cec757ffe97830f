"""The same definitions give the same bytes, whatever process, place or language they are generated in."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SCRIPT = """
import sys
from pathlib import Path
from watchkeeper.building import build
from watchkeeper.settings import load_settings
from watchkeeper_fleet.pack import PACK
project, findings = build(PACK, load_settings(Path(sys.argv[1])))
for path, text in sorted(project.files.items()):
    sys.stdout.buffer.write(f"{path}\\n{text}".encode())
"""


@pytest.mark.parametrize(
    "environment",
    [
        {"PYTHONHASHSEED": "0"},
        {"PYTHONHASHSEED": "4294967295", "LC_ALL": "C", "PYTHONUTF8": "0", "TZ": "Asia/Tokyo"},
        {"PYTHONHASHSEED": "1234", "LC_ALL": "tr_TR.UTF-8", "LANG": "tr_TR.UTF-8", "TZ": "UTC"},
    ],
)
def test_bytes(environment, project, tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, ROOT],
        cwd=tmp_path,
        env={**os.environ, **environment},
        capture_output=True,
        check=True,
    )
    expected = b"".join(f"{path}\n{text}".encode() for path, text in sorted(project.files.items()))
    assert done.stdout == expected


def test_what_is_committed_is_what_is_generated(project):
    stale = [
        path
        for path, text in project.files.items()
        if not (ROOT / path).exists() or (ROOT / path).read_bytes() != text.encode()
    ]
    assert not stale, "run `make generate`"


def test_nothing_generated_tells_of_the_machine(project):
    for path, text in project.files.items():
        assert str(ROOT) not in text, path
        assert str(Path.home()) + "/" not in text, path
