"""A syntax tree into Python functions, once, and those run for each alert, as Go's text/template executes it.

What Go decides by reflection at each step is decided here when the tree is turned into functions, as far as it can be.
`State.node` is the node that Go would name if something failed now: it is set in the same places and the same order.
"""

from __future__ import annotations

from watchkeeper.ruler.template.arguments import MISSING, Calls, Failure
from watchkeeper.ruler.template.nodes import (
    Action,
    Bool,
    Branch,
    Chain,
    Command,
    Dot,
    Field,
    Identifier,
    Invoke,
    Jump,
    Nil,
    Node,
    NodeList,
    Number,
    Pipe,
    String,
    Text,
    Variable,
)
from watchkeeper.ruler.template.printing import MAX_LENGTH, show, show_struct
from watchkeeper.ruler.template.values import Root, Sample, kind, truth

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any, NoReturn, TypeAlias

    from watchkeeper.engine.results import Result
    from watchkeeper.ruler.template.values import LabelSet

    Step: TypeAlias = Callable[["State", object], None]
    Value: TypeAlias = Callable[["State", object], Any]
    # What Engine.instant gives, or pairs of labels and value.
    Query: TypeAlias = Callable[[str], Result | Iterable[tuple[LabelSet, object]]]

_MAX_STEPS = 100_000
# Go goes 100,000 deep. Nobody counts on more than this, and Python's stack is finite; the message is Go's.
_MAX_DEPTH = 60
_TOO_DEEP = "exceeded maximum template depth (100000)"


class State:
    """One expansion under way."""

    __slots__ = (
        "depth", "functions_url", "name", "node", "now", "out", "query", "room", "root", "steps", "variables",
    )  # fmt: skip

    def __init__(self, root: Root, name: str, query: Query | None, now: float, functions_url: str | None) -> None:
        self.root = root
        self.name = name
        self.query = query
        self.now = now
        self.functions_url = functions_url
        self.out: list[str] = []
        self.node: Node | None = None
        self.depth = 0
        self.steps = 0
        self.room = MAX_LENGTH
        self.variables: list[list[Any]] = [["$", root]]

    def fail(self, message: str) -> NoReturn:
        raise Failure(message)

    def spend(self, steps: int) -> None:
        self.steps += steps
        if self.steps > _MAX_STEPS:
            self.fail(f"gave up after {_MAX_STEPS} steps: the template loops")

    def write(self, text: str) -> None:
        self.room -= len(text)
        if self.room < 0:
            self.fail(f"gave up after {MAX_LENGTH} characters")
        self.out.append(text)

    def assign(self, name: str, value: object) -> None:
        for variable in reversed(self.variables):
            if variable[0] == name:
                variable[1] = value
                return
        self.fail(f"undefined variable: {name}")

    def value_of(self, name: str) -> object:
        for variable in reversed(self.variables):
            if variable[0] == name:
                return variable[1]
        raise Failure(f"undefined variable: {name}")


class _Break(Exception):  # noqa: N818
    pass


class _Continue(Exception):  # noqa: N818
    pass


