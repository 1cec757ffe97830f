"""Processes born and killed while daemons collect, and are killed too: nothing is lost, counted twice or misread."""

from __future__ import annotations

import random
import threading
import time

from prometheus_client.openmetrics.parser import text_string_to_metric_families

from watchkeeper_fleet.exporter.text import render
from watchkeeper_fleet.metrics import agent

OOMS = [((agent.OOMS.name, {"gpu": "0"}), 0.0)]


def test_totals_over_deaths_of_processes_and_daemons(spool, another, start):
    published = []
    rng = random.Random(7)

    def live_and_die(number: int) -> None:
        name = str(number)
        writers = start()
        writers.start(name, fields=OOMS)
        for count in range(1, number % 5 + 2):
            writers.publish(name, float(count))
            time.sleep(0.002)
        published.append(count)
        writers.kill()

    workers = [threading.Thread(target=live_and_die, args=(number,)) for number in range(16)]
    for worker in workers:
        worker.start()
    totals = [0.0]
    scrapes = 0
    while any(one.is_alive() for one in workers):
        daemon = another()  # the one before is gone, without a goodbye
        for _ in range(rng.randrange(1, 4)):
            document = render(daemon.samples(), openmetrics=True).decode()
            list(text_string_to_metric_families(document))
            found = daemon.scrape()
            totals.append(found.get('torch_cuda_node_ooms_total{gpu="0"}', 0.0))
            scrapes += 1
    last = another()
    last.scrape()
    last.clock.ahead = 30
    found = last.scrape()
    assert scrapes > 3
    assert totals == sorted(totals)
    assert found['torch_cuda_node_ooms_total{gpu="0"}'] == sum(published)
    assert found['torch_process_lost_total{workload="vlm"}'] == len(workers)
    assert not [series for series in found if series.startswith("torch_cuda_ooms_total")]
    last.clock.ahead = 1e5
    last.scrape()
    assert not list(spool.iterdir())
