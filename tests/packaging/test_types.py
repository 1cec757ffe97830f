"""A user's type checker sees our types: py.typed is in the wheel, and the public names bear --strict."""

import subprocess
import sys

import pytest

import watchkeeper

USES = """
from collections.abc import Iterator

UP = Gauge("acme_up", "Whether it is up.", labels=("rack",), unit="")
LATENCY = Histogram("acme_latency_seconds", "How long.", buckets=(0.1, 1), unit="seconds")
selected: str = LATENCY.bucket.where(rack=re("a.*"), le=not_("+Inf"))
same: str = selector("acme_up", rack="a1")
DOWN = Alert(
    "AcmeDown", expr=f"{UP} == 0", severity=Severity.CRITICAL, team="acme", summary="down", labels={"a": "b"}
)
MEAN = Recording("rack:acme_up:avg", f"avg by (rack) ({UP})")
GROUP = Group("acme", [MEAN, DOWN], interval="15s")
rules: tuple[Rule, ...] = tuple(GROUP.rules)
PACK: Pack = Pack(metrics=(UP, LATENCY)).add(GROUP).replace("AcmeDown", threshold=1).without("acme", reason="moved")
removed: tuple[Removed, ...] = PACK.removed
alerts: dict[str, Alert] = PACK.alerts
every: Iterator[Rule] = PACK.rules
fault: Finding = Finding("acme/check", "wrong", Place("x.py", 1), Excerpt("text", 0, 1))
version: str = __version__

# --strict reports an ignore that nothing needs: that these are needed shows that the types are seen.
Gauge("acme_up")  # type: ignore[call-arg]
Alert("X", expr=1, severity=Severity.INFO, team="a", summary="s")  # type: ignore[arg-type]
number: int = PACK.alerts  # type: ignore[assignment]
"""


@pytest.mark.slow
def test_a_strict_type_checker_accepts_a_users_file(base_install, clean_environment, tmp_path):
    names = ", ".join(watchkeeper.__all__)
    (tmp_path / "acme.py").write_text(f"from watchkeeper import {names}\n{USES}")
    command = [
        sys.executable,
        "-m",
        "mypy",
        "--strict",
        "--config-file=",
        "--python-executable",
        base_install,
        "acme.py",
    ]
    run = subprocess.run(command, cwd=tmp_path, env=clean_environment, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
