"""What a moment's look at the devices yields, whoever looked: NVML or the demonstration."""

from __future__ import annotations

from dataclasses import dataclass, field

# Why NVML does not answer.
REASONS = ("no_package", "no_library", "no_driver", "version_mismatch", "no_permission", "timeout", "error")
THROTTLES = ("thermal", "power", "hardware")
# Those that NVIDIA's list of XIDs names for data centre devices; any other counts as `other`.
XIDS = (
    *(8, 13, 31, 32, 37, 38, 43, 44, 45, 46, 48, 54, 56, 57, 58, 61, 62, 63, 64, 65, 66, 68, 69, 71, 72, 73, 74, 78),
    *(79, 80, 81, 83, 92, 93, 94, 95, 96, 97, 109, 110, 118, 119, 120, 121, 122, 123, 124, 136, 137, 140, 143),
    *(144, 145, 146, 147, 148, 149, 150, 151, 154, 155, 156, 158),
)


@dataclass(slots=True)
class Device:
    """A device, or a slice of one (MIG); None is what it does not say."""

    gpu: str  # the label: NVML's index, or index:MIG
    uuid: str = ""
    name: str = ""
    total: int | None = None
    free: int | None = None
    used: int | None = None
    utilization: float | None = None
    temperature: int | None = None
    slowdown: int | None = None
    power: float | None = None
    ecc: dict[str, int] = field(default_factory=dict)  # corrected, uncorrected
    remap_failed: bool | None = None
    remap_pending: bool | None = None
    replays: int | None = None
    lanes: int | None = None
    lanes_max: int | None = None
    nvlink_bytes: dict[str, int] = field(default_factory=dict)  # transmit, receive
    nvlink_errors: dict[str, int] = field(default_factory=dict)
    processes: dict[int, int] = field(default_factory=dict)  # bytes by pid
    whole: bool = True  # not a slice
    sliced: bool = False  # has slices, which hold its memory


@dataclass(slots=True)
class Snapshot:
    """All devices that answer. `reason` is one of REASONS where NVML does not."""

    devices: list[Device] = field(default_factory=list)
    driver: str = ""
    reason: str = ""
    # Since the snapshot before: events by (gpu, XID), seconds slowed down by (gpu, reason).
    xids: dict[tuple[str, str], int] = field(default_factory=dict)
    throttled: dict[tuple[str, str], float] = field(default_factory=dict)
    # Slowdowns can be asked for; else their seconds are left out.
    throttles_known: bool = True
