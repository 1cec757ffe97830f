"""The syntax tree: what `parse` returns.

Every node has `start` and `end`, character offsets into the text that was parsed (end exclusive). Nodes are compared by
structure, positions aside, and hash alike; treat them as frozen. A chain `a + a + ...` makes a tree as deep as it is
long, so nothing here recurses: comparing, printing, copying and pickling work at any depth.

Names follow Prometheus' own syntax tree where it has one. Durations are kept as nodes of their own, with `ms`, the
exact milliseconds, or None where they depend on the query's step or range, or on a dashboard variable.
"""

from __future__ import annotations

from watchkeeper.promql.functions import MATRIX, SCALAR, STRING, UNKNOWN, VECTOR

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any, ClassVar, TypeAlias

    from watchkeeper.promql.functions import Function

ONE_TO_ONE = "one-to-one"
MANY_TO_ONE = "many-to-one"
ONE_TO_MANY = "one-to-many"
MANY_TO_MANY = "many-to-many"

_REPR_LIMIT = 200


class Node:
    """What all nodes share. `_fields` names, in source order where there is one, what makes up its structure."""

    __slots__ = ("end", "start")
    _fields: ClassVar[tuple[str, ...]] = ()
    _links: ClassVar[tuple[str, ...]] = ()  # those of `_fields` that hold nodes, or tuples of nodes, and nothing else
    _kept: ClassVar[tuple[str, ...]] = ()  # copied and pickled, but not compared: positions of parts

    start: int
    end: int

    def children(self) -> list[Node]:
        """The nodes directly below this one, in the order in which they are defined."""
        found: list[Node] = []
        for name in self._links:
            value = getattr(self, name)
            if type(value) is tuple:
                if value:
                    found += value
            elif value is not None:
                found.append(value)
        return found

    def _structure(self) -> list[object]:
        """This tree in pre-order as a flat list of plain values: what equality and hash look at."""
        flat: list[object] = []
        stack: list[object] = [self]
        while stack:
            item = stack.pop()
            if isinstance(item, Node):
                flat.append(type(item))
                stack += [getattr(item, name) for name in reversed(item._fields)]
            elif type(item) is tuple:
                flat.append(len(item))
                stack += reversed(item)
            elif type(item) is float:
                flat.append(repr(item))  # so that NaN equals NaN, and -0 is not 0
            else:
                flat.append(item)
        return flat

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if type(self) is not type(other):
            return NotImplemented
        assert isinstance(other, Node)
        return self._structure() == other._structure()

    def __hash__(self) -> int:
        return hash(tuple(self._structure()))

    def __repr__(self) -> str:
        parts: list[str] = []
        length = 0
        stack: list[object] = [self]
        while stack:
            item = stack.pop()
            if isinstance(item, _Text):
                text = str(item)
            elif isinstance(item, Node):
                text = f"{type(item).__name__}("
                stack.append(_Text(")"))
                for index, name in enumerate(reversed(item._fields)):
                    if index:
                        stack.append(_Text(", "))
                    stack += [getattr(item, name), _Text(f"{name}=")]
                if not item._fields:
                    stack[-1] = _Text(")")
            elif type(item) is tuple:
                text = "("
                stack.append(_Text(",)" if len(item) == 1 else ")"))
                for index, value in enumerate(reversed(item)):
                    if index:
                        stack.append(_Text(", "))
                    stack.append(value)
            else:
                text = repr(item)
            parts.append(text)
            length += len(text)
            if length > _REPR_LIMIT * 10:
                parts.append("...")
                break
        return "".join(parts)

    def __deepcopy__(self, memo: object) -> Node:
        return _rebuild(self._rows())

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild, (self._rows(),)

    def _rows(self) -> tuple[tuple[Any, ...], ...]:
        """The tree as a flat table, which copies and pickles without recursion."""
        nodes: list[Node] = [self]
        rows: list[tuple[object, ...]] = []
        for node in nodes:  # grows as it goes
            row: list[object] = [type(node), node.start, node.end]
            for name in _names(node):
                value = getattr(node, name)
                if isinstance(value, Node):
                    row.append(("node", len(nodes)))
                    nodes.append(value)
                elif type(value) is tuple and value and isinstance(value[0], Node):
                    row.append(("nodes", len(nodes), len(value)))
                    nodes += value
                else:
                    row.append(("value", value))
            rows.append(tuple(row))
        return tuple(rows)


class _Text(str):
    """A piece of `__repr__` that is already text."""

    __slots__ = ()


def _names(node: Node) -> tuple[str, ...]:
    """What is copied of a node, besides its place."""
    return node._fields + node._kept  # noqa: SLF001  (of this module)


