"""topk, bottomk, limitk, limit_ratio: aggregations that pick samples of each group and leave them as they are."""

# ruff: noqa: ARG002  (functions and nodes are called alike, whatever they look at)
# ruff: noqa: PLR0124  (x != x asks for NaN)
# ruff: noqa: PLR0917  (positions are plain here)
from __future__ import annotations

import math

from watchkeeper.engine import annotations as texts
from watchkeeper.engine.gofloat import format_g
from watchkeeper.engine.labels import hash64
from watchkeeper.engine.results import EvalError
from watchkeeper.engine.steps.nodes import Context, Frame, Node

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from watchkeeper.engine.steps.grouping import Grouping
    from watchkeeper.engine.steps.idents import Ident

    Sample = tuple[Ident, float]

_INT64 = 2.0**63


class Pick(Node):
    """An aggregation that picks."""

    __slots__ = ("argument", "grouping", "hashes", "op", "param", "param_place", "single")

    def __init__(
        self, context: Context, place: int, op: str, argument: Node, grouping: Grouping, param: Node, param_place: int
    ) -> None:
        super().__init__(context, place)
        self.op = op
        self.argument = argument
        self.grouping = grouping
        self.param = param
        self.param_place = param_place
        self.single = True
        self.hashes: dict[Ident, float] = {}

    def begin(self, frame: Frame) -> None:
        self.single = frame.single

    def step(self, t: int) -> None:
        self.out = []
        vector = self.argument.out
        if self.op == "limit_ratio":
            self._by_ratio(self._ratio(), vector)
            return
        k = self._count(len(vector))
        if k < 1 or not vector:
            return
        if self.op in {"topk", "bottomk"}:
            floats = [sample for sample in vector if type(sample[1]) is float]
            if len(floats) < len(vector):
                self.context.annotations.add(texts.ignored_in_aggregation(self.op), self.argument.place)
                vector = floats
        for members in self.grouping.cut(vector).values():
            self.out += self._picked(members, k)

    def _count(self, most: int) -> int:
        value = self.param.out
        if value != value and not self.context.two:
            raise EvalError("Parameter value is NaN", self.param_place)
        if value < 1 and not self.context.two:
            return 0
        if not -_INT64 <= value < _INT64:
            raise EvalError(f"Scalar value {format_g(value)} overflows int64", self.param_place)
        return min(int(value), most)

    def _picked(self, members: list[Sample], k: int) -> list[Sample]:
        if self.op == "limitk":
            return members[:k]
        if len(members) <= k and not self.single:
            return members
        less = _less_for_top if self.op == "topk" else _less_for_bottom
        kept = (_heap_of_2 if self.context.two else _heap_of)(members, k, less)
        # Sorted for those who ask once; where there are many times, series are ordered by their labels anyway.
        if self.op == "topk":
            kept.sort(key=lambda sample: -sample[1] if sample[1] == sample[1] else math.inf)
        else:
            kept.sort(key=_ascending)
        _last_nan(kept)
        return kept

    def _ratio(self) -> float:
        ratio: float = self.param.out
        if ratio != ratio:
            raise EvalError("Ratio value is NaN", self.param_place)
        capped = min(1.0, max(-1.0, ratio))
        if capped != ratio:
            self.context.annotations.add(texts.invalid_ratio(ratio, capped), self.param_place)
        return capped

    def _by_ratio(self, ratio: float, vector: list[Sample]) -> None:
        """The series whose hash lies in the first `ratio` of all hashes; a negative one takes the others."""
        if ratio == 0:
            return
        hashes = self.hashes
        for sample in vector:
            ident = sample[0]
            offset = hashes.get(ident)
            if offset is None:
                offset = hashes[ident] = hash64(ident.labels) / float(2**64 - 1)
            if (offset < ratio) if ratio > 0 else (offset >= 1.0 + ratio):
                self.out.append(sample)


def _ascending(sample: Sample) -> float:
    return sample[1] if sample[1] == sample[1] else math.inf


def _last_nan(kept: list[Sample]) -> None:
    """NaN is behind everything, infinities too."""
    if any(value != value for _, value in kept):
        kept.sort(key=lambda sample: sample[1] != sample[1])


def _less_for_top(a: Sample, b: Sample) -> bool:
    return a[1] != a[1] or a[1] < b[1]


def _less_for_bottom(a: Sample, b: Sample) -> bool:
    return a[1] != a[1] or a[1] > b[1]


def _heap_of(members: list[Sample], k: int, less: Callable[[Sample, Sample], bool]) -> list[Sample]:
    """The k samples that Prometheus keeps: with equal values, which ones depends on how Go's heap moves things."""
    heap: list[Sample] = []
    for sample in members:
        if len(heap) < k:
            heap.append(sample)
            _up(heap, len(heap) - 1, less)
        elif (heap[0][1] != heap[0][1] and sample[1] == sample[1]) or (
            heap[0][1] == heap[0][1] and sample[1] == sample[1] and less(heap[0], sample)
        ):
            heap[0] = sample
            if k > 1:
                _down(heap, less)
    return heap


def _heap_of_2(members: list[Sample], k: int, less: Callable[[Sample, Sample], bool]) -> list[Sample]:
    """The same for Prometheus 2.42, which pops and pushes."""
    heap: list[Sample] = []
    for sample in members:
        if len(heap) == k:
            lowest = heap[0]
            if lowest[1] == lowest[1] and not (less(lowest, sample) and sample[1] == sample[1]):
                continue
            if k == 1:
                heap[0] = sample
                continue
            last = heap.pop()
            heap[0] = last
            _down(heap, less)
        heap.append(sample)
        _up(heap, len(heap) - 1, less)
    return heap


def _up(heap: list[Sample], j: int, less: Callable[[Sample, Sample], bool]) -> None:
    while True:
        i = (j - 1) // 2
        if j == 0 or not less(heap[j], heap[i]):
            return
        heap[i], heap[j] = heap[j], heap[i]
        j = i


def _down(heap: list[Sample], less: Callable[[Sample, Sample], bool]) -> None:
    i = 0
    size = len(heap)
    while True:
        child = 2 * i + 1
        if child >= size:
            return
        if child + 1 < size and less(heap[child + 1], heap[child]):
            child += 1
        if not less(heap[child], heap[i]):
            return
        heap[i], heap[child] = heap[child], heap[i]
        i = child
