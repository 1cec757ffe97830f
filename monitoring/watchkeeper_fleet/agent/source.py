"""What the agent asks of torch, which it never imports: only what makes no context and waits for no device."""

from __future__ import annotations

import os
import sys

from watchkeeper_fleet.agent.allocator import configuration

TYPE_CHECKING = False  # typing itself is slow to import
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

MOST_DEVICES = 64
UNKNOWN = "unknown"  # in place of a UUID: then torch's index does not stand for the driver's


def torch_module() -> Any:
    """Return torch if the workload has imported it, as far as it has; else None."""
    torch = sys.modules.get("torch")
    return torch if getattr(torch, "cuda", None) is not None else None


def initialized(torch: Any) -> bool:
    """Whether this process has CUDA up: False in a child that was forked after its parent had."""
    check = getattr(torch.cuda, "is_initialized", None)  # missing while torch is being imported
    return check is not None and bool(check())


def forked_too_late(torch: Any) -> bool:
    """Whether CUDA can never be up in this process, since it was when it was forked."""
    return bool(getattr(torch.cuda, "_is_in_bad_fork", lambda: False)())


def devices(torch: Any) -> int:
    """Return how many devices torch has; device_count() may ask the driver, the generators are there already."""
    return min(len(getattr(torch.cuda, "default_generators", ())), MOST_DEVICES)


def statistics(torch: Any, device: int) -> Mapping[str, Any]:
    """Return the allocator's statistics: one call, where memory_allocated() and its like sort 123 keys each."""
    found: Mapping[str, Any] = torch.cuda.memory_stats_as_nested_dict(device)
    return found


def uuid(torch: Any, device: int) -> str:
    """Return the UUID of a device as NVML writes it, without the prefix: torch does not say whether it is a MIG one."""
    # What is asked of the runtime once is then torch's own copy; nothing is done on a stream.
    found = getattr(torch.cuda.get_device_properties(device), "uuid", None)
    if found is None:  # before 2.4 or so
        found = _given(device, os.environ)
    return str(found).removeprefix("GPU-").removeprefix("MIG-").lower()


def _given(device: int, environ: Mapping[str, str]) -> str:
    """Return the UUID by which a process was given a device, "" where torch's index is that of the driver."""
    visible = environ.get("CUDA_VISIBLE_DEVICES")
    if visible is None:
        # In a container the first device may be any of the host's.
        return UNKNOWN if {"NVIDIA_VISIBLE_DEVICES", "KUBERNETES_SERVICE_HOST"} & environ.keys() else ""
    names = [name.strip() for name in visible.split(",")]
    # What a number means depends on CUDA_DEVICE_ORDER, and on who gave it: no name is better than a wrong one.
    return names[device] if device < len(names) and names[device].startswith(("GPU-", "MIG-")) else UNKNOWN


def device_memory(torch: Any) -> tuple[int, int, int] | None:
    """Return the current device, its free bytes and all its bytes, None while a graph is captured.

    For the thread that drives the device, at the end of a step: during a capture such calls would break it.
    """
    if torch.cuda.is_current_stream_capturing():
        return None
    device = int(torch.cuda.current_device())
    free, total = torch.cuda.mem_get_info(device)
    return device, int(free), int(total)


def observe_ooms(torch: Any, observer: Callable[[int, int, int, int], object]) -> None:
    """Have observer called at each out-of-memory error that torch raises: device, request, total, free.

    Only once CUDA is up: attaching it brings CUDA up. There is no way to take it off.
    """
    attach = getattr(torch._C, "_cuda_attach_out_of_memory_observer", None)  # noqa: SLF001 - there is no public way
    if attach is not None:
        attach(observer)


def first_texts(environ: Mapping[str, str]) -> dict[str, str]:
    """Return what is known before torch is there."""
    settings = configuration(environ)
    return {
        "python_version": ".".join(map(str, sys.version_info[:3])),
        "expandable_segments": "true" if settings.get("expandable_segments", "").lower() == "true" else "false",
        "max_split_size_mb": settings.get("max_split_size_mb", ""),
    }


def torch_texts(torch: Any) -> dict[str, str]:
    """Return the versions that torch tells without looking for a device."""
    version = torch.version
    found = {
        "torch_version": str(version.__version__),
        "cuda_version": str(getattr(version, "cuda", None) or getattr(version, "hip", None) or ""),
    }
    backend = getattr(torch._C, "_cuda_getAllocatorBackend", None)  # noqa: SLF001 - get_allocator_backend() fails on CPU
    if backend is not None:
        found["backend"] = str(backend())
    return found


def cuda_texts(torch: Any) -> dict[str, str]:
    """Return the versions of the libraries, which are loaded once CUDA is up."""
    found = {}
    asks: tuple[tuple[str, Callable[[], str]], ...] = (
        ("cudnn_version", lambda: cudnn_version(torch.backends.cudnn.version())),
        ("nccl_version", lambda: ".".join(map(str, torch.cuda.nccl.version()))),
        ("driver_version", driver_version),
    )
    for key, ask in asks:
        try:
            found[key] = ask()
        except Exception:  # noqa: BLE001, PERF203 - built without it: then there is no version
            found[key] = ""
    return found


def cudnn_version(number: int) -> str:
    """Return 90100 as 9.1.0, and 8902 as 8.9.2."""
    thousand = 10_000 if number >= 90_000 else 1_000
    return f"{number // thousand}.{number % thousand // 100}.{number % 100}"


def driver_version(path: str = "/proc/driver/nvidia/version") -> str:
    """Return the version of the kernel's driver, from the line `NVRM version: ... Kernel Module  550.54.15  Tue...`."""
    with open(path, encoding="utf-8") as file:  # noqa: PTH123 - pathlib is slow to import in a workload
        words = file.readline().split()
    return next((word for word in words if word[:1].isdigit() and "." in word), "")


def rank(environ: Mapping[str, str] = os.environ) -> str:
    """Return the rank that the launcher gave; a process on its own is the first of one."""
    found = environ.get("RANK", "")
    return found if found.isdecimal() and found.isascii() and len(found) <= 6 else "0"
