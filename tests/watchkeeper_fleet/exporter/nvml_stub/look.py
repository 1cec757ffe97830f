"""Looks at the devices by way of nvidia-ml-py and the stub, as it is told on standard input."""

import ctypes
import dataclasses
import json
import sys
import time

from watchkeeper_fleet.exporter.gpus import Snapshot
from watchkeeper_fleet.exporter.nvml import Nvml


def told(snapshot: Snapshot) -> dict:
    pairs = {
        name: sorted([*key, value] for key, value in getattr(snapshot, name).items()) for name in ("xids", "throttled")
    }
    return {**dataclasses.asdict(snapshot), **pairs}


def main() -> None:
    nvml = Nvml(timeout=float(sys.argv[1]), interval=0.05)
    stub = ctypes.CDLL("libnvidia-ml.so.1")
    for line in sys.stdin:
        for device, key, value in json.loads(line):
            if key == "wait":  # until the other thread has seen something
                time.sleep(value / 1000)
            else:
                stub.stub_set(device, key.encode(), value)
        sys.stdout.write(json.dumps(told(nvml.snapshot())) + "\n")
        sys.stdout.flush()
    nvml.close()


if __name__ == "__main__":
    main()
