"""200 scrapers of the daemon for 60 s, compressed and on kept connections, as Prometheus scrapes: errors, and p99."""

import argparse
import asyncio
import json
import re
import subprocess
import sys
import time
from pathlib import Path

SCRAPERS = 200
REQUEST = (
    b"GET /metrics HTTP/1.1\r\nHost: bench\r\nAccept: application/openmetrics-text;version=1.0.0\r\n"
    b"Accept-Encoding: gzip\r\nX-Prometheus-Scrape-Timeout-Seconds: 10\r\n\r\n"
)


async def scrape(host: str, port: int, until: float, taken: list[float], errors: list[str]) -> None:
    reader, writer = await asyncio.open_connection(host, port)
    while time.monotonic() < until:
        start = time.perf_counter()
        try:
            writer.write(REQUEST)
            head = await reader.readuntil(b"\r\n\r\n")
            await reader.readexactly(int(re.search(rb"Content-Length: (\d+)", head)[1]))
        except (OSError, asyncio.IncompleteReadError) as error:
            errors.append(repr(error))
            return
        taken.append(time.perf_counter() - start)
        if not head.startswith(b"HTTP/1.1 200 "):
            errors.append(head.split(b"\r\n")[0].decode())
    writer.close()


async def run(host: str, port: int, seconds: float) -> tuple[list[float], list[str]]:
    taken: list[float] = []
    errors: list[str] = []
    until = time.monotonic() + seconds
    await asyncio.gather(*(scrape(host, port, until, taken, errors) for _ in range(SCRAPERS)))
    return sorted(taken), errors


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="3 s")
    seconds = 3.0 if parser.parse_args().quick else 60.0
    command = [Path(sys.executable).with_name("watchkeeper"), "exporter", "--demo", "--listen", "127.0.0.1:0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as daemon:
        try:
            host, port = re.search(r"http://(.*):(\d+)/", daemon.stderr.readline()).groups()
            taken, errors = asyncio.run(run(host, int(port), seconds))
            status = Path(f"/proc/{daemon.pid}/status").read_text()
            memory = int(re.search(r"VmHWM:\s+(\d+)", status)[1]) / 1024
        finally:
            daemon.terminate()
    p99 = taken[len(taken) * 99 // 100]
    line = {"case": f"{SCRAPERS} scrapers for {seconds:g} s, p99", "ours": round(p99, 4), "unit": "s", "bar": 1.0}
    line |= {"scrapes": len(taken), "errors": len(errors), "first_error": errors[0] if errors else ""}
    line |= {"memory_mb": round(memory, 1), "ok": p99 < 1.0 and not errors}
    print(json.dumps(line))


if __name__ == "__main__":
    main()
