"""What is taken of a batch of embeddings: sums, and counts along a few fixed directions, on their own device."""

from __future__ import annotations

TYPE_CHECKING = False  # typing itself is slow to import
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

# The row that a batch becomes: finite embeddings, others, the sum of norms, the sum of embeddings, then for each
# direction and edge how many embeddings are at or above it.
GOOD, BAD, NORMS, HEAD = 0, 1, 2, 3


def directions(seed: int, dimension: int, projections: int) -> list[list[float]]:
    """Return projections of random signs, each of length 1.

    The signs are SHAKE-256 of the seed, not Python's or torch's generator, so that they are the same for ever and need
    not be saved. What is projected on signs is nearly as good as what is projected on normal numbers (Achlioptas 2003).
    """
    import hashlib  # slow to import

    unit = dimension**-0.5
    rows = []
    for row in range(projections):
        bits = int.from_bytes(hashlib.shake_256(f"{seed} {row}".encode()).digest((dimension + 7) // 8), "little")
        rows.append([unit if bits >> place & 1 else -unit for place in range(dimension)])
    return rows


def length(dimension: int, projections: int, bins: int) -> int:
    """Return how long a row is."""
    return HEAD + dimension + projections * (bins - 1)


def cleaned(embeddings: Any, torch: Any) -> tuple[Any, Any, Any]:
    """Return embeddings in 32 bits without NaN and infinity, their norms, and which of them are finite.

    What is finite of a bad one stays in it: a mask over the whole would take ten times as long on a CPU. Whoever sums
    them leaves bad ones out.
    """
    embeddings = embeddings.to(torch.float32)
    norms = torch.linalg.vector_norm(embeddings, dim=1)
    good = torch.isfinite(norms)
    return torch.nan_to_num(embeddings, 0.0, 0.0, 0.0), torch.where(good, norms, 0.0), good


def projected(embeddings: Any, weights: Any, torch: Any) -> Any:
    """Return for each direction where the embeddings are along it, whatever autocast would make of that."""
    with torch.autocast(embeddings.device.type, enabled=False):
        return weights @ embeddings.T


def row_of(embeddings: Any, weights: Any, edges: Any, torch: Any) -> Any:
    """Return what is taken of a batch as one row, on its device. Waits for nothing."""
    embeddings, norms, good = cleaned(embeddings, torch)
    mask = good.to(torch.float32)
    above = (projected(embeddings, weights, torch).unsqueeze(1) >= edges.unsqueeze(2)) & good
    with torch.autocast(embeddings.device.type, enabled=False):
        total = mask @ embeddings
    sums = torch.stack([mask.sum(), good.logical_not().sum().to(torch.float32), norms.sum()])
    return torch.cat([sums, total, above.sum(2).flatten().to(torch.float32)])


def in_bins(above: Sequence[float], count: float) -> list[float]:
    """Return how many of count are in each bin, of how many are at or above each edge."""
    return [high - low for high, low in zip([count, *above], [*above, 0.0], strict=True)]
