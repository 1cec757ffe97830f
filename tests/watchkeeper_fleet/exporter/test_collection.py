"""Collection: the living, the dead and the totals, from real spool files of real processes."""

from __future__ import annotations

import json
import os

import pytest

from watchkeeper_fleet.exporter.gpus import REASONS, XIDS, Device, Snapshot
from watchkeeper_fleet.exporter.state import State
from watchkeeper_fleet.metrics import agent

MIB = 2**20
PROCESS = 'workload="vlm",process="0",rank="0"'
UUID = "8f5b3c1e-0000-4444-8888-0123456789ab"


def test_a_living_process_is_served(daemon, writers):
    writers.start()
    found = daemon.scrape()
    assert found[f'torch_cuda_memory_reserved_bytes{{{PROCESS},gpu="0"}}'] == 800 * MIB
    assert found[f"torch_process_ready{{{PROCESS}}}"] == 1
    assert 0 <= found[f"torch_process_heartbeat_age_seconds{{{PROCESS}}}"] < 30
    assert found[f"torch_process_cpu_seconds_total{{{PROCESS}}}"] > 0
    assert found['watchkeeper_spool_files{state="live"}'] == 1
    assert found["watchkeeper_spool_dropped_series"] == 0
    assert not [series for series in found if series.startswith("torch_process_last_")]


def test_counters_are_there_before_anything_happened(daemon, writers):
    daemon.snapshot = Snapshot([Device("0"), Device("1")])
    writers.start(fields=[])
    found = daemon.scrape()
    for series in (
        'torch_cuda_node_ooms_total{gpu="1"}',
        'torch_cuda_node_alloc_retries_total{gpu="0"}',
        'gpu_xid_errors_total{gpu="0",xid="79"}',
        'gpu_xid_errors_total{gpu="1",xid="other"}',
        'gpu_throttled_seconds_total{gpu="0",reason="thermal"}',
        'torch_process_lost_total{workload="vlm"}',
    ):
        assert found[series] == 0
    assert sum(series.startswith('gpu_xid_errors_total{gpu="0"') for series in found) == len(XIDS) + 1


def test_a_killed_process_leaves_last_words_and_totals(daemon, writers):
    writers.start()
    assert daemon.scrape()['torch_cuda_node_ooms_total{gpu="0"}'] == 1
    writers.publish("0", 900.0 * MIB, 850.0 * MIB, 5.0, 3.0, 1.0)
    writers.kill()
    found = daemon.scrape()
    assert not [series for series in found if series.startswith("torch_cuda_memory_")]
    assert found[f'torch_process_last_memory_reserved_bytes{{{PROCESS},gpu="0"}}'] == 900 * MIB
    assert f"torch_process_last_exit_timestamp_seconds{{{PROCESS}}}" in found
    assert found['torch_cuda_node_ooms_total{gpu="0"}'] == 3
    assert found['torch_cuda_node_alloc_retries_total{gpu="0"}'] == 5
    assert found['torch_process_lost_total{workload="vlm"}'] == 0, "its file must stand still for a while"
    daemon.clock.ahead += 15
    assert daemon.scrape()['torch_process_lost_total{workload="vlm"}'] == 1
    daemon.clock.ahead += 15
    assert daemon.scrape()['torch_process_lost_total{workload="vlm"}'] == 1


@pytest.mark.parametrize("mark", ["clean", "exception:ValueError"])
def test_who_said_why_it_stops_is_not_lost(daemon, writers, mark):
    writers.start()
    daemon.scrape()
    writers.tell("0", mark=mark)
    daemon.clock.ahead += 60
    found = daemon.scrape()
    assert found['torch_process_lost_total{workload="vlm"}'] == 0
    assert f"torch_process_last_exit_timestamp_seconds{{{PROCESS}}}" in found


def test_totals_go_on_after_a_restart_of_the_daemon(daemon, another, start):
    first, second = start(), start()
    first.start("0")
    second.start("1")
    assert daemon.scrape()['torch_cuda_node_ooms_total{gpu="0"}'] == 2
    first.kill()
    daemon.clock.ahead += 15
    daemon.scrape()
    second.publish("1", 0, 0, 3, 4)  # while no daemon ran
    again = another()
    again.clock.ahead = 30
    found = again.scrape()
    assert found['torch_cuda_node_ooms_total{gpu="0"}'] == 5
    assert found['torch_process_lost_total{workload="vlm"}'] == 1


def test_a_daemon_killed_between_looking_and_saving_counts_once(spool, another, writers):
    writers.start()
    state = State(spool.with_name("state.json"))
    daemon = another(state=state)
    state.save = lambda: None  # killed just before
    daemon.scrape()
    assert another().scrape()['torch_cuda_node_ooms_total{gpu="0"}'] == 1
    assert another().scrape()['torch_cuda_node_ooms_total{gpu="0"}'] == 1


def test_statistics_set_back_by_the_workload_count_on(daemon, writers):
    writers.start()
    for ooms, total in ((5, 5), (2, 7), (2, 7), (0, 7), (1, 8)):
        writers.publish("0", 0, 0, 3, ooms)
        assert daemon.scrape()['torch_cuda_node_ooms_total{gpu="0"}'] == total


