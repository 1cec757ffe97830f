"""`watchkeeper check` as a person meets it: a real process in a folder of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = str(Path(sys.executable).with_name("watchkeeper"))


class Folder:
    """A folder in which commands are run. Their cache is their own."""

    def __init__(self, path: Path, cache: Path) -> None:
        self.path = path
        self.environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith(("GIT_", "XDG_"))},
            "PYTHONDONTWRITEBYTECODE": "1",
            "XDG_CACHE_HOME": str(cache),
        }

    def write(self, **files: str) -> None:
        """Write rule files: `a=text` is a.yml."""
        for name, text in files.items():
            (self.path / f"{name}.yml").write_text(text)

    def check(self, *arguments: object, **options: object) -> subprocess.CompletedProcess[str]:
        """Run `watchkeeper check`."""
        return self.run("check", *arguments, **options)

    def run(
        self, *arguments: object, text: str | bytes = "", environment: dict[str, str] | None = None, below: str = "."
    ) -> subprocess.CompletedProcess[str]:
        """Run `watchkeeper` with `text` on standard input. There is never a traceback."""
        done = subprocess.run(
            [PROGRAM, *(argument if isinstance(argument, bytes) else str(argument) for argument in arguments)],
            cwd=self.path / below,
            env={**self.environment, **(environment or {})},
            input=text.encode() if isinstance(text, str) else text,
            capture_output=True,
            check=False,
            timeout=120,
        )
        result = subprocess.CompletedProcess(
            done.args, done.returncode, done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace")
        )
        assert "Traceback" not in result.stdout + result.stderr
        return result

    def shell(self, line: str) -> subprocess.CompletedProcess[str]:
        """Run a line of shell with `watchkeeper` on its path."""
        path = f"{Path(PROGRAM).parent}:{os.environ['PATH']}"
        return subprocess.run(
            ["bash", "-c", line],
            cwd=self.path,
            env={**self.environment, "PATH": path},
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    (tmp_path / "work").mkdir()
    return Folder(tmp_path / "work", tmp_path / "cache")
