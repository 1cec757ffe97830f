"""Real Alertmanagers on loopback, each in a folder of its own, always stopped."""

from __future__ import annotations

import contextlib
import json
import os
import re
import subprocess
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ROOT = Path(__file__).parents[3]
# A slow machine may take a while to start a server; nothing waits longer than it has to.
PATIENCE_S = 60


class Alertmanager:
    """A server that answers at `url`, and reads its configuration from `folder`."""

    def __init__(self, process: subprocess.Popen[bytes], folder: Path) -> None:
        self.process, self.folder = process, folder
        self.url = ""

    def post(self, path: str, data: object = None) -> None:
        """Post JSON."""
        body = b"" if data is None else json.dumps(data).encode()
        request = urllib.request.Request(self.url + path, body, {"Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE_S):
                pass
        except urllib.error.HTTPError as error:
            raise AssertionError(f"{path}: {error.code} {error.read().decode()}") from None

    def alerts(self) -> list[dict[str, Any]]:
        """Return all alerts, those that are muted too."""
        with urllib.request.urlopen(f"{self.url}/api/v2/alerts", timeout=PATIENCE_S) as answer:
            return json.load(answer)

    def configure(self, files: dict[str, str]) -> None:
        """Write its files, by their names, and have it read them."""
        write(files, self.folder)
        self.post("/-/reload")

    def wait(self, what: object, condition: Callable[[], Any]) -> Any:
        """Return the first true answer of condition, asked again and again; `what` is for the message if none comes."""
        end = time.monotonic() + PATIENCE_S
        while time.monotonic() < end:
            assert self.process.poll() is None, f"Alertmanager ended:\n{self.log}"
            if answer := condition():
                return answer
            time.sleep(0.05)
        raise AssertionError(f"waited {PATIENCE_S} s for {what}:\n{self.log}")

    @property
    def log(self) -> str:
        return (self.folder / "log").read_text()

    def listening(self) -> str:
        """Return the address that it says it listens on; port 0 asked the kernel for a free one."""
        found = re.findall(r"Listening on.* address=(127\.0\.0\.1:[1-9]\d*)", self.log)
        return f"http://{found[0]}" if found else ""

    def ready(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.url}/-/ready", timeout=PATIENCE_S):
                return True
        except (urllib.error.HTTPError, urllib.error.URLError):  # while it starts
            return False


def write(files: dict[str, str], folder: Path) -> None:
    """Write generated files into one folder."""
    for path, text in files.items():
        (folder / Path(path).name).write_text(text)


@contextlib.contextmanager
def running(binary: str, folder: Path, files: dict[str, str], *options: str) -> Iterator[Alertmanager]:
    """Run an Alertmanager in folder, on these files, until the block ends."""
    write(files, folder)
    command = [
        *(binary, "--config.file=alertmanager.yaml", "--storage.path=data"),
        *("--web.listen-address=127.0.0.1:0", "--cluster.listen-address="),
        *options,
    ]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        try:
            server = Alertmanager(process, folder)
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


def newer(program: str) -> str:
    """Return the path of a program of Alertmanager's that is unpacked beside Prometheus 3, empty without one."""
    named = os.environ.get("WATCHKEEPER_PROMETHEUS3")
    for folder in (Path(named).parent if named else None, ROOT / ".cache/prometheus3/usr/bin"):
        if folder and os.access(folder / program, os.X_OK):
            return str(folder / program)
    return ""
