"""The registry: what is counted is published, from any thread, in a signal handler and after a fork."""

from __future__ import annotations

import math
import os
import signal
import threading
import time

import pytest

from watchkeeper_fleet import spool
from watchkeeper_fleet.agent import registry as registry_module
from watchkeeper_fleet.agent.registry import Registry


@pytest.fixture
def registry():
    return Registry()


@pytest.fixture
def writer(tmp_path):
    writer = spool.Writer(str(tmp_path), {"workload": "test"})
    yield writer
    writer.abandon()


def published(registry, writer) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    """What a reader of the file sees."""
    assert writer.publish(registry.values(writer))
    record = spool.read(writer.path)
    return dict(zip(record.fields, record.values, strict=True))


def test_the_capacity_is_that_of_the_spool():
    # It is stated twice: the registry is imported by who decorates a function, the spool by who starts the agent.
    assert registry_module.CAPACITY == spool.CAPACITY


def test_what_is_counted_is_published(registry, writer):
    counter = registry.counter("errors_total", **{"class": "ValueError"})
    gauge = registry.gauge("memory_bytes", gpu="0")
    registry.gauge("never_set_bytes")
    counter.add()
    counter.add(2)
    gauge.set(7)
    assert published(registry, writer) == {
        ("errors_total", (("class", "ValueError"),)): 3.0,
        ("memory_bytes", (("gpu", "0"),)): 7.0,
    }


def test_a_histogram_is_cumulative_and_its_count_is_that_of_its_buckets(registry, writer):
    histogram = registry.histogram("latency_seconds", (0.1, 1.0), function="f")
    for value in (0.05, 0.1, 0.5, 3.0):
        histogram.observe(value)
    f = ("function", "f")
    assert published(registry, writer) == {
        ("latency_seconds_bucket", (f, ("le", "0.1"))): 2.0,  # a bound is in its bucket
        ("latency_seconds_bucket", (f, ("le", "1.0"))): 3.0,
        ("latency_seconds_bucket", (f, ("le", "+Inf"))): 4.0,
        ("latency_seconds_sum", (f,)): pytest.approx(3.65),
        ("latency_seconds_count", (f,)): 4.0,
    }


def test_counters_and_histograms_are_there_before_the_first_event(registry, writer):
    registry.counter("errors_total")
    registry.histogram("latency_seconds", (0.1,))
    assert set(published(registry, writer).values()) == {0.0}


def test_cells_may_be_added_later(registry, writer):
    registry.counter("a_total").add()
    assert len(published(registry, writer)) == 1
    registry.counter("b_total").add(5)
    assert [*published(registry, writer).values()] == [1.0, 5.0]


def test_asking_twice_gives_the_same_cell(registry):
    assert registry.counter("a_total", x="1") is registry.counter("a_total", x="1")
    assert registry.counter("a_total", x="1") is not registry.counter("a_total", x="2")


def test_a_bad_name_leaves_the_others_in_their_places(registry, writer):
    registry.counter("not a name").add(9)
    registry.histogram("x_seconds", (0.1,), workload="the daemon's own label").observe(9)
    registry.gauge("a_bytes").set(1)
    assert published(registry, writer) == {("a_bytes", ()): 1.0}


def test_no_more_than_fits_is_published_and_the_rest_still_counts(registry, writer):
    cells = [registry.counter("x_total", n=str(n)) for n in range(600)]
    for cell in cells:
        cell.add()
    assert len(published(registry, writer)) == spool.CAPACITY
    assert registry.dropped == 100


def test_a_total_survives_that_its_source_is_reset(registry, writer):
    total = registry.total("ooms_total")
    for count in (3, 5, 0, 1):  # reset_accumulated_memory_stats() between 5 and 0
        total.follow(count)
    assert published(registry, writer) == {("ooms_total", ()): 6.0}


def test_a_high_water_mark_stays(registry):
    gauge = registry.gauge("peak_bytes")
    assert math.isnan(gauge.value)
    for value in (3, 9, 4):
        gauge.raise_to(value)
    assert gauge.value == 9


def test_what_computes_before_publishing_may_fail(registry, writer):
    gauge = registry.gauge("oldest_seconds")
    registry.before += [lambda: 1 / 0, lambda: gauge.set(4)]
    assert published(registry, writer) == {("oldest_seconds", ()): 4.0}
    assert registry.faults == 1


def test_no_count_of_many_threads_is_lost(registry, writer):
    counter = registry.counter("a_total")
    histogram = registry.histogram("b_seconds", (0.5,))

    def work():
        for _ in range(20_000):
            counter.add()
            histogram.observe(0.25)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    counts = []
    while any(thread.is_alive() for thread in threads):
        registry.values(writer)
        counts.append(registry.values(writer)[0])
    for thread in threads:
        thread.join()
    assert counts == sorted(counts)
    found = published(registry, writer)
    assert found["a_total", ()] == 160_000
    assert found["b_seconds_count", ()] == 160_000
    assert found["b_seconds_sum", ()] == 40_000


def test_a_signal_handler_may_count_while_its_thread_counts(registry, writer):
    counter = registry.counter("a_total")
    handled = 0

    def handle(*_):
        nonlocal handled
        handled += 1
        counter.add()

    before = signal.signal(signal.SIGALRM, handle)
    signal.setitimer(signal.ITIMER_REAL, 0.0005, 0.0005)
    try:
        own = 0
        end = time.monotonic() + 60
        while handled < 50 and time.monotonic() < end:
            counter.add()
            own += 1
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert handled >= 50
    assert published(registry, writer)["a_total", ()] == own + handled


@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")  # of pytest's own threads
def test_a_forked_child_starts_from_nothing_with_the_same_cells(registry, writer):
    counter = registry.counter("a_total")
    counter.add(5)
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        registry.reset()
        woken = []
        registry.wakers.append(lambda: woken.append(1))
        counter.add(1)
        counter.add(1)
        os.write(write, repr((registry.values(writer), len(woken))).encode())
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as pipe:
        assert pipe.read() == "([2.0], 1)"  # and it was told of the first use alone
    os.waitpid(pid, 0)
    assert published(registry, writer)["a_total", ()] == 5.0
