"""CUDA as far as the agent looks at it. `calls` lists what would reach the driver, with the thread that did it."""

import os
import threading
from types import SimpleNamespace

default_generators = ()
calls = []
statistics = {}  # per device
_initialized_in = 0


def initialize(devices=2):
    global default_generators, _initialized_in  # noqa: PLW0603 - as torch has it
    default_generators = tuple(range(devices))
    _initialized_in = os.getpid()


def _is_in_bad_fork():
    return _initialized_in not in (0, os.getpid())


def is_initialized():
    return _initialized_in == os.getpid()


def memory_stats_as_nested_dict(device=None):
    return statistics.get(device, {}) if is_initialized() else {}


def get_device_properties(device):
    return SimpleNamespace(uuid=f"0000000{device}-aaaa-bbbb-cccc-dddddddddddd")


def is_current_stream_capturing():
    calls.append(("is_current_stream_capturing", threading.current_thread().name))
    return False


def current_device():
    calls.append(("current_device", threading.current_thread().name))
    return 0


def mem_get_info(device=None):  # noqa: ARG001 - as torch has it
    calls.append(("mem_get_info", threading.current_thread().name))
    return 3 << 30, 8 << 30


nccl = SimpleNamespace(version=lambda: (2, 27, 5))
