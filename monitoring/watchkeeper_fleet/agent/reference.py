"""What embeddings looked like when all was well: saved once, by whoever judges them, and compared with from then on.

    from watchkeeper_fleet import agent

    agent.reference.save("queries.json", embeddings)  # a tensor of a few thousand rows
    reference = agent.reference.load("queries.json")

The file is JSON, and holds no embedding: their mean, their mean norm, and the edges and counts of bins along a few
fixed directions.
"""

from __future__ import annotations

import json
import math
import os
import sys
from bisect import bisect_left
from dataclasses import asdict, dataclass
from itertools import pairwise

from watchkeeper_fleet.agent import projections as along

TYPE_CHECKING = False  # typing itself is slow to import
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

__all__ = ["Reference", "load", "save"]

FORMAT = "watchkeeper-embedding-reference"
VERSION = 1
MOST_BYTES = 64 << 20
MOST_BINS = MOST_PROJECTIONS = 100
MOST_DIMENSIONS = 1 << 20
MOST_WHOLE = 1 << 53  # no number of these files comes near; some are too great for a float
SAMPLES_A_BIN = 10  # with fewer, the index of the reference itself is noise
CHUNK = 4096  # embeddings projected at a time


@dataclass(frozen=True)
class Reference:
    """What is known of the embeddings that were fine."""

    seed: int
    samples: int
    mean_norm: float
    centroid: tuple[float, ...]
    edges: tuple[tuple[float, ...], ...]  # of the bins, for each direction
    counts: tuple[tuple[int, ...], ...]  # in each bin, for each direction

    @property
    def dimension(self) -> int:
        """Return how long an embedding is."""
        return len(self.centroid)

    @property
    def projections(self) -> int:
        """Return how many directions there are."""
        return len(self.edges)

    @property
    def bins(self) -> int:
        """Return how many bins each direction has."""
        return len(self.counts[0])

    def __post_init__(self) -> None:
        """Raise ValueError for what can't be a reference."""
        for what, fine in (
            ("seed", isinstance(self.seed, int)),
            ("samples", _whole(self.samples) and self.samples > 0),
            ("mean_norm", _finite([self.mean_norm]) and self.mean_norm > 0),
            ("centroid", 0 < len(self.centroid) <= MOST_DIMENSIONS and _finite(self.centroid)),
            ("edges", 0 < len(self.edges) <= MOST_PROJECTIONS and all(map(_rising, self.edges))),
            ("counts", len(self.counts) == len(self.edges) and all(map(self._fits, self.edges, self.counts))),
        ):
            if not fine:
                raise ValueError(f"{what} is not what it should be")

    def _fits(self, edges: Sequence[float], counts: Sequence[int]) -> bool:
        same = len(edges) == len(self.edges[0]) and len(counts) == len(edges) + 1
        return same and all(map(_whole, counts)) and sum(counts) == self.samples


def _whole(value: object) -> bool:
    return type(value) is int and value >= 0


def _finite(values: Sequence[object]) -> bool:
    return all(map(_number, values))


def _number(value: object) -> bool:
    if isinstance(value, float):
        return math.isfinite(value)
    return isinstance(value, int) and type(value) is int and abs(value) < MOST_WHOLE


def _rising(edges: Sequence[float]) -> bool:
    return 0 < len(edges) < MOST_BINS and _finite(edges) and list(edges) == sorted(edges)


def save(path: str, embeddings: Any, bins: int = 10, projections: int = 8, seed: int = 0) -> Reference:
    """Save what embeddings, a tensor with a row for each, are like, and return it. It waits for their device.

    Take a thousand of them or more, of the traffic that will be compared: with few, the reference is noise itself.
    Embeddings that hold NaN or infinity are left out. An old file is replaced at once or not at all.
    """
    reference = measured(embeddings, bins, projections, seed)
    text = json.dumps({"format": FORMAT, "version": VERSION, **asdict(reference)})
    path = os.fspath(path)
    part = f"{path}.{os.getpid()}.part"
    try:
        with open(part, "w", encoding="utf-8") as file:  # noqa: PTH123 - pathlib is slow to import in a workload
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, path)  # noqa: PTH105 - the same
    except BaseException:
        if os.path.exists(part):  # noqa: PTH110 - the same
            os.unlink(part)  # noqa: PTH108 - the same
        raise
    return reference


