"""Whether embeddings still look as they did when the reference was saved, without ever waiting for their device.

    drift = agent.drift("query", agent.reference.load("queries.json"))
    ...
    drift.add(embeddings)  # [n, d] or [d], on any device

Each batch adds one row of sums and counts to a row on its own device. When that holds a window's worth, it is copied
behind the batch; a later call that finds the copy done publishes the figures and begins anew.
"""

from __future__ import annotations

import math
import os
import sys
from _thread import allocate_lock

from watchkeeper_fleet.agent import projections as along
from watchkeeper_fleet.agent.reference import Reference
from watchkeeper_fleet.agent.registry import REGISTRY, Registry
from watchkeeper_fleet.metrics.agent import (
    EMBEDDING_COSINE,
    EMBEDDING_NONFINITE,
    EMBEDDING_NORM,
    EMBEDDING_PSI,
    EMBEDDING_SAMPLES,
)
from watchkeeper_fleet.spool.layout import cleaned

TYPE_CHECKING = False  # typing itself is slow to import
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

WINDOW = 1000
MOST_WINDOW = 1_000_000  # counts are exact in 32 bits up to 16 million
MOST_STREAMS = 32
MOST_NAMES = 16  # five fields each, and 500 fit in a spool file
LONGEST_NAME = 100

_NAMES: set[str] = set()  # those that this process has


def drift(name: str, reference: Reference, window: int = WINDOW, *, registry: Registry = REGISTRY) -> Drift:
    """Return what compares embeddings with a reference, as soon as there are `window` of them, again and again.

    `name` is the label `embedding`; beyond 16 names no figures are published, and each is a fault. A window
    under 1,000 is no case for the alert EmbeddingDrift. `registry` is where the figures are kept, for tests.
    """
    if not isinstance(reference, Reference):
        raise TypeError(f"drift() wants what agent.reference.load() returns, not {type(reference).__name__}")
    label = cleaned(name)[:LONGEST_NAME]
    if label not in _NAMES and len(_NAMES) >= MOST_NAMES:
        registry.faults += 1
        registry = Registry()  # that nobody publishes
    else:
        _NAMES.add(label)
    return Drift(label, reference, min(max(int(window), 1), MOST_WINDOW), registry)


def stability_index(expected: Sequence[float], found: Sequence[float]) -> float:
    """Return the population stability index of counts in bins against those expected.

    Half an embedding is added to each bin of both: an empty bin would make it infinite. Where nothing has changed, its
    mean is (bins - 1) * (1 / sum(expected) + 1 / sum(found)).
    """
    expected_sum = sum(expected) + len(expected) / 2
    found_sum = sum(found) + len(found) / 2
    total = 0.0
    for was, now in zip(expected, found, strict=True):
        before, after = (was + 0.5) / expected_sum, (now + 0.5) / found_sum
        total += (after - before) * math.log(after / before)
    return total


class Window:
    """The embeddings of one stream since the last window was full."""

    __slots__ = ("copied", "copy", "edges", "keep", "offered", "row", "seen_bad", "weights")

    def __init__(self, reference: Reference, device: Any, torch: Any) -> None:
        signs = along.directions(reference.seed, reference.dimension, reference.projections)
        size = along.length(reference.dimension, reference.projections, reference.bins)
        self.weights = torch.tensor(signs, dtype=torch.float32, device="cpu")
        self.edges = torch.tensor(reference.edges, dtype=torch.float32, device="cpu")
        self.row = torch.zeros(size, dtype=torch.float32, device=device)
        self.copy: Any = None  # in pinned memory
        self.copied: Any = None  # the event behind a copy that nobody has read yet
        self.keep: Any = None  # what is being copied to the device must not be freed
        self.offered = 0
        self.seen_bad = 0
        if device.type == "cuda":
            self.copy = torch.zeros(size, dtype=torch.float32, device="cpu", pin_memory=True)
            self.keep = (self.weights.pin_memory(), self.edges.pin_memory())
            self.weights, self.edges = (part.to(device, non_blocking=True) for part in self.keep)

    def add(self, embeddings: Any, torch: Any) -> None:
        """Queue: add a batch."""
        self.row.add_(along.row_of(embeddings, self.weights, self.edges, torch))
        self.offered += embeddings.shape[0]

    def read(self, wanted: int, torch: Any) -> Any:
        """Return the row as far as it is known here, None where it is not, or not yet worth a look."""
        if self.offered < wanted:
            return None
        if self.copy is None:
            return self.row
        if self.copied is None:
            self.copy.copy_(self.row, non_blocking=True)
            self.copied = torch.cuda.Event()
            self.copied.record(torch.cuda.current_stream(self.row.device))
            return None
        if not self.copied.query():
            return None
        self.copied = None
        return self.copy

    def begin(self) -> None:
        """Begin anew. What came since the copy goes with it: it is as good as what comes next."""
        self.row.zero_()
        self.offered = 0
        self.seen_bad = 0


