"""Real Prometheus servers on loopback, with a folder of their own, always stopped."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ROOT = Path(__file__).parents[2]
# A slow machine may take a while to start a server; nothing waits longer than it has to.
PATIENCE_S = 30


class Server:
    """A Prometheus that answers at `url`."""

    def __init__(self, process: subprocess.Popen[bytes], log: Path) -> None:
        self.process, self.log = process, log
        self.url = ""

    def get(self, path: str, **query: str) -> Any:
        """Return the data of an answer of the HTTP API."""
        address = f"{self.url}/api/v1/{path}?{urllib.parse.urlencode(query)}"
        with urllib.request.urlopen(address, timeout=10) as answer:
            return json.load(answer)["data"]

    def wait(self, what: str, condition: Callable[[], Any]) -> Any:
        """Return the first true answer of condition, asked again and again; `what` is for the message if none comes."""
        end = time.monotonic() + PATIENCE_S
        while time.monotonic() < end:
            assert self.process.poll() is None, f"Prometheus ended:\n{self.log.read_text()}"
            if answer := condition():
                return answer
            time.sleep(0.05)
        raise AssertionError(f"waited {PATIENCE_S} s for {what}:\n{self.log.read_text()}")

    def listening(self) -> str:
        """Return the address it says that it listens on; port 0 asked the kernel for a free one."""
        found = re.findall(r"Listening on.* address=(127\.0\.0\.1:[1-9]\d*)", self.log.read_text())
        return f"http://{found[0]}" if found else ""

    def ready(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.url}/-/ready", timeout=10):
                return True
        except urllib.error.HTTPError as error:
            if error.code != 503:  # while it starts
                raise
            return False


@contextlib.contextmanager
def running(binary: Path, folder: Path, configuration: dict[str, Any] | Path) -> Iterator[Server]:
    """Run a Prometheus in folder until the block ends, with a configuration or the file of one."""
    file = configuration if isinstance(configuration, Path) else folder / "prometheus.yml"
    if isinstance(configuration, dict):
        file.write_text(json.dumps(configuration))  # JSON is YAML
    log = folder / "log"
    command = [binary, f"--config.file={file}", "--storage.tsdb.path=data", "--web.listen-address=127.0.0.1:0"]
    with log.open("wb") as said:
        process = subprocess.Popen(
            command, cwd=folder, stdin=subprocess.DEVNULL, stdout=said, stderr=said, env={**os.environ, "TZ": "UTC"}
        )
        try:
            server = Server(process, log)
            server.url = server.wait("an address", server.listening)
            server.wait("readiness", server.ready)
            yield server
        finally:
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def find(major: str) -> Path | None:
    """Return a Prometheus of that major version, if there is one."""
    named = os.environ.get("WATCHKEEPER_PROMETHEUS3")
    assert not named or os.access(named, os.X_OK), f"WATCHKEEPER_PROMETHEUS3 names no program: {named}"
    candidates = [
        named,
        str(ROOT / ".cache/prometheus3/usr/bin/prometheus"),
        shutil.which("prometheus"),
    ]
    for candidate in candidates:
        if candidate and os.access(candidate, os.X_OK):
            run = subprocess.run([candidate, "--version"], capture_output=True, text=True, check=True)
            if f"version {major}." in run.stdout + run.stderr:  # 2.42 says it on standard error
                return Path(candidate)
    return None


@pytest.fixture(scope="module", params=["2", "3"], ids=["prometheus2", "prometheus3"])
def prometheus(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Any]:
    """Start a Prometheus with a configuration, as a context manager."""
    binary = find(request.param)
    if not binary:
        where = {
            "2": "Prometheus 2 is not here: apt-get install prometheus",
            "3": "Prometheus 3 is not here: name one in WATCHKEEPER_PROMETHEUS3",
        }
        pytest.skip(where[request.param])

    def start(configuration: dict[str, Any] | Path) -> contextlib.AbstractContextManager[Server]:
        return running(binary, tmp_path_factory.mktemp("prometheus"), configuration)

    return start
