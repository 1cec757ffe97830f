"""The processes of a host: which slot each has, and what is served of the living and of the dead."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from watchkeeper_fleet.exporter.allowed import Plan
from watchkeeper_fleet.exporter.text import Samples, add, escape, labels_of
from watchkeeper_fleet.metrics import agent, exporter

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from watchkeeper_fleet.exporter.host import Host
    from watchkeeper_fleet.spool import Record

MOST_LABEL = 128
_UUID = re.compile(r"((GPU|MIG)-)?[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.ASCII | re.IGNORECASE)
_ORDINAL = re.compile(r"[0-9]{1,2}", re.ASCII)
UNKNOWN = "unknown"
SETTLED = 5.0  # seconds in which a file without its lock must stand still before its process is called lost
_INFO = agent.PROCESS_INFO.labels[len(agent.PROCESS) :]
_ALLOCATOR = agent.ALLOCATOR_INFO.labels[len(agent.PROCESS) :]


def short(uuid: str) -> str:
    """Return a UUID as torch has it: NVML writes GPU- or MIG- before it."""
    return uuid[4:].lower() if uuid[:4].upper() in ("GPU-", "MIG-") else uuid.lower()


class Process:
    """What is remembered of one file."""

    __slots__ = ("_key", "_plan", "groups", "killed", "labels", "text", "without_lock")

    def __init__(self, record: Record, slot: str) -> None:
        who = record.identity
        self.labels = (_label(who, "workload"), slot, _label(who, "rank"))
        self.text = labels_of(agent.READY, self.labels)
        self._plan: Plan | None = None
        self._key: object = None
        self.groups: dict[str, int] = {}  # the kills in its control groups, while it lived
        self.killed: bool | None = None
        self.without_lock: tuple[float, int] | None = None  # since when, and at which generation

    def plan(self, record: Record, gpus: Mapping[str, str]) -> Plan:
        """Return where the record's values go, made anew only where something has changed."""
        key = (record.texts, gpus)
        if self._plan is None or self._plan.fields != record.fields or self._key != key:
            self._plan = Plan(record.fields, self.text, gpu_namer(record, gpus))
            self._key = key
        return self._plan


def _label(who: Mapping[str, str], name: str) -> str:
    return who.get(name, "")[:MOST_LABEL]


def gpu_namer(record: Record, gpus: Mapping[str, str]) -> Callable[[str], str]:
    """Return what makes the label `gpu` of what a process wrote: a UUID, or torch's index with the UUID in a text.

    Torch's index is not NVML's where CUDA_VISIBLE_DEVICES is set, so it stands for itself only where the process tells
    no UUID at all. One that is not known still has a name of its own, which joins with nothing.
    """
    tells = any(key.startswith("uuid_") for key in record.texts)

    def name(written: str) -> str:
        whole = _UUID.fullmatch(written)
        uuid = written if whole else record.texts.get(f"uuid_{written}", "")
        known = gpus.get(short(uuid)) if uuid else None
        if known is not None:
            return known
        if whole or not _ORDINAL.fullmatch(written):
            return UNKNOWN
        return f"{UNKNOWN}:{written}" if tells and gpus else written

    return name