def test_a_restart_of_the_daemon_after_statistics_were_set_back(daemon, another, writers):
    writers.start()
    daemon.scrape()
    writers.publish("0", 0, 0, 0, 0)
    daemon.scrape()
    writers.publish("0", 0, 0, 0, 3)
    assert another().scrape()['torch_cuda_node_ooms_total{gpu="0"}'] == 4


def test_the_last_words_are_those_of_the_last(daemon, start):
    for reserved in (3.0, 1.0, 2.0):
        writers = start()
        writers.start(fields=[((agent.RESERVED.name, {"gpu": "0"}), reserved)])
        writers.kill()
    assert daemon.scrape()[f'torch_process_last_memory_reserved_bytes{{{PROCESS},gpu="0"}}'] == 2.0


def test_files_of_the_long_dead_are_deleted_and_their_totals_stay(spool, another, writers):
    daemon = another(keep=100.0)
    path = writers.start()
    daemon.scrape()
    writers.kill()
    daemon.clock.ahead = 50
    daemon.scrape()
    assert path.exists()
    daemon.clock.ahead = 200
    daemon.scrape()
    assert not path.exists()
    found = daemon.scrape()
    assert not [series for series in found if "_last_" in series]
    assert found['torch_cuda_node_ooms_total{gpu="0"}'] == 1
    assert json.loads(spool.with_name("state.json").read_text())["counted"] == {}


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[]", b'{"version": 99}', b"\xff\xfe", b"[" * 100_000, b'{"version": 1, "totals": [[1]]}']
)
def test_a_broken_state_does_not_stop_the_daemon(spool, another, writers, content):
    spool.with_name("state.json").write_bytes(content)
    writers.start()
    assert another().scrape()['torch_cuda_node_ooms_total{gpu="0"}'] == 1
    assert another().scrape()['torch_cuda_node_ooms_total{gpu="0"}'] == 1


def test_a_state_that_can_not_be_written_is_told(spool, another, writers):
    writers.start()
    assert another().scrape()["watchkeeper_state_saved"] == 1
    found = another(state=State(spool / "no" / "such" / "folder")).scrape()
    assert found["watchkeeper_state_saved"] == 0
    assert found['torch_cuda_node_ooms_total{gpu="0"}'] == 1


def test_a_slot_is_one_process(daemon, start):
    first, second = start(), start()
    first.start("0", workload="vlm")
    daemon.scrape()
    second.start("0", workload="other")
    for _ in range(2):
        found = daemon.scrape()
        assert f"torch_process_ready{{{PROCESS}}}" in found
        assert 'torch_process_ready{workload="other",process="0-2",rank="0"}' in found
    first.kill()
    found = daemon.scrape()
    assert 'torch_process_ready{workload="other",process="0-2",rank="0"}' in found, "it keeps what it has"


def test_devices_are_joined_by_uuid(daemon, writers):
    daemon.snapshot = Snapshot([Device("3", f"GPU-{UUID}", total=1000 * MIB, free=100 * MIB, used=880 * MIB)])
    daemon.snapshot.devices[0].processes = {writers.pid: 850 * MIB, 1: 20 * MIB}
    writers.start(texts={"uuid_0": UUID})
    writers.start("1", fields=[((agent.RESERVED.name, {"gpu": f"GPU-{UUID.upper()}"}), 50.0 * MIB)])
    writers.start("2", fields=[((agent.RESERVED.name, {"gpu": "0" + UUID[1:]}), 50.0 * MIB)])
    found = daemon.scrape()
    assert found[f'torch_cuda_memory_reserved_bytes{{{PROCESS},gpu="3"}}'] == 800 * MIB
    assert found['torch_cuda_memory_reserved_bytes{workload="vlm",process="1",rank="1",gpu="3"}'] == 50 * MIB
    assert found['torch_cuda_memory_reserved_bytes{workload="vlm",process="2",rank="2",gpu="unknown"}'] == 50 * MIB
    assert found['gpu_memory_non_torch_bytes{gpu="3"}'] == 30 * MIB
    assert found['torch_cuda_node_ooms_total{gpu="3"}'] == 1
    assert [value for series, value in found.items() if series.startswith("gpu_process_memory")] == [850 * MIB]


@pytest.mark.parametrize(
    ("texts", "gpus"),
    [
        ({}, ["0", "1"]),
        ({"uuid_0": "unknown", "uuid_1": "unknown"}, ["unknown:0", "unknown:1"]),
        ({"uuid_0": UUID}, ["3", "unknown:1"]),  # the other is not told yet
    ],
    ids=["none is told", "none is known", "one is told"],
)
def test_an_index_of_torch_is_not_taken_for_one_of_nvml(daemon, writers, texts, gpus):
    daemon.snapshot = Snapshot([Device("0", "GPU-0"), Device("3", f"GPU-{UUID}")])
    writers.start(fields=[((agent.RESERVED.name, {"gpu": gpu}), 5.0) for gpu in "01"], texts=texts)
    found = daemon.scrape()
    start = f"torch_cuda_memory_reserved_bytes{{{PROCESS},"
    assert [one for one in found if one.startswith(start)] == [f'{start}gpu="{gpu}"}}' for gpu in gpus]


