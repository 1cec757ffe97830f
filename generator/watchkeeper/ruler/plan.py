"""Which rules can be evaluated at all times at once, and which only one time after the other.

Rules go in their order; each sees at a time what those before it made of that time. So a rule's whole past and future
can be computed before the next one is looked at, unless it reads itself or a rule behind it, whose values it sees only
from the evaluation before: such rules go through time together.
"""

from __future__ import annotations

from watchkeeper.engine.labels import NAME
from watchkeeper.promql.nodes import At, Call, DurationLiteral, MatrixSelector, Subquery, VectorSelector, walk
from watchkeeper.ruler.expand import asks

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import TypeAlias

    from watchkeeper.promql.nodes import Expr, Matcher
    from watchkeeper.ruler.history import Outcome

    # Tests for the name and for alertname.
    _Reads: TypeAlias = tuple[str | None, list[Callable[[str], bool]], list[Callable[[str], bool]]]

ALERT_SERIES = ("ALERTS", "ALERTS_FOR_STATE")

# Functions that tell an instant query from a range query.
_OF_QUERY = frozenset({"start", "end", "range", "step"})


class Block:
    """Rules that are evaluated together; `stepped` one time after the other, else each at all times at once."""

    __slots__ = ("outcomes", "stepped")

    def __init__(self, outcomes: list[Outcome], stepped: bool) -> None:
        self.outcomes = outcomes
        self.stepped = stepped


class Plan:
    """Blocks in an order in which each finds what it reads, and who is read."""

    __slots__ = ("blocks", "cyclic", "read")

    def __init__(self, blocks: list[Block], read: set[Outcome], cyclic: list[Outcome]) -> None:
        self.blocks = blocks
        self.read = read  # rules whose series other rules read
        self.cyclic = cyclic  # rules that read themselves, perhaps by way of others behind them


def plan(outcomes: Sequence[Outcome]) -> Plan:
    """Make blocks of rules that are given in their order."""
    written = Written(outcomes)
    reads = [written.read_by(outcome.rule.tree) for outcome in outcomes]
    read = {outcomes[other] for others in reads for other in others}
    if any(asks(text) for outcome in outcomes for text in outcome.rule.labels.values()):
        return Plan([Block(list(outcomes), stepped=True)], read, [])
    offsets = [outcome.group.query_offset_ms for outcome in outcomes]
    behind = {
        place: {other for other in others if other >= place or offsets[other] > offsets[place]}
        for place, others in enumerate(reads)
    }
    behind = {place: others for place, others in behind.items() if others}
    together = _together(reads, behind) if behind else {}
    blocks: list[Block] = []
    for place, outcome in enumerate(outcomes):
        group = together.get(place)
        if group is None:
            blocks.append(Block([outcome], stepped=needs_instants(outcome.rule.tree)))
        elif group[0] == place:
            blocks.append(Block([outcomes[member] for member in group], stepped=True))
    cyclic = [outcomes[place] for place, others in behind.items() if max(others) >= place]
    return Plan(_ordered(blocks, together), read, cyclic)


class Written:
    """Which rules write which series, by the name of the metric."""

    __slots__ = ("alerts", "by_name", "recordings")

    def __init__(self, outcomes: Sequence[Outcome]) -> None:
        self.alerts = [one for one in outcomes if one.rule.is_alert]
        self.recordings = [one for one in outcomes if not one.rule.is_alert]
        self.by_name: dict[str, list[Outcome]] = {}
        for one in self.recordings:
            self.by_name.setdefault(one.rule.name, []).append(one)

    def read_by(self, tree: Expr) -> set[int]:
        """The places of the rules whose series an expression may look at."""
        found: set[int] = set()
        for name, names, alert_names in _reads(tree):
            recordings = self.recordings if name is None else self.by_name.get(name, ())
            found.update(one.place for one in recordings if all(test(one.rule.name) for test in names))
            series = [one for one in ALERT_SERIES if name in (None, one) and all(test(one) for test in names)]
            if series:
                found.update(one.place for one in self.alerts if all(test(one.rule.name) for test in alert_names))
        return found


def _reads(tree: Expr) -> Iterable[_Reads]:
    for node in walk(tree):
        if isinstance(node, VectorSelector):
            yield _tests(node.name, node.matchers)
        elif isinstance(node, Call) and node.name == "info":
            yield None, [], []


def _tests(name: str | None, matchers: Sequence[Matcher]) -> _Reads:
    from watchkeeper.engine.data import test_of
    from watchkeeper.engine.regex import RegexError

    names: list[Callable[[str], bool]] = []
    alert_names: list[Callable[[str], bool]] = []
    for matcher in matchers:
        if matcher.label not in (NAME, "alertname"):
            continue
        try:
            test = test_of(matcher)
        except RegexError:
            continue
        (names if matcher.label == NAME else alert_names).append(test)
        if matcher.label == NAME and matcher.op == "=" and name is None:
            name = matcher.value
    return name, names, alert_names


def _together(reads: Sequence[set[int]], behind: dict[int, set[int]]) -> dict[int, list[int]]:
    """The places that go through time together, each with all of its group; the groups do not interleave.

    `behind` are the rules that one reads but sees too early in data of all times: those that come after it, and those
    of a longer query_offset, whose samples bear times before that of their writing. What lies between is drawn in as
    far as it depends on either.
    """
    groups: dict[int, list[int]] = {}
    spans: list[list[int]] = []
    for first, last in sorted((min(place, *others), max(place, *others)) for place, others in behind.items()):
        if spans and spans[-1][1] >= first:
            spans[-1][1] = max(spans[-1][1], last)
        else:
            spans.append([first, last])
    for first, last in spans:
        inside = range(first, last + 1)
        members = {place for place in inside if place in behind}
        members |= {other for place in inside for other in behind.get(place, ())}
        while True:
            more = {place for place in inside if place not in members and reads[place] & members}
            if not more:
                break
            members |= more
        group = sorted(members)
        for place in group:
            groups[place] = group
    return groups


def _ordered(blocks: list[Block], together: dict[int, list[int]]) -> list[Block]:
    """Blocks in order: those that lie inside a group but not in it come before it, for the group may read them."""
    if not together:
        return blocks
    ordered: list[Block] = []
    for block in blocks:
        place = block.outcomes[0].place
        at = len(ordered)
        if place not in together:
            while at and ordered[at - 1].outcomes[-1].place > place and len(ordered[at - 1].outcomes) > 1:
                at -= 1
        ordered.insert(at, block)
    return ordered


def needs_instants(tree: Expr) -> bool:
    """Whether an expression means something else in a range query, or would see the future in it."""
    for node in walk(tree):
        if isinstance(node, VectorSelector | Subquery):
            if node.at is not None or getattr(node, "smoothed", False):
                return True
            offset = node.offset
            if offset is not None and (not isinstance(offset, DurationLiteral) or offset.ms < 0):
                return True
            if isinstance(node, Subquery) and not (
                isinstance(node.range, DurationLiteral) and isinstance(node.step, DurationLiteral | type(None))
            ):
                return True
        elif isinstance(node, MatrixSelector):
            if not isinstance(node.range, DurationLiteral):
                return True
        elif isinstance(node, At) or (isinstance(node, Call) and node.name in _OF_QUERY):
            return True
    return False
