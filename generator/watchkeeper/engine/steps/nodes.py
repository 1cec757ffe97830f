"""What an expression is compiled to: nodes in an order in which each comes behind those that it reads.

A node computes its value for one time into `out`: a list of (Ident, value) pairs for a vector, a float for a scalar.
Nothing recurses, so a chain of any length is evaluated; and a node that several others read is computed once.
"""

from __future__ import annotations

from time import monotonic

from watchkeeper.engine.results import EvalError
from watchkeeper.engine.steps.idents import Ident, Idents

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any, TypeAlias

    from watchkeeper.engine.engine import Query
    from watchkeeper.engine.results import Value

    Instant: TypeAlias = list[tuple[Ident, Value]]

TIMED_OUT = "query timed out in expression evaluation"
TOO_MANY_SAMPLES = "query processing would load too many samples into memory in query execution"
DUPLICATES = "vector cannot contain metrics with the same labelset"


class Context:
    """What the nodes of one query share."""

    __slots__ = (
        "annotations",
        "closed",
        "deadline",
        "delayed",
        "drop",
        "idents",
        "kept",
        "query",
        "two",
        "without_buckets",
    )

    def __init__(self, query: Query) -> None:
        self.query = query
        self.annotations = query.annotations
        self.closed = query.closed
        self.delayed = query.delayed_name_removal
        self.two = query.compat == "2"
        self.idents = Idents(self.delayed, query.compat)
        self.drop = self.idents.drop
        self.deadline = monotonic() + query.timeout
        self.kept = 0  # samples held in results so far
        self.without_buckets: frozenset[int] = frozenset()  # ids of selectors: see histogram_series

    def check(self, more: int) -> None:
        """Raise EvalError where so many samples besides those that are held are too many."""
        if self.kept + more > self.query.max_samples:
            raise EvalError(TOO_MANY_SAMPLES)

    def unique(self, vector: Instant) -> None:
        """Raise EvalError for two samples of the same labels; with delayed name removal that is seen in the end."""
        if len(vector) > 1 and not self.delayed and len({ident for ident, _ in vector}) < len(vector):
            raise EvalError(DUPLICATES)


class Node:
    """One step of a program. `place` is where it stands in the expression."""

    __slots__ = ("context", "out", "place")

    def __init__(self, context: Context, place: int) -> None:
        self.context = context
        self.place = place
        self.out: Any = None

    def begin(self, frame: Frame) -> None:
        """Get ready for the times of a frame."""

    def step(self, t: int) -> None:
        """Compute `out` for the time `t`."""
        raise NotImplementedError


class Constant(Node):
    """A number or a string."""

    __slots__ = ()

    def __init__(self, context: Context, place: int, value: float | str) -> None:
        super().__init__(context, place)
        self.out = value

    def step(self, t: int) -> None:
        pass


class Frame:
    """Nodes that are evaluated at the same times: those of the query, or of a subquery. Milliseconds."""

    __slots__ = ("context", "end", "interval", "nodes", "root", "start")

    def __init__(self, context: Context) -> None:
        self.context = context
        self.nodes: list[Node] = []
        self.root: Node
        self.start = 0
        self.end = 0
        self.interval = 1

    @property
    def single(self) -> bool:
        """Whether there is only one time."""
        return self.start == self.end

    @property
    def last(self) -> int:
        """The last time, which `end` may lie behind."""
        return self.start + (self.end - self.start) // self.interval * self.interval

    def once(self) -> None:
        """Evaluate what does not depend on the time, each node before the next one gets ready: subqueries run then."""
        for node in self.nodes:
            node.begin(self)
            node.step(self.start)

    def times(self) -> Iterator[int]:
        """Evaluate at each time in turn; what `root.out` then holds is to be read before going on."""
        if self.start > self.end:
            return
        for node in self.nodes:
            node.begin(self)
        steps = [node.step for node in self.nodes]
        deadline = self.context.deadline
        for t in range(self.start, self.end + 1, self.interval):
            if monotonic() > deadline:
                raise EvalError(TIMED_OUT)
            for step in steps:
                step(t)
            yield t
