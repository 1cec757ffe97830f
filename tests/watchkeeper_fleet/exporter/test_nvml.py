"""NVML: the real nvidia-ml-py on a library of ours that answers as good and as bad drivers do."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from watchkeeper_fleet.exporter.gpus import Device, Snapshot

STUB = Path(__file__).with_name("nvml_stub")
GIB = 2**30


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    """Build a stub; the name of a variant is the macro that makes it."""

    def build(variant: str) -> Path:
        folder = tmp_path_factory.getbasetemp() / f"nvml-{variant}"
        folder.mkdir(exist_ok=True)
        made = folder / "libnvidia-ml.so.1"
        if not made.exists():
            command = ["cc", "-shared", "-fPIC", "-O1", f"-D{variant}", "-Wl,-soname,libnvidia-ml.so.1"]
            subprocess.run([*command, "-o", str(made), str(STUB / "nvml_stub.c")], check=True)
        return folder

    return build


@pytest.fixture
def driver(library):
    """Start a process under a driver; what it is told are (device, key, value), what it answers is a snapshot."""
    children = []

    def start(variant: str = "NEW_DRIVER", *, timeout: float = 60.0):
        environment = {**os.environ, "LD_LIBRARY_PATH": str(library(variant))}
        child = subprocess.Popen(
            [sys.executable, str(STUB / "look.py"), str(timeout)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
        )
        children.append(child)

        def look(*settings) -> Snapshot:
            child.stdin.write(json.dumps(settings) + "\n")
            child.stdin.flush()
            found = json.loads(child.stdout.readline())
            for device in found["devices"]:
                device["processes"] = {int(pid): size for pid, size in device["processes"].items()}
            return Snapshot(
                **{
                    **found,
                    "devices": [Device(**device) for device in found["devices"]],
                    "xids": {(gpu, xid): count for gpu, xid, count in found["xids"]},
                    "throttled": {(gpu, reason): seconds for gpu, reason, seconds in found["throttled"]},
                }
            )

        return look

    yield start
    for child in children:
        child.stdin.close()
        assert child.wait(60) == 0
        child.stdout.close()


def eventually(look, holds):
    """Look until something is there; the other thread of the process finds it within a moment."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        found = look((0, "wait", 20))
        if holds(found):
            return found
    raise AssertionError("it never came")


def first_events(look, *settings):
    """Look, and again until there are events."""
    found = look(*settings)
    return found.xids or eventually(look, lambda found: found.xids).xids


def test_eight_devices(driver):
    look = driver()
    found = look((0, "temperature", 61), (0, "used_gib", 30), (0, "pid", 4242), (5, "remap_failed", 1))
    assert (found.reason, found.throttles_known) == ("", True)
    assert found.driver == "550.54.15"
    assert [device.gpu for device in found.devices] == list("01234567")
    first = found.devices[0]
    assert first == Device(
        "0",
        uuid="GPU-00000000-0000-4000-8000-000000000000",
        name="NVIDIA H100 80GB HBM3",
        total=80 * GIB,
        free=49 * GIB,
        used=30 * GIB,
        utilization=0.37,
        temperature=61,
        slowdown=90,
        power=350.5,
        ecc={"corrected": 12, "uncorrected": 1},
        remap_failed=False,
        remap_pending=False,
        replays=2,
        lanes=8,
        lanes_max=16,
        nvlink_bytes={"transmit": 138 * 1024, "receive": 139 * 1024},
        nvlink_errors={"flit_crc": 38, "data_crc": 45, "replay": 52},
        processes={4242: 3 * GIB},
    )
    assert found.devices[5].remap_failed is True


def test_slices(driver):
    found = driver()((1, "mig", 2), (1, "pid", 77))
    assert [device.gpu for device in found.devices] == ["0", "1", "1:0", "1:1", *"234567"]
    whole, first, second = found.devices[1:4]
    assert (whole.sliced, whole.whole, first.sliced, first.whole) == (True, True, False, False)
    assert first.uuid == "MIG-00000000-0000-4000-8000-000000000200"
    assert second.total == 80 * GIB
    assert first.processes == {77: 3 * GIB}
    assert first.utilization is None
    assert whole.temperature == 0


