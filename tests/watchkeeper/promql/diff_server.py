"""A real Prometheus for differential.py: started with a folder of its own, fed by remote write, asked over HTTP.

Remote write, unlike backfilling with promtool, can carry staleness markers: they are NaNs of certain bits.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import re
import struct
import subprocess
import tempfile
import time
import urllib.parse
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from watchkeeper.engine import Series

PATIENCE_S = 60
# One request holds this much time of all series: the head of the database takes what is up to an hour behind its end.
# That is all of a world of differential.py, whose series the server so numbers in the order of their labels: which of
# several equal values topk keeps depends on it.
SLICE_MS = 58 * 60_000


def version(binary: str) -> tuple[int, int]:
    run = subprocess.run([binary, "--version"], capture_output=True, text=True, check=True)
    found = re.search(r"version (\d+)\.(\d+)", run.stdout + run.stderr)  # 2.42 says it on standard error
    if found is None:
        raise ValueError(f"{binary} is no Prometheus: {run.stdout}{run.stderr}")
    return int(found[1]), int(found[2])


class Server:
    """A Prometheus that answers on `port`. Not for several threads."""

    def __init__(self, process: subprocess.Popen[bytes], log: Path) -> None:
        self.process, self.log = process, log
        self.connection: http.client.HTTPConnection | None = None

    def start(self) -> None:
        end = time.monotonic() + PATIENCE_S
        port = 0
        while time.monotonic() < end:
            if self.process.poll() is not None:
                raise RuntimeError(f"Prometheus ended:\n{self.log.read_text()}")
            found = re.search(r'Listening on"?.* address="?127\.0\.0\.1:([1-9]\d*)', self.log.read_text())
            if found and not port:
                port = int(found[1])
                self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
            if port and self._ask("GET", "/-/ready", b"", {})[0] == 200:
                return
            time.sleep(0.03)
        raise RuntimeError(f"Prometheus is not ready after {PATIENCE_S} s:\n{self.log.read_text()}")

    def _ask(self, method: str, path: str, body: bytes, headers: dict[str, str]) -> tuple[int, bytes]:
        assert self.connection is not None
        self.connection.request(method, path, body, headers)
        response = self.connection.getresponse()
        return response.status, response.read()

    def query(self, expr: str, *times_ms: int) -> dict[str, Any]:
        """The whole answer of the HTTP API, to one time or to start, end and step."""
        names = ("time",) if len(times_ms) == 1 else ("start", "end", "step")
        form = {name: f"{ms / 1000:.3f}" for name, ms in zip(names, times_ms, strict=True)}
        path = "/api/v1/query" if len(times_ms) == 1 else "/api/v1/query_range"
        answer = self.post(path, urllib.parse.urlencode({"query": expr, **form}).encode())
        found: dict[str, Any] = json.loads(answer)
        return found

    def post(self, path: str, form: bytes) -> bytes:
        """The body of the answer to a form."""
        return self._ask("POST", path, form, {"Content-Type": "application/x-www-form-urlencoded"})[1]

    def write(self, series: Iterable[Series]) -> None:
        """Store the samples of series."""
        series = list(series)
        times = [time for one in series for time in (*one.times[:1], *one.times[-1:])]
        if not times:
            return
        for start in range(min(times), max(times) + 1, SLICE_MS):
            body = write_request(series, start, start + SLICE_MS)
            headers = {
                "Content-Encoding": "snappy",
                "Content-Type": "application/x-protobuf",
                "X-Prometheus-Remote-Write-Version": "0.1.0",
            }
            status, answer = self._ask("POST", "/api/v1/write", snappy(body), headers)
            if status not in (200, 204):
                raise RuntimeError(f"remote write: {status} {answer.decode(errors='replace')}")


@contextlib.contextmanager
def running(binary: str) -> Iterator[Server]:
    """Run a Prometheus until the block ends."""
    with tempfile.TemporaryDirectory(prefix="differential-") as name:
        folder = Path(name)
        (folder / "prometheus.yml").write_text("global: {evaluation_interval: 1m}\n")
        command = [
            binary,
            "--config.file=prometheus.yml",
            "--storage.tsdb.path=data",
            "--storage.tsdb.retention.time=100y",
            "--web.listen-address=127.0.0.1:0",
            "--web.enable-remote-write-receiver",
            "--log.level=info",
        ]
        features = (
            "promql-experimental-functions,promql-duration-expr,native-histograms" if version(binary) >= (3, 0) else ""
        )
        if features:
            command.append(f"--enable-feature={features}")
        log = folder / "log"
        with log.open("wb") as file:
            process = subprocess.Popen(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=file, stderr=file)
        server = Server(process, log)
        try:
            server.start()
            yield server
        finally:
            if server.connection is not None:
                server.connection.close()
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def write_request(series: Iterable[Series], start: int, end: int) -> bytes:
    """A prometheus.WriteRequest: repeated TimeSeries of repeated Label and Sample."""
    found = []
    for one in series:
        samples = [
            _sample(time, value) for time, value in zip(one.times, one.values, strict=True) if start <= time < end
        ]
        if samples:
            labels = [_field(1, _field(1, name.encode()) + _field(2, value.encode())) for name, value in one.labels]
            found.append(_field(1, b"".join(labels + samples)))
    return b"".join(found)


def _sample(time: int, value: Any) -> bytes:
    if isinstance(value, float):
        return _field(2, b"\x09" + struct.pack("<d", value) + b"\x10" + varint(time))
    parts = [_double(2, value.count), _double(3, value.sum), b"\x20" + _signed(value.schema)]
    parts += [_double(5, value.zero_threshold), _double(7, value.zero_count)]
    for spans, counts, buckets in ((8, 10, value.negative), (11, 13, value.positive)):
        previous = None
        for index in sorted(buckets):  # a span for each bucket: long, but right
            gap = index if previous is None else index - previous - 1
            parts.append(_field(spans, b"\x08" + _signed(gap) + b"\x10\x01"))
            previous = index
        if buckets:
            parts.append(_field(counts, b"".join(struct.pack("<d", buckets[index]) for index in sorted(buckets))))
    return _field(4, b"".join([*parts, varint(15 << 3) + varint(time)]))


def _double(number: int, value: float) -> bytes:
    return varint(number << 3 | 1) + struct.pack("<d", value)


def _signed(number: int) -> bytes:
    """A sint32 or sint64: zigzag."""
    return varint(number << 1 if number >= 0 else (-number << 1) - 1)


def _field(number: int, content: bytes) -> bytes:
    return varint(number << 3 | 2) + varint(len(content)) + content


def varint(number: int) -> bytes:
    found = bytearray()
    number &= (1 << 64) - 1
    while number >= 0x80:
        found.append(number & 0x7F | 0x80)
        number >>= 7
    found.append(number)
    return bytes(found)


def snappy(content: bytes) -> bytes:
    """The content as a Snappy block that compresses nothing: literals only."""
    found = [varint(len(content))]
    for start in range(0, len(content), 1 << 16):
        piece = content[start : start + (1 << 16)]
        found += [b"\xf4", (len(piece) - 1).to_bytes(2, "little"), piece]
    return b"".join(found)