def _rebuild(rows: tuple[tuple[Any, ...], ...]) -> Node:
    nodes: list[Node] = [row[0].__new__(row[0]) for row in rows]
    for node, (_, start, end, *values) in zip(nodes, rows, strict=True):
        node.start = start
        node.end = end
        for name, value in zip(_names(node), values, strict=True):
            kind = value[0]
            if kind == "value":
                setattr(node, name, value[1])
            elif kind == "node":
                setattr(node, name, nodes[value[1]])
            else:
                setattr(node, name, tuple(nodes[value[1] : value[1] + value[2]]))
    return nodes[0]


class Expr(Node):
    """An expression.

    `type` is "scalar", "vector", "matrix" or "string", or "unknown" for what a dashboard variable stands for.
    """

    __slots__ = ()
    type: str


class Variable(Expr):
    """A dashboard variable: `$name`, `${name}`, `${name:format}`, `[[name]]`. It may stand for anything.

    `format` is what follows the colon, `field` what follows a dot, as in `${name.text}`; "" where there is none.
    """

    __slots__ = ("field", "format", "name")
    _fields = ("name", "field", "format")
    type = UNKNOWN
    ms = None

    def __init__(self, name: str, field: str, format: str, start: int, end: int) -> None:  # noqa: A002
        self.name = name
        self.field = field
        self.format = format
        self.start = start
        self.end = end


class Template(Expr):
    """Text with dashboard variables in it that is no expression by itself: `${n}m`, `$a$b`."""

    __slots__ = ("text", "variables")
    _fields = ("text", "variables")
    _links = ("variables",)
    type = UNKNOWN
    ms = None

    def __init__(self, text: str, variables: tuple[Variable, ...], start: int, end: int) -> None:
        self.text = text
        self.variables = variables
        self.start = start
        self.end = end


class DurationLiteral(Node):
    """A duration as written: `5m`, `1h30m`, `90`, `-5m`, `(5m)`.

    `ms` is its length in whole milliseconds, exact where it was written with units (`unit`); `seconds` is what
    arithmetic counts with.
    """

    __slots__ = ("ms", "seconds", "unit")
    _fields = ("seconds",)
    _kept = ("ms", "unit")

    def __init__(self, ms: int, seconds: float, unit: bool, start: int, end: int) -> None:
        self.ms = ms
        self.seconds = seconds
        self.unit = unit
        self.start = start
        self.end = end


class DurationExpr(Node):
    """Arithmetic in a duration. `ms` is its value where it is constant, else None (see `durations.resolve`).

    `op` is one of `+ - * / % ^`, "min_of", "max_of" with both sides; unary `+` and `-` with `lhs` None; "step" and
    "range" with neither; "()" around `rhs`.
    """

    __slots__ = ("lhs", "op", "rhs")
    _fields = ("op", "lhs", "rhs")
    _links = ("lhs", "rhs")

    def __init__(self, op: str, lhs: Duration | None, rhs: Duration | None, start: int, end: int) -> None:
        self.op = op
        self.lhs = lhs
        self.rhs = rhs
        self.start = start
        self.end = end

    @property
    def ms(self) -> int | None:
        """Its value in milliseconds, if that needs no step and no range and can be computed."""
        from watchkeeper.promql.durations import constant

        return constant(self)


if TYPE_CHECKING:
    Duration: TypeAlias = DurationLiteral | DurationExpr | Variable | Template


class Label(Node):
    """A label name in `by`, `without`, `on`, `ignoring`, `group_left` or `group_right`.

    `variables` are the dashboard variables in the name.
    """

    __slots__ = ("name", "variables")
    _fields = ("name", "variables")
    _links = ("variables",)

    def __init__(self, name: str, start: int, end: int, variables: tuple[Variable, ...] = ()) -> None:
        self.name = name
        self.start = start
        self.end = end
        self.variables = variables


class Matcher(Node):
    """One label matcher, `label op value`; `op` is `=`, `!=`, `=~` or `!~`.

    `start` to `name_end` is the label, `value_start` to `end` the value with its quotes. `variables` are the dashboard
    variables in the label or in place of the value; those inside a quoted value are in its text.
    """

    __slots__ = ("label", "name_end", "op", "value", "value_start", "variables")
    _fields = ("label", "op", "value", "variables")
    _links = ("variables",)
    _kept = ("name_end", "value_start")

    def __init__(  # noqa: PLR0917  (the parser calls it by position: keywords cost a tenth of its time)
        self,
        label: str,
        op: str,
        value: str,
        start: int,
        name_end: int,
        value_start: int,
        end: int,
        variables: tuple[Variable, ...] = (),
    ) -> None:
        self.label = label
        self.op = op
        self.value = value
        self.start = start
        self.name_end = name_end
        self.value_start = value_start
        self.end = end
        self.variables = variables