@pytest.mark.parametrize("how", [1, 2, 3], ids=["calls fail", "no handle", "between two calls"])
def test_a_device_falls_off_the_bus(driver, how):
    look = driver()
    assert first_events(look, (3, "xid", 13)) == {("3", "13"): 1}, "its events are waited for"
    found = look((3, "xid", 79), (3, "lost", how))  # its last word comes before
    assert [device.gpu for device in found.devices] == list("0124567")
    assert found.reason == ""
    if not found.xids:
        found = eventually(look, lambda found: found.xids)
    assert found.xids == {("3", "79"): 1}
    assert len(look((3, "lost", 0)).devices) == 8


def test_events_are_counted(driver):
    look = driver()
    look()
    counted: dict[tuple[str, str], int] = {}

    def all_there(found):
        for key, count in found.xids.items():
            counted[key] = counted.get(key, 0) + count
        return len(counted) == 2

    if not all_there(look((2, "xid", 48), (4, "xid", 99_999))):
        eventually(look, all_there)
    assert counted == {("2", "48"): 1, ("4", "other"): 1}
    assert look().xids == {}


@pytest.mark.parametrize("variant", ["NEW_DRIVER", "OLD_DRIVER"])
def test_time_slowed_down_is_summed_up_by_reason(driver, variant):
    look = driver(variant)
    look((0, "reasons", 0x40 | 0x08), (1, "reasons", 0x04), (2, "reasons", 0x08), (3, "reasons", 0x01))
    found = eventually(look, lambda found: len(found.throttled) == 3)
    assert set(found.throttled) == {("0", "thermal"), ("1", "power"), ("2", "hardware")}
    assert all(seconds > 0 for seconds in found.throttled.values())
    assert found.throttles_known


def test_a_driver_without_newer_symbols(driver):
    found = driver("OLD_DRIVER")((0, "used_gib", 30), (0, "pid", 4242))
    assert len(found.devices) == 8
    first = found.devices[0]
    assert (first.total, first.free, first.used) == (80 * GIB, 49 * GIB, 31 * GIB)
    assert first.processes == {4242: 3 * GIB}
    assert (first.remap_failed, first.nvlink_bytes, first.sliced) == (None, {}, False)


def test_garbage_is_left_out(driver):
    found = driver()((0, "garbage", 1), (1, "used_gib", 1))
    assert [device.gpu for device in found.devices] == list("1234567"), "without UUID and memory there is no device"
    assert found.devices[0].used == GIB


def test_a_hanging_driver_is_not_waited_for(driver):
    look = driver(timeout=0.5)
    assert look((0, "hang", 1)).reason == "timeout"
    assert look().reason == "timeout", "the look before still hangs"
    found = eventually(lambda *settings: look((0, "hang", 0), *settings), lambda found: not found.reason)
    assert len(found.devices) == 8


@pytest.mark.parametrize(
    ("code", "reason"), [(9, "no_driver"), (18, "version_mismatch"), (4, "no_permission"), (999, "error")]
)
def test_a_driver_that_does_not_start(driver, code, reason):
    look = driver()
    assert look((0, "init", code)) == Snapshot(reason=reason, throttles_known=False)
    assert len(look((0, "init", 0)).devices) == 8, "it is tried again"


def test_a_driver_that_was_loaded_anew(driver):
    look = driver()
    assert len(look().devices) == 8
    assert look((0, "reloaded", 1)).reason == "error"
    assert len(look().devices) == 8
    assert first_events(look, (2, "xid", 48)) == {("2", "48"): 1}, "its events are waited for again"


def test_events_beside_a_device_that_is_lost_and_of_it_when_it_is_back(driver):
    look = driver()
    assert first_events(look, (3, "lost", 1), (5, "xid", 63)) == {("5", "63"): 1}
    assert first_events(look, (5, "xid", 64)) == {("5", "64"): 1}
    assert first_events(look, (3, "lost", 0), (3, "xid", 31)) == {("3", "31"): 1}


def test_devices_that_come_later_are_watched_too(driver):
    look = driver()
    assert len(look((0, "count", 2)).devices) == 2
    assert len(look((0, "count", 8)).devices) == 8
    assert first_events(look, (7, "xid", 13)) == {("7", "13"): 1}


def test_no_devices(driver):
    found = driver()((0, "count", 0))
    assert (found.reason, found.devices) == ("", [])


def test_no_library():
    code = "from watchkeeper_fleet.exporter.nvml import Nvml; print(Nvml().snapshot().reason)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() in ("no_library", "")  # a machine with a driver has one


def test_no_package():
    code = "import sys; sys.modules['pynvml'] = None\n"
    code += "from watchkeeper_fleet.exporter.nvml import Nvml; print(Nvml().snapshot().reason)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "no_package"
