"""Pages of findings that settings or commands are needed for: their examples run as they stand."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from watchkeeper.checks import COMMANDS, ids

PAGES = Path(__file__).parents[3] / "docs" / "checks"
PART = re.compile(r"^## (Bad|Good)\n(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def said(part, folder):
    """Write the files of a part of a page, run its commands, and return the last one's status and all that was said."""
    folder.mkdir()
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "XDG_CACHE_HOME": str(folder / ".cache"),
    }
    output, status = "", 0
    for language, text in BLOCK.findall(part):
        if language != "console":
            name, _, content = text.partition("\n")
            (folder / name.removeprefix("# ")).write_text(content)
            continue
        for command in re.findall(r"^\$ (.*)$", text, re.MULTILINE):
            done = subprocess.run(
                command,
                shell=True,
                cwd=folder,
                env=environment,
                capture_output=True,
                text=True,
                check=False,
                timeout=60,
            )
            output, status = output + done.stdout + done.stderr, done.returncode
    return status, output


@pytest.mark.parametrize(
    "check", [*COMMANDS, *(check for check in ids() if check.startswith(("policy/", "dashboard/folder")))]
)
def test_examples_say_the_truth(check, tmp_path):
    text = (PAGES / f"{check.replace('/', '-')}.md").read_text()
    assert text.startswith(f"# {check}\n")
    parts = dict(PART.findall(text))
    _, bad = said(parts["Bad"], tmp_path / "bad")
    assert f"[{check}]" in bad
    assert "Traceback" not in bad
    status, good = said(parts["Good"], tmp_path / "good")
    assert status == 0, good
    assert f"[{check}]" not in good