class At(Node):
    """What follows `@`: `timestamp_ms`, milliseconds since the epoch, or `function`, "start" or "end"."""

    __slots__ = ("function", "timestamp_ms")
    _fields = ("timestamp_ms", "function")

    def __init__(self, timestamp_ms: int | None, function: str | None, start: int, end: int) -> None:
        self.timestamp_ms = timestamp_ms
        self.function = function
        self.start = start
        self.end = end


class NumberLiteral(Expr):
    """A number, its sign included (`-1`). `duration`: it was written as a duration, `5m` for 300."""

    __slots__ = ("duration", "value")
    _fields = ("value",)
    _kept = ("duration",)
    type = SCALAR

    def __init__(self, value: float, start: int, end: int, duration: bool = False) -> None:
        self.value = value
        self.start = start
        self.end = end
        self.duration = duration


class StringLiteral(Expr):
    """A string, unquoted. Bytes that are not UTF-8 (escapes can make them) are lone surrogates: `surrogateescape`."""

    __slots__ = ("value",)
    _fields = ("value",)
    type = STRING

    def __init__(self, value: str, start: int, end: int) -> None:
        self.value = value
        self.start = start
        self.end = end


class VectorSelector(Expr):
    """`name{matchers} offset ... @ ...`. Its `end` is behind its modifiers, except inside a MatrixSelector.

    `name` is the metric name, written before the braces or quoted inside them, and None where there is neither;
    `name_start` and `name_end` are where it stands (0, 0 without one). It is not repeated in `matchers`; a
    `__name__="x"` matcher stays there. `variables` are the dashboard variables in the name or in place of matchers.
    """

    __slots__ = ("anchored", "at", "matchers", "name", "name_end", "name_start", "offset", "smoothed", "variables")
    _fields = ("name", "matchers", "variables", "offset", "at", "anchored", "smoothed")
    _links = ("matchers", "variables", "offset", "at")
    _kept = ("name_start", "name_end")
    type = VECTOR

    def __init__(  # noqa: PLR0917  (the parser calls it by position: keywords cost a tenth of its time)
        self,
        name: str | None,
        matchers: tuple[Matcher, ...],
        start: int,
        end: int,
        name_start: int = 0,
        name_end: int = 0,
        variables: tuple[Variable | Template, ...] = (),
    ) -> None:
        self.name = name
        self.matchers = matchers
        self.start = start
        self.end = end
        self.name_start = name_start
        self.name_end = name_end
        self.variables = variables
        self.offset: Duration | None = None
        self.at: At | Variable | Template | None = None
        self.anchored = False
        self.smoothed = False

    @property
    def metric_name(self) -> str | None:
        """The one metric that this selects, by `name` or by a `__name__="x"` matcher; None if there is no one."""
        if self.name is not None:
            return self.name
        names = {matcher.value for matcher in self.matchers if matcher.label == "__name__" and matcher.op == "="}
        return names.pop() if len(names) == 1 else None


class MatrixSelector(Expr):
    """`selector[range]`. Its `offset`, `@`, `anchored` and `smoothed` are on the selector inside, as in Prometheus."""

    __slots__ = ("range", "selector")
    _fields = ("selector", "range")
    _links = ("selector", "range")
    type = MATRIX

    def __init__(self, selector: VectorSelector, range: Duration, start: int, end: int) -> None:  # noqa: A002
        self.selector = selector
        self.range = range
        self.start = start
        self.end = end


class Subquery(Expr):
    """`expr[range:step] offset ... @ ...`; `step` is None where it is left to the evaluation interval."""

    __slots__ = ("at", "expr", "offset", "range", "step")
    _fields = ("expr", "range", "step", "offset", "at")
    _links = ("expr", "range", "step", "offset", "at")
    type = MATRIX

    def __init__(self, expr: Expr, range: Duration, step: Duration | None, start: int, end: int) -> None:  # noqa: A002
        self.expr = expr
        self.range = range
        self.step = step
        self.start = start
        self.end = end
        self.offset: Duration | None = None
        self.at: At | Variable | Template | None = None