class Slots:
    """Keeps `process` unique on the host, since alerts join on it: who had a slot first keeps it."""

    def __init__(self) -> None:
        self._processes: dict[str, Process] = {}
        self._holders: dict[str, str] = {}

    def assign(self, records: Sequence[Record], *, gone: Callable[[str], bool]) -> dict[str, Process]:
        """Return what is remembered of each file, by its path; the rest is forgotten where it is gone."""
        alive = {record.path for record in records if record.state != "dead"}
        for path in self._processes.keys() - {record.path for record in records}:
            if gone(path):
                del self._processes[path]
        self._holders = {
            slot: path for slot, path in self._holders.items() if path in alive and path in self._processes
        }
        for record in sorted(records, key=lambda one: (one.created, one.path)):
            known = self._processes.get(record.path)
            if known is None:
                slot = self._free(_label(record.identity, "process") or "0", record)
                known = self._processes[record.path] = Process(record, slot)
            elif record.path in alive and self._holders.setdefault(known.labels[1], record.path) != record.path:
                # It was taken for dead, and another has its slot by now.
                slot = self._free(_label(record.identity, "process") or "0", record)
                known = self._processes[record.path] = Process(record, slot)
        return self._processes

    def _free(self, wanted: str, record: Record) -> str:
        if record.state == "dead":
            return wanted  # it has none any more; this is the name of its last words
        slot, number = wanted, 1
        while slot in self._holders:
            number += 1
            slot = f"{wanted}-{number}"
        self._holders[slot] = record.path
        return slot


def serve_living(samples: Samples, record: Record, known: Process, plan: Plan, host: Host, *, now: float) -> None:
    """Add what a living process reports, and what is seen of it from outside."""
    plan.write(record.values, samples)
    labels = known.text
    samples[exporter.HEARTBEAT_AGE.name].append(
        (f"{exporter.HEARTBEAT_AGE.name}{{{labels}}}", max(now - record.heartbeat, 0.0))
    )
    finished = record.values[plan.progress] if plan.progress is not None else 0.0
    if finished > 0:
        age = max(now - finished, 0.0)
        samples[exporter.PROGRESS_AGE.name].append((f"{exporter.PROGRESS_AGE.name}{{{labels}}}", age))
    said = {**record.identity, **record.texts, "pid": str(record.pid or record.identity.get("pid", ""))}
    for metric, names in ((agent.PROCESS_INFO, _INFO), (agent.ALLOCATOR_INFO, _ALLOCATOR)):
        if metric is agent.PROCESS_INFO or "backend" in record.texts:
            rest = "".join(f',{name}="{escape(said.get(name, "")[:MOST_LABEL])}"' for name in names)
            samples[metric.name].append((f"{metric.name}{{{labels}{rest}}}", 1.0))
    if record.pid:
        seen = host.process(record.pid)
        if seen.cpu is not None:
            samples[exporter.PROCESS_CPU.name].append((f"{exporter.PROCESS_CPU.name}{{{labels}}}", seen.cpu))
        counts = {group: count for group in seen.groups if (count := host.kills(group)) is not None}
        known.groups = counts
        if seen.groups and seen.groups[0] in counts:
            kills = counts[seen.groups[0]]
            samples[exporter.CGROUP_OOM_KILLS.name].append((f"{exporter.CGROUP_OOM_KILLS.name}{{{labels}}}", kills))


def note_death(record: Record, known: Process, host: Host, *, now: float) -> bool:
    """Look whether the kernel killed it; return whether its file has stood still long enough to call it dead."""
    if known.killed is None:
        # A container's own group goes with it; the one above, the pod's, counts its kills too and stays.
        for group, before in known.groups.items():
            count = host.kills(group)
            if count is not None:
                known.killed = count > before
                break
    if known.without_lock is None or known.without_lock[1] != record.generation:
        known.without_lock = (now, record.generation)
    return now - known.without_lock[0] >= SETTLED or now - record.heartbeat >= 2 * SETTLED


def serve_dead(samples: Samples, record: Record, known: Process, plan: Plan) -> None:
    """Add the last words of a process."""
    add(samples, exporter.LAST_EXIT, record.heartbeat, *known.labels)
    if known.killed is not None:
        add(samples, exporter.LAST_OOM_KILLED, float(known.killed), *known.labels)
    for place, gpu in plan.reserved:
        add(samples, exporter.LAST_RESERVED, max(record.values[place], 0.0), *known.labels, gpu)


def file_of(record: Record) -> str:
    """Return the name by which a file is remembered over restarts: the writer made it unique."""
    return os.path.basename(record.path)  # noqa: PTH119 - hundreds a scrape