class Drift:
    """Compares embeddings with a reference."""

    __slots__ = (
        "_busy", "_cosine", "_nonfinite", "_norm", "_pid", "_psi", "_reference", "_registry", "_samples", "_window",
        "_windows",
    )  # fmt: skip

    def __init__(self, name: str, reference: Reference, window: int, registry: Registry) -> None:
        self._reference = reference
        self._window = window
        self._registry = registry
        self._psi = registry.gauge(EMBEDDING_PSI, embedding=name)
        self._cosine = registry.gauge(EMBEDDING_COSINE, embedding=name)
        self._norm = registry.gauge(EMBEDDING_NORM, embedding=name)
        self._samples = registry.gauge(EMBEDDING_SAMPLES, embedding=name)
        self._nonfinite = registry.counter(EMBEDDING_NONFINITE, embedding=name)
        self._forget()

    def _forget(self) -> None:
        """Begin with nothing, as a forked child must: the devices are its parent's."""
        self._pid = os.getpid()
        self._busy = allocate_lock()  # only ever tried: a signal handler may find its own thread inside
        self._windows: dict[tuple[str, int, int], Window] = {}

    def add(self, embeddings: Any) -> None:
        """Take a batch, [n, d] or [d], into the window. It waits for nothing and raises nothing.

        A batch that comes while another thread adds one is left out, and so is one during the capture of a graph.
        """
        try:
            if os.getpid() != self._pid:
                self._forget()
            if self._busy.acquire(blocking=False):
                try:
                    self._add(embeddings)
                finally:
                    self._busy.release()
        except Exception:  # noqa: BLE001 - a fault of ours never reaches the workload; an error of the device comes up again where the workload meets it
            self._registry.faults += 1

    def _add(self, embeddings: Any) -> None:
        torch = sys.modules["torch"]
        # It would become part of what is traced. torch.jit is on its way out.
        if getattr(torch.jit, "is_tracing", bool)():
            return
        # A sharded tensor: an operation on the whole of it would talk to the other ranks.
        local = getattr(embeddings, "_local_tensor", embeddings)
        if local.dim() == 1:
            local = local.unsqueeze(0)
        if not local.numel():
            return
        if local.dim() != 2 or local.shape[1] != self._reference.dimension or not local.is_floating_point():
            raise ValueError(f"not [n, {self._reference.dimension}] floats")
        kind = local.device.type
        if kind not in ("cpu", "cuda") or (kind == "cuda" and torch.cuda.is_current_stream_capturing()):
            return
        # A tensor made inside inference mode could not be added to outside of it.
        with torch.inference_mode(mode=False), torch.no_grad():
            window = self._of(local.device, torch)
            if window is not None:
                window.add(local, torch)
                row = window.read(self._window, torch)
                if row is not None:
                    self._look(window, row, torch)

    def _of(self, device: Any, torch: Any) -> Window | None:
        """Return the window of the current stream: what two streams add to one row, they could do at once."""
        stream = torch.cuda.current_stream(device).cuda_stream if device.type == "cuda" else 0
        key = (device.type, device.index or 0, stream)
        window = self._windows.get(key)
        if window is None and len(self._windows) < MOST_STREAMS:
            window = self._windows[key] = Window(self._reference, device, torch)
        return window

    def _look(self, window: Window, row: Any, torch: Any) -> None:
        good, bad = int(row[along.GOOD]), int(row[along.BAD])
        self._nonfinite.add(float(bad - window.seen_bad))
        window.seen_bad = bad
        if good >= self._window:
            self._publish(good, row.tolist(), torch)
            window.begin()

    def _publish(self, good: int, row: list[float], torch: Any) -> None:
        reference = self._reference
        first = along.HEAD + reference.dimension
        centroid = torch.tensor(row[along.HEAD : first], dtype=torch.float64, device="cpu")
        was = torch.tensor(reference.centroid, dtype=torch.float64, device="cpu")
        lengths = float(centroid.norm() * was.norm())
        width = reference.bins - 1
        indices = [
            stability_index(counts, along.in_bins(row[first + place * width : first + (place + 1) * width], good))
            for place, counts in enumerate(reference.counts)
        ]
        self._psi.set(sum(indices) / len(indices))
        self._cosine.set(min(max(float(centroid @ was) / lengths, -1.0), 1.0) if lengths else math.nan)
        self._norm.set(row[along.NORMS] / good / reference.mean_norm)
        self._samples.set(float(good))