class Call(Expr):
    """`name(args)`. `function` is its entry in the table; None where the name is a dashboard variable.

    The name stands from `start` to `name_end`.
    """

    __slots__ = ("args", "function", "name", "name_end", "type", "variables")
    _fields = ("name", "variables", "args")
    _links = ("variables", "args")
    _kept = ("name_end", "function", "type")

    def __init__(  # noqa: PLR0917  (the parser calls it by position: keywords cost a tenth of its time)
        self,
        name: str,
        function: Function | None,
        args: tuple[Expr, ...],
        start: int,
        name_end: int,
        end: int,
        variables: tuple[Variable, ...] = (),
    ) -> None:
        self.name = name
        self.function = function
        self.type = UNKNOWN if function is None else function.returns
        self.args = args
        self.start = start
        self.name_end = name_end
        self.end = end
        self.variables = variables


class Aggregate(Expr):
    """`op modifier (grouping) (param, expr)`. `modifier` is "by", "without" or None; `grouping` its labels."""

    __slots__ = ("expr", "grouping", "modifier", "op", "param", "variables")
    _fields = ("op", "variables", "modifier", "grouping", "param", "expr")
    _links = ("variables", "grouping", "param", "expr")
    type = VECTOR

    def __init__(  # noqa: PLR0917  (the parser calls it by position: keywords cost a tenth of its time)
        self,
        op: str,
        expr: Expr,
        param: Expr | None,
        modifier: str | None,
        grouping: tuple[Label, ...],
        start: int,
        end: int,
        variables: tuple[Variable, ...] = (),
    ) -> None:
        self.op = op
        self.expr = expr
        self.param = param
        self.modifier = modifier
        self.grouping = grouping
        self.start = start
        self.end = end
        self.variables = variables

    @property
    def without(self) -> bool:
        """Whether the labels in `grouping` are those that go."""
        return self.modifier == "without"


class VectorMatching(Node):
    """How the sides of a binary operation between vectors find each other.

    `card` is "one-to-one", "many-to-one" (`group_left`), "one-to-many" (`group_right`), or "many-to-many" for `and`,
    `or` and `unless`. With `on` true, `labels` are what must agree, else what is ignored. `include` are the labels
    taken over from the one side. `fill_left`, `fill_right` stand in for a missing left or right side. Without a
    modifier it is empty and spans nothing.
    """

    __slots__ = ("card", "fill_left", "fill_right", "include", "labels", "on")
    _fields = ("card", "on", "labels", "include", "fill_left", "fill_right")
    _links = ("labels", "include")

    def __init__(  # noqa: PLR0917  (the parser calls it by position: keywords cost a tenth of its time)
        self,
        card: str,
        on: bool,
        labels: tuple[Label, ...],
        include: tuple[Label, ...],
        fill_left: float | None,
        fill_right: float | None,
        start: int,
        end: int,
    ) -> None:
        self.card = card
        self.on = on
        self.labels = labels
        self.include = include
        self.fill_left = fill_left
        self.fill_right = fill_right
        self.start = start
        self.end = end


class Binary(Expr):
    """`lhs op rhs`. `op` is in lower case and starts at `op_start`; `return_bool` is the `bool` modifier.

    `matching` is there exactly where both sides may be vectors.
    """

    __slots__ = ("lhs", "matching", "op", "op_start", "return_bool", "rhs", "type")
    _fields = ("lhs", "op", "return_bool", "matching", "rhs")
    _links = ("lhs", "matching", "rhs")
    _kept = ("op_start", "type")

    def __init__(  # noqa: PLR0917  (the parser calls it by position: keywords cost a tenth of its time)
        self,
        op: str,
        lhs: Expr,
        rhs: Expr,
        return_bool: bool,
        matching: VectorMatching | None,
        type: str,  # noqa: A002
        op_start: int,
    ) -> None:
        self.op = op
        self.lhs = lhs
        self.rhs = rhs
        self.return_bool = return_bool
        self.matching = matching
        self.type = type
        self.op_start = op_start
        self.start = lhs.start
        self.end = rhs.end


class Unary(Expr):
    """`+expr` or `-expr`. The sign of a number literal is part of the literal instead."""

    __slots__ = ("expr", "op", "type")
    _fields = ("op", "expr")
    _links = ("expr",)
    _kept = ("type",)

    def __init__(self, op: str, expr: Expr, start: int) -> None:
        self.op = op
        self.expr = expr
        self.type = expr.type
        self.start = start
        self.end = expr.end


class Paren(Expr):
    """`(expr)`."""

    __slots__ = ("expr", "type")
    _fields = ("expr",)
    _links = ("expr",)
    _kept = ("type",)

    def __init__(self, expr: Expr, start: int, end: int) -> None:
        self.expr = expr
        self.type = expr.type
        self.start = start
        self.end = end


def walk(node: Node) -> Iterator[Node]:
    """Every node of a tree, `node` first, parents before children, children in order. Does not recurse."""
    stack = [node]
    while stack:
        node = stack.pop()
        yield node
        stack += reversed(node.children())