def test_how_it_is_configured_and_which_driver_it_has(daemon, writers):
    texts = {"backend": "native", "expandable_segments": "false", "driver_version": "550.54.15"}
    writers.start(texts=texts)
    writers.start("1", texts={**texts, "max_split_size_mb": "128"})
    found = "\n".join(daemon.scrape())
    start = 'torch_cuda_allocator_info{workload="vlm",process='
    rest = 'backend="native",expandable_segments="false",max_split_size_mb='
    assert f'{start}"0",rank="0",{rest}""}}' in found
    assert f'{start}"1",rank="1",{rest}"128"}}' in found
    assert 'driver_version="550.54.15"}' in found


def test_memory_of_a_device_with_slices_is_that_of_the_slices(daemon):
    whole = Device("0", total=80, free=30, used=50, temperature=60, sliced=True)
    daemon.snapshot = Snapshot([whole, Device("0:0", total=40, free=10, used=30, whole=False)])
    found = daemon.scrape()
    assert [series for series in found if series.startswith("gpu_memory_total_bytes")] == [
        'gpu_memory_total_bytes{gpu="0:0"}'
    ]
    assert found['gpu_temperature_celsius{gpu="0"}'] == 60


def test_what_is_not_torch_is_never_less_than_nothing(daemon, writers):
    daemon.snapshot = Snapshot([Device("0", total=1000 * MIB, used=700 * MIB)])
    writers.start()  # has reserved more since
    assert daemon.scrape()['gpu_memory_non_torch_bytes{gpu="0"}'] == 0


def test_two_devices_that_say_they_are_one_are_served_once(daemon, writers):
    daemon.snapshot = Snapshot([Device("3", f"GPU-{UUID}")])
    fields = [((agent.RESERVED.name, {"gpu": gpu}), float(gpu) + 5) for gpu in "01"]
    writers.start(fields=fields, texts={"uuid_0": UUID, "uuid_1": UUID})
    found = daemon.scrape()
    assert found[f'torch_cuda_memory_reserved_bytes{{{PROCESS},gpu="3"}}'] == 5
    assert found["watchkeeper_spool_dropped_series"] == 1


def test_devices_that_are_gone_are_missed(daemon, another):
    daemon.snapshot = Snapshot([Device("0"), Device("1"), Device("1:0", whole=False)])
    found = daemon.scrape()
    assert (found["gpu_devices_expected"], found["gpu_devices_visible"]) == (2, 2)
    daemon.snapshot = Snapshot([Device("0")], xids={("1", "79"): 1})
    found = daemon.scrape()
    assert (found["gpu_devices_expected"], found["gpu_devices_visible"]) == (2, 1)
    assert found['gpu_xid_errors_total{gpu="1",xid="79"}'] == 1
    assert another(expected=8).scrape()["gpu_devices_expected"] == 8


@pytest.mark.parametrize("reason", REASONS)
def test_without_nvml_a_gauge_says_why_and_torch_is_served(daemon, writers, reason):
    writers.start()
    daemon.snapshot = Snapshot(reason=reason)
    found = daemon.scrape()
    assert found["watchkeeper_nvml_up"] == 0
    assert [one for one in REASONS if found[f'watchkeeper_nvml_failure{{reason="{one}"}}']] == [reason]
    assert f'torch_cuda_memory_reserved_bytes{{{PROCESS},gpu="0"}}' in found


def test_files_that_are_none_are_counted_and_harm_nothing(daemon, spool, writers):
    path = writers.start()
    (spool / "a.spool").write_bytes(b"")
    (spool / "b.spool").write_bytes(b"\xff" * path.stat().st_size)
    (spool / "c.spool").symlink_to(path)
    os.mkfifo(spool / "d.spool")
    (spool / "e.spool").mkdir()
    found = daemon.scrape()
    assert found['watchkeeper_spool_files{state="live"}'] == 1
    assert found['watchkeeper_spool_files{state="corrupt"}'] == 2
    assert found['watchkeeper_spool_files{state="refused"}'] == 3
    assert found['watchkeeper_spool_unread_files{reason="fifo"}'] == 1


def test_no_folder_is_told(daemon, spool):
    spool.rmdir()
    assert daemon.scrape()["watchkeeper_spool_up"] == 0


def test_there_are_not_more_files_and_series_than_allowed(another, writers):
    for name in "0123":
        writers.start(name)
    found = another(most_series=10).scrape()
    assert sum(series.startswith("torch_process_ready") for series in found) == 2
    assert found["watchkeeper_spool_dropped_series"] == 10
    found = another(most_files=3).scrape()
    assert sum(series.startswith("torch_process_ready") for series in found) == 3
    assert found['watchkeeper_spool_unread_files{reason="limit"}'] == 1


def test_only_files_of_the_owners_given_are_read(another, writers):
    writers.start()
    found = another(owner={12345}).scrape()
    assert found['watchkeeper_spool_unread_files{reason="owner"}'] == 1
    assert not [series for series in found if series.startswith("torch_process_ready")]