def measured(embeddings: Any, bins: int = 10, projections: int = 8, seed: int = 0) -> Reference:
    """Return what embeddings are like."""
    torch = sys.modules.get("torch")
    if torch is None or not isinstance(embeddings, torch.Tensor):
        raise TypeError(f"a reference is made of a tensor of embeddings, not of {type(embeddings).__name__}")
    if embeddings.is_nested or embeddings.layout is not torch.strided or embeddings.device.type == "meta":
        kind = "nested" if embeddings.is_nested else f"{embeddings.layout} on {embeddings.device}"
        raise ValueError(f"a reference is made of a plain tensor of embeddings, not of one that is {kind}")
    if embeddings.dim() != 2 or not embeddings.is_floating_point() or not embeddings.numel():
        shape, kind = tuple(embeddings.shape), embeddings.dtype
        raise ValueError(f"a reference is made of floats of shape [samples, dimension], not of {kind} of shape {shape}")
    if not (2 <= bins <= MOST_BINS and 1 <= projections <= MOST_PROJECTIONS):
        raise ValueError(f"bins={bins}, projections={projections}: 2 to {MOST_BINS}, and 1 to {MOST_PROJECTIONS}")
    dimension = embeddings.shape[1]
    weights = torch.tensor(along.directions(seed, dimension, projections), dtype=torch.float32, device="cpu")
    values: list[list[float]] = [[] for _ in range(projections)]
    total = torch.zeros(dimension, dtype=torch.float64, device="cpu")
    norm = 0.0
    with torch.no_grad():
        for chunk in embeddings.detach().split(CHUNK):
            clean, norms, good = along.cleaned(chunk.cpu(), torch)
            clean = clean[good]
            total += clean.sum(0, dtype=torch.float64)
            norm += float(norms.sum(dtype=torch.float64))
            for row, found in zip(values, along.projected(clean, weights, torch).tolist(), strict=True):
                row.extend(found)
    samples = len(values[0])
    if samples < SAMPLES_A_BIN * bins:
        raise ValueError(
            f"{samples} finite embeddings are too few for {bins} bins: a reference wants {SAMPLES_A_BIN * bins} or more"
        )
    if not norm > 0:
        raise ValueError("all embeddings are zero: a reference of them could be compared with nothing")
    for row in values:
        row.sort()
    edges = tuple(_edges(row, bins, 1e-6 * norm / samples) for row in values)
    return Reference(
        seed=seed,
        samples=samples,
        mean_norm=norm / samples,
        centroid=tuple((total / samples).tolist()),
        edges=edges,
        counts=tuple(_counts(row, of) for row, of in zip(values, edges, strict=True)),
    )


def _edges(values: list[float], bins: int, rounding: float) -> tuple[float, ...]:
    """Return edges between which about as many of the sorted values lie each.

    An edge lies in a gap: on a value that many embeddings share, the rounding of another device would put all of them
    on its other side. The gaps of a large sample are small where nothing is shared, so less than that has to do there.
    """
    gap = min(rounding, 0.01 * (values[-1] - values[0]) / len(values)) or rounding
    edges = []
    for number in range(1, bins):
        place = number * len(values) // bins
        while place < len(values) and values[place] - values[place - 1] <= gap:
            place += 1
        above = values[place] if place < len(values) else values[-1] + 2 * gap
        edges.append((values[place - 1] + above) / 2)
    return tuple(edges)


def _counts(values: list[float], edges: tuple[float, ...]) -> tuple[int, ...]:
    places = [0, *(bisect_left(values, edge) for edge in edges), len(values)]
    return tuple(high - low for low, high in pairwise(places))


def load(path: str) -> Reference:
    """Return a saved reference; ValueError says in one line what is wrong with a file that is none."""
    try:
        with open(path, "rb") as file:  # noqa: PTH123 - pathlib is slow to import in a workload
            text = file.read(MOST_BYTES + 1)
        if len(text) > MOST_BYTES:
            raise ValueError("it is too large")  # noqa: TRY301 - told like the rest
        return _read(json.loads(text))
    except (ValueError, RecursionError) as error:  # json's and Unicode's errors are ValueErrors
        raise ValueError(
            f"{os.fspath(path)}: no reference of embeddings ({error}): save one with agent.reference.save()"
        ) from None


def _read(found: object) -> Reference:
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise ValueError("it is some other file")
    if found.get("version") != VERSION:
        raise ValueError(f"its version is {str(found.get('version'))[:20]}, and this is for {VERSION}")
    values: dict[str, Any] = {name: found.get(name) for name in Reference.__dataclass_fields__}
    for name in ("centroid", "edges", "counts"):
        if not isinstance(values[name], list) or not values[name]:
            raise ValueError(f"{name} is missing")
        values[name] = tuple(tuple(part) if isinstance(part, list) else part for part in values[name])
    if not all(isinstance(part, tuple) for name in ("edges", "counts") for part in values[name]):
        raise ValueError("edges and counts are lists of lists")
    return Reference(**values)
