"""A project in a folder of its own, and `watchkeeper` run there."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner
from standin_grafana import TOKEN

from watchkeeper.cli.app import app

if TYPE_CHECKING:
    from click.testing import Result

PROGRAM = str(Path(sys.executable).with_name("watchkeeper"))
NO_TOKENS = {f"WATCHKEEPER_{what}_TOKEN{how}": None for what in ("GRAFANA", "RULER") for how in ("", "_FILE")}
DEFINITIONS = """
from watchkeeper import Alert, Gauge, Group, Pack, Recording, Severity
from watchkeeper import dashboards as d

UP = Gauge("gpu_up", "Up.", labels=("gpu",))

def free(pack):
    return d.dashboard(uid="free", title="Free memory", folder="memory", variables=[d.datasource()],
                       panels=[d.stat("Up", "min(gpu_up) > LIMIT", alerts=["GpuDown"])])

def use(pack):
    return d.dashboard(uid="use", title="Use", variables=[d.datasource()], panels=[d.stat("Up", "max(gpu_up)")])

GROUPS = (
    Group("gpu", [
        Recording("gpu:up:min", "min by (gpu) (gpu_up)"),
        Alert("GpuDown", expr="gpu_up < LIMIT", for_="300s", severity=Severity.WARNING, team="sre", summary="down",
              annotations={"runbook_url": "https://wiki.example.com/down"}),
    ], interval="1m"),
    Group("more", [Recording("gpu:up:max", "max by (gpu) (gpu_up)")]),
)
PACK = Pack(groups=GROUPS, dashboards=(BOARDS), metrics=(UP,))
"""
SETTINGS = """
[tool.watchkeeper]
definitions = "defs:PACK"

[tool.watchkeeper.folders]
gpu = "GPU"
memory = {title = "Memory", parent = "gpu"}

[tool.watchkeeper.sync]
owner = "acme"
"""


class Project:
    """Definitions, generated files and settings; commands find the tokens of what stands in."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.environment = {"WATCHKEEPER_GRAFANA_TOKEN": TOKEN}

    def settings(self, more: str = "") -> None:
        (self.path / "pyproject.toml").write_text(SETTINGS + more)

    def define(self, limit: str = "1", boards: str = "free, use") -> None:
        """Write other definitions, and generate what they say."""
        text = DEFINITIONS.replace("LIMIT", limit).replace("BOARDS", f"{boards}," if boards else "")
        (self.path / "defs.py").write_text(text)
        done = self.run("generate")
        assert done.exit_code == 0, done.stderr

    def run(self, *arguments: str, **environment: str) -> Result:
        """Run a command in this process, which is quick. There is never a traceback, and never a token."""
        with pytest.MonkeyPatch.context() as patch:
            patch.chdir(self.path)
            patch.setattr(sys, "path", [*sys.path])
            patch.setattr(sys, "dont_write_bytecode", True)
            sys.modules.pop("defs", None)
            done = CliRunner().invoke(app, arguments, env={**NO_TOKENS, **self.environment, **environment})
            sys.modules.pop("defs", None)
        assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
        assert TOKEN not in done.output
        return done

    def process(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run a command as a process."""
        environment = {name: value for name, value in os.environ.items() if not name.startswith("WATCHKEEPER_")}
        return subprocess.run(
            [PROGRAM, *arguments],
            cwd=self.path,
            env={**environment, **self.environment},
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )

    def sync(self, *arguments: str, code: int = 0, **environment: str) -> str:
        """Run `watchkeeper sync` to that exit status, and return what it writes; of a failure, what it complains of."""
        done = self.run("sync", *arguments, **environment)
        assert done.exit_code == code, (done.exit_code, done.stdout, done.stderr)
        return done.stdout or done.stderr
