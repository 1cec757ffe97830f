"""Two hundred scrapers at the same time: the short form of bench/exporter_http.py."""

import contextlib
import sys
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from http_site import ask, connection, samples, serving

SCRAPERS, SECONDS = 200, 3.0


def test_two_hundred_scrapers():
    body = samples()
    body["gpu_xid_errors_total"] = [(f'gpu_xid_errors_total{{gpu="0",xid="{number}"}}', 0.0) for number in range(5000)]
    taken: list[float] = []
    bad: list[object] = []
    stop = time.monotonic() + SECONDS

    def scrape(server):
        with contextlib.closing(connection(server)) as client:
            while time.monotonic() < stop:
                start = time.monotonic()
                try:
                    answered = ask(client, Accept_Encoding="gzip", X_Prometheus_Scrape_Timeout_Seconds="10")
                    if answered.status != 200 or len(answered.body) < 200_000:
                        bad.append(answered)
                except OSError as error:
                    bad.append(error)
                taken.append(time.monotonic() - start)

    with serving(lambda: dict(body), reuse=4.0) as server:
        threads = [threading.Thread(target=scrape, args=(server,)) for _ in range(SCRAPERS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert not bad
    taken.sort()
    assert len(taken) >= SCRAPERS
    assert taken[len(taken) * 99 // 100] < 5.0  # 200 clients share this process with the server; the benchmark wants 1
