"""What checks look at: rules and expressions with the place of each text, be they written in Python, YAML or JSON."""

from __future__ import annotations

import re
from copy import copy
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from watchkeeper.findings import Excerpt, Finding, Place
from watchkeeper.names import milliseconds
from watchkeeper.promql import ParseError, parse, walk

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from watchkeeper.model import Alert, Recording
    from watchkeeper.model import Group as GroupDefinition
    from watchkeeper.promql.nodes import Expr, Node
    from watchkeeper.proof.catalogue import Catalogue
    from watchkeeper.proof.flow import Flow

SomeNode = TypeVar("SomeNode", bound="Node")

_WORD = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*")

__all__ = ["Expression", "Group", "Rule", "Source", "Text", "Written"]


class Source(Protocol):
    """Where a text is written."""

    def at(self, start: int, end: int) -> tuple[Place, Excerpt | None]:
        """Return the place of `text[start:end]` and what to show of it; offsets count the characters of the text."""


class Written:
    """A text of a definition: the place is that of the definition's call, since Python tells no more."""

    __slots__ = ("place", "text")

    def __init__(self, place: Place, text: str = "") -> None:
        self.place = place
        self.text = text

    def at(self, start: int, end: int) -> tuple[Place, Excerpt | None]:
        """Return the definition's place, and the text itself as the excerpt."""
        return self.place, Excerpt(self.text, start, end) if self.text else None


class Text:
    """A text and where it is written."""

    __slots__ = ("source", "value")

    def __init__(self, value: str, source: Source) -> None:
        self.value = value
        self.source = source

    def finding(
        self,
        check: str,
        message: str,
        start: int = 0,
        end: int | None = None,
        *,
        why: str = "",
        fix: str = "",
        severity: str = "error",
    ) -> Finding:
        """Return a finding about `value[start:end]`; about all of it where no offsets are given."""
        place, excerpt = self.source.at(start, len(self.value) if end is None else end)
        return Finding(check, message, place, excerpt, why, fix, severity)


class Expression:
    """One PromQL expression of a rule or a panel, parsed: `tree`, or the `error` where it is none.

    `owner` names it in messages: `alert X`, `panel "Y" of dashboard Z`. `nodes` are the tree's, parents before
    children: walked once for all checks. Of a dashboard's, `legend` is the query's legend; `is_variable` tells one that
    only gives a variable its values, those of `label` if it has one.
    """

    __slots__ = (
        "_flow", "_kinds", "error", "in_dashboard", "is_variable", "label", "legend", "nodes", "owner", "source",
        "text", "tree",
    )  # fmt: skip
    tree: Expr | None
    nodes: tuple[Node, ...]
    error: ParseError | None

    def __init__(
        self,
        text: str,
        owner: str,
        source: Source,
        *,
        in_dashboard: bool = False,
        is_variable: bool = False,
        legend: Text | None = None,
        label: Text | None = None,
    ) -> None:
        self.text = text
        self.owner = owner
        self.source = source
        self.in_dashboard = in_dashboard
        self.is_variable = is_variable
        self.legend = legend
        self.label = label
        self._flow: Flow | None = None
        self._kinds: dict[type[Node], list[Any]] | None = None

    def __getattr__(self, name: str) -> Any:
        """Parse when tree, nodes or error are first asked for: in another process, where the work is spread."""
        if name not in ("tree", "nodes", "error"):
            raise AttributeError(name)
        try:
            self.tree = parse(self.text, variables=self.in_dashboard)
            self.nodes = tuple(walk(self.tree))
            self.error = None
        except ParseError as error:
            self.tree, self.nodes, self.error = None, (), error
        return getattr(self, name)

    def of(self, kind: type[SomeNode]) -> Sequence[SomeNode]:
        """Return the nodes of exactly this kind, parents before children: sorted once for all checks."""
        if self._kinds is None:
            self._kinds = {}
            for node in self.nodes:
                self._kinds.setdefault(type(node), []).append(node)
        return self._kinds.get(kind, ())

    def may_read(self, names: Collection[str]) -> bool:
        """Tell whether a series of one of these names may be in the expression, without parsing it."""
        return '{"' in self.text or "{'" in self.text or any(word in names for word in _WORD.findall(self.text))

    @property
    def place(self) -> Place:
        """Where the expression begins."""
        return self.source.at(0, 0)[0]

    def flow(self, catalogue: Catalogue) -> Flow:
        """Return the labels of each of its nodes, followed once for all checks."""
        if self._flow is None:
            from watchkeeper.proof.flow import Flow

            self._flow = Flow(self.nodes, catalogue)
        return self._flow

    def finding(
        self, check: str, message: str, start: int, end: int, *, why: str = "", fix: str = "", severity: str = "error"
    ) -> Finding:
        """Return a finding about `text[start:end]`."""
        place, excerpt = self.source.at(start, end)
        return Finding(check, f"{self.owner}: {message}", place, excerpt, why, fix, severity)


class Rule:
    """One rule as Prometheus reads it: `labels` and `annotations` are those in the rule file, without the group's.

    `for_` and `keep_firing_for` are None where the rule has none. `definition` is what it was made from, None for a
    rule that was read from a file.
    """

    __slots__ = (
        "annotations", "definition", "expression", "for_", "group", "is_alert", "keep_firing_for", "labels", "name"
    )  # fmt: skip

    def __init__(
        self,
        group: Group,
        name: Text,
        expression: Expression,
        *,
        is_alert: bool,
        labels: Mapping[str, Text],
        annotations: Mapping[str, Text],
        for_: Text | None = None,
        keep_firing_for: Text | None = None,
        definition: Alert | Recording | None = None,
    ) -> None:
        self.group = group
        self.name = name
        self.expression = expression
        self.is_alert = is_alert
        self.labels = labels
        self.annotations = annotations
        self.for_ = for_
        self.keep_firing_for = keep_firing_for
        self.definition = definition

    @property
    def owner(self) -> str:
        """What messages call it."""
        return f"{'alert' if self.is_alert else 'recording rule'} {self.name.value}"

    def finding(self, check: str, message: str, *, why: str = "", fix: str = "", severity: str = "error") -> Finding:
        """Return a finding about the rule, at its name."""
        return self.name.finding(check, f"{self.owner}: {message}", why=why, fix=fix, severity=severity)


class Group:
    """One group of rules. `interval`, `query_offset` and `limit` are None where it has none; `file` is where it stands.

    `definition` is what it was made from, None for a group that was read from a file.
    """

    __slots__ = ("definition", "file", "interval", "labels", "limit", "name", "query_offset", "rules")

    def __init__(
        self,
        name: Text,
        file: str,
        *,
        labels: Mapping[str, Text],
        interval: Text | None = None,
        query_offset: Text | None = None,
        limit: Text | None = None,
        definition: GroupDefinition | None = None,
    ) -> None:
        self.name = name
        self.file = file
        self.labels = labels
        self.interval = interval
        self.query_offset = query_offset
        self.limit = limit
        self.definition = definition
        self.rules: list[Rule] = []

    def part(self, rules: list[Rule]) -> Group:
        """Return the group with these of its rules alone, to be looked at by themselves."""
        part = copy(self)
        part.rules = rules
        return part

    @property
    def interval_ms(self) -> int | None:
        """How often its rules are evaluated, in milliseconds; None where the server's default holds."""
        return (milliseconds(self.interval.value) if self.interval else None) or None