class Builder(Calls):
    """Turns the nodes of one template, and of those it defines, into functions."""

    def __init__(self, defined: dict[str, NodeList]) -> None:
        self._defined = defined
        self._bodies: dict[str, Step] = {}

    # Nodes that write

    def body(self, nodes: NodeList) -> Step:
        steps = [self._step(node) for node in nodes.nodes]
        if len(steps) == 1:
            return steps[0]

        def run(state: State, dot: object) -> None:
            for step in steps:
                step(state, dot)

        return run

    def _step(self, node: Node) -> Step:
        if isinstance(node, Text):
            text = node.text
            return lambda state, _: state.write(text)
        if isinstance(node, Action):
            return self._action(node)
        if isinstance(node, Branch):
            return self._range(node) if node.keyword == "range" else self._condition(node)
        if isinstance(node, Jump):
            signal = _Break if node.keyword == "break" else _Continue

            def jump(_: State, __: object) -> None:
                raise signal

            return jump
        assert isinstance(node, Invoke)
        return self._invocation(node)

    def _action(self, node: Action) -> Step:
        pipe = self.pipe(node.pipe)
        if node.pipe.declares:
            return pipe
        command = node.pipe.commands[0]
        first = command.args[0]
        if len(node.pipe.commands) == len(command.args) == 1 and isinstance(first, Variable) and len(first.names) == 1:
            return self._label(node, first, pipe)

        def run(state: State, dot: object) -> None:
            value = pipe(state, dot)
            state.node = node
            if type(value) is str:
                state.write(value)
            else:
                state.write("<no value>" if value is None else show_struct(value))

        return run

    @staticmethod
    def _label(node: Action, first: Variable, pipe: Value) -> Step:
        """`{{ $labels.name }}`, the most frequent action of all, without a detour."""
        variable, name = first.name, first.names[0]

        def run(state: State, dot: object) -> None:
            labels = state.value_of(variable)
            if type(labels) is dict:
                text = labels.get(name)
                if text:
                    state.node = node
                    state.write(text)
                return
            value = pipe(state, dot)
            state.node = node
            state.write("<no value>" if value is None else show_struct(value))

        return run

    def _condition(self, node: Branch) -> Step:
        pipe = self.pipe(node.pipe)
        body = self.body(node.body)
        otherwise = None if node.otherwise is None else self.body(node.otherwise)
        binds = node.keyword == "with"

        def run(state: State, dot: object) -> None:
            mark = len(state.variables)
            value = pipe(state, dot)
            if truth(value):
                body(state, value if binds else dot)
            elif otherwise is not None:
                otherwise(state, dot)
            del state.variables[mark:]

        return run

    def _range(self, node: Branch) -> Step:
        pipe = self.pipe(node.pipe)
        body = self.body(node.body)
        otherwise = None if node.otherwise is None else self.body(node.otherwise)
        names = [variable.name for variable in node.pipe.declares]
        assigns = node.pipe.assigns

        def bind(state: State, mark: int, key: object, value: object) -> None:
            if len(names) > 1:
                first, second = key, value
            else:
                first, second = value, None
            if assigns:
                state.assign(names[0], first)
                if len(names) > 1:
                    state.assign(names[1], second)
            else:
                state.variables[mark][1] = first
                if len(names) > 1:
                    state.variables[mark + 1][1] = second

        def run(state: State, dot: object) -> None:
            state.node = node
            mark = len(state.variables)
            value = pipe(state, dot)
            inner = len(state.variables)
            any_yet = False
            try:
                for key, one in self._items(state, value, len(names)):
                    any_yet = True
                    state.spend(1)
                    if names:
                        bind(state, mark, key, one)
                    try:  # noqa: SIM105  # contextlib costs at start-up
                        body(state, one)
                    except _Continue:
                        pass
                    del state.variables[inner:]
            except _Break:
                pass
            else:
                if not any_yet and otherwise is not None:
                    otherwise(state, dot)
            del state.variables[mark:]

        return run

    @staticmethod
    def _items(state: State, value: Any, names: int) -> Iterable[tuple[object, object]]:
        if value is None:
            return ()
        what = kind(value)
        if what == "map":
            return sorted(value.items())
        if what == "slice":
            return enumerate(list(value))
        if what in {"int", "uint"}:
            if names > 1:
                state.fail(f"can't use {show(value)} to iterate over more than one variable")
            made = type(value)
            return ((None, made(number)) for number in range(int(value)))
        shown = show_struct(value) if isinstance(value, Sample) else show(value)
        raise Failure(f"range can't iterate over {shown}")

    def _invocation(self, node: Invoke) -> Step:
        pipe = None if node.pipe is None else self.pipe(node.pipe)
        name = node.name

        def run(state: State, dot: object) -> None:
            state.node = node
            if name not in self._defined:
                from watchkeeper.ruler.template.lexer import quote

                state.fail(f"template {quote(name)} not defined")
            if state.depth == _MAX_DEPTH:
                state.fail(_TOO_DEEP)
            body = self._bodies.get(name)
            if body is None:
                body = self._bodies[name] = self.body(self._defined[name])
            inner = pipe(state, dot) if pipe is not None else None
            saved = state.variables, state.name
            state.spend(1)
            state.depth += 1
            state.variables, state.name = [["$", inner]], name
            body(state, inner)
            state.variables, state.name = saved
            state.depth -= 1

        return run

    # Nodes that have a value

    def pipe(self, node: Pipe) -> Value:
        commands = [self._command(command, first=number == 0) for number, command in enumerate(node.commands)]
        names = [variable.name for variable in node.declares]
        assigns = node.assigns
        if len(commands) == 1 and not names:
            only = commands[0]

            def run_only(state: State, dot: object) -> Any:
                state.node = node
                return only(state, dot, MISSING)

            return run_only

        def run(state: State, dot: object) -> Any:
            state.node = node
            value: Any = MISSING
            for command in commands:
                value = command(state, dot, value)
            for name in names:
                if assigns:
                    state.assign(name, value)
                else:
                    state.variables.append([name, value])
            return value

        return run

    def _command(self, command: Command, *, first: bool) -> Callable[[State, object, Any], Any]:
        """One stage: a function of the state, dot and what the stage before gave."""
        args = command.args
        node = args[0]
        if isinstance(node, Identifier):
            return self.call(node, command, args[1:])
        if isinstance(node, (Field, Variable, Chain)) and (node.names if not isinstance(node, Field) else True):
            return self.fields(node, args[1:])
        plain = len(args) == 1 and first
        if isinstance(node, Variable):
            value = self._variable(node)
        elif isinstance(node, Pipe):
            value = self.pipe(node)
        else:
            value = self._constant(node)
        if plain:
            return lambda state, dot, _: value(state, dot)
        outer = isinstance(node, Pipe)

        def refuse(state: State, _: object, __: Any) -> Any:
            if not outer:
                state.node = node
            state.fail(f"can't give argument to non-function {node}")

        return refuse

    def _variable(self, node: Variable) -> Value:
        name = node.name

        def run(state: State, _: object) -> Any:
            state.node = node
            return state.value_of(name)

        return run

    def _constant(self, node: Node) -> Value:
        if isinstance(node, Dot):

            def dot_value(state: State, dot: object) -> Any:
                state.node = node
                return dot

            return dot_value
        if isinstance(node, Nil):
            return self._failing(node, "nil is not a command")
        if isinstance(node, Number):
            return self.number(node)
        assert isinstance(node, (Bool, String))
        constant = node.value

        def run(state: State, _: object) -> Any:
            state.node = node
            return constant

        return run

    @staticmethod
    def _failing(node: Node, message: str) -> Value:
        def run(state: State, _: object) -> Any:
            state.node = node
            state.fail(message)

        return run

    def number(self, node: Number) -> Value:
        """A constant where no type is asked for: an int, or a float where it is written like one."""
        text = node.text
        value: object
        if node.as_complex is not None:
            value = node.as_complex
        elif (
            node.as_float is not None
            and text[0] != "'"
            and not (len(text) > 2 and text[0] == "0" and text[1] in "xX" and not any(char in "pP" for char in text))
            and any(char in ".eEpP" for char in text)
        ):
            value = node.as_float
        elif node.as_int is not None:
            value = node.as_int
        else:
            return self._failing(node, f"{text} overflows int")

        def run(state: State, _: object) -> Any:
            state.node = node
            return value

        return run
