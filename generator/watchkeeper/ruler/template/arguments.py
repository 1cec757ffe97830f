"""Calls and fields: what Go checks of arguments, and where a chain of names leads."""

from __future__ import annotations

from watchkeeper.ruler.template.errors import CallError
from watchkeeper.ruler.template.moments import Duration, Time
from watchkeeper.ruler.template.nodes import (
    Bool,
    Chain,
    Dot,
    Field,
    Identifier,
    Nil,
    Node,
    Number,
    Pipe,
    String,
    Variable,
)
from watchkeeper.ruler.template.printing import MAX_LENGTH
from watchkeeper.ruler.template.values import (
    FIELDS,
    HISTOGRAM_FIELDS,
    Args,
    Histogram,
    QueryResult,
    Sample,
    truth,
    type_name,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from watchkeeper.ruler.template.basics import Signature
    from watchkeeper.ruler.template.execution import State, Value


class Failure(Exception):  # noqa: N818
    """An execution failed; the state says at which node."""


class _Missing:
    pass


MISSING: Any = _Missing()  # no value comes down the pipeline

# Types of parameters: what Go calls them and the types that are it.
_TYPES: dict[str, tuple[str, type]] = {
    "string": ("string", str),
    "sample": ("*template.sample", Sample),
    "result": ("template.queryResult", QueryResult),
    "int": ("int", int),
    "duration": ("time.Duration", Duration),
    "time": ("time.Time", Time),
}
_NILABLE = frozenset({"any", "value", "sample", "result"})
_INTS = frozenset({"int", "duration"})
_FIELDS = {made: dict(fields) for made, fields in FIELDS.items()}


def checked(state: State, value: Any, wanted: str) -> Any:
    """A value as an argument of a type, or a failure: Go's validateType."""
    if wanted in ("any", "value"):
        return value
    name, made = _TYPES[wanted]
    if type(value) is made:
        return value
    if value is None:
        if wanted in _NILABLE:
            return None
        state.fail(f"invalid value; expected {name}")
    raise Failure(f"wrong type for value; expected {name}; got {type_name(value)}")


class Calls:
    """The part of a Builder that knows functions, methods and fields."""

    def pipe(self, node: Pipe) -> Value:
        raise NotImplementedError

    def number(self, node: Number) -> Value:
        raise NotImplementedError

    # Arguments

    def argument(self, node: Node, wanted: str) -> Value:
        """An argument where a type is asked for; None: any value, unchecked."""
        inner: Value | None = None
        if isinstance(node, (Field, Chain)) or (isinstance(node, Variable) and node.names):
            fields = self.fields(node, [])
            inner = lambda state, dot: fields(state, dot, MISSING)  # noqa: E731
        elif isinstance(node, Variable):
            name = node.name
            inner = lambda state, _: state.value_of(name)  # noqa: E731
        elif isinstance(node, Pipe):
            inner = self.pipe(node)
        elif isinstance(node, Identifier):
            call = self.call(node, node, [])
            inner = lambda state, dot: call(state, dot, MISSING)  # noqa: E731
        elif isinstance(node, Dot):
            inner = lambda _, dot: dot  # noqa: E731
        if inner is not None:
            value_of = inner
            if wanted in ("any", "value", ""):

                def run(state: State, dot: object) -> Any:
                    state.node = node
                    return value_of(state, dot)

                return run

            def run_checked(state: State, dot: object) -> Any:
                state.node = node
                return checked(state, value_of(state, dot), wanted)

            return run_checked
        return self._constant_argument(node, wanted)

    def _constant_argument(self, node: Node, wanted: str) -> Value:
        value: Any = None
        problem = ""
        if isinstance(node, Nil):
            if wanted not in _NILABLE:
                problem = f"cannot assign nil to {_TYPES[wanted][0] if wanted else 'nil'}"
        elif wanted in ("any", "value", ""):
            if isinstance(node, Number):
                return self.number(node)
            assert isinstance(node, (Bool, String))
            value = node.value
        elif wanted == "string":
            if isinstance(node, String):
                value = node.value
            else:
                problem = f"expected string; found {node}"
        elif wanted in _INTS:
            if isinstance(node, Number) and node.as_int is not None:
                value = Duration(node.as_int) if wanted == "duration" else node.as_int
            else:
                problem = f"expected integer; found {node}"
        else:
            problem = f"can't handle {node} for arg of type {_TYPES[wanted][0]}"

        def run(state: State, _: object) -> Any:
            state.node = node
            if problem:
                state.fail(problem)
            return value

        return run

    # Calls

    def call(self, name_node: Identifier, node: Node, args: list[Node]) -> Callable[[State, object, Any], Any]:
        """A call of a function, `node` being the command that messages show."""
        from watchkeeper.ruler.template.functions import SIGNATURES, STATEFUL

        name = name_node.name
        if name in ("and", "or"):
            return self._short_circuit(name_node, args)
        if name == "call":
            return self._call_of(name_node, node, args)
        run = self._call(name, SIGNATURES[name], node, args, stateful=name in STATEFUL)

        def call(state: State, dot: object, final: Any) -> Any:
            state.node = name_node
            return run(state, dot, final, ())

        return call

    def _call(
        self, name: str, signature: Signature, node: Node, args: list[Node], *, stateful: bool = False
    ) -> Callable[[State, object, Any, tuple[Any, ...]], Any]:
        """A call of a function or a method; the receiver comes in front of the arguments."""
        fixed, rest, function = signature
        wanted = len(fixed)
        given = len(args)
        types = [fixed[number] if number < wanted else rest for number in range(given)]
        makers = [self.argument(arg, made or "any") for arg, made in zip(args, types, strict=True)]
        problems = (self._miscounted(name, signature, given, 0), self._miscounted(name, signature, given, 1))
        last = rest or (fixed[-1] if fixed else "any")
        if rest and given < wanted:
            last = fixed[given]

        def run(state: State, dot: object, final: Any, receiver: tuple[Any, ...]) -> Any:
            piped = final is not MISSING
            if problems[piped]:
                state.fail(problems[piped])
            values = [make(state, dot) for make in makers]
            if piped:
                values.append(checked(state, final, last))
            try:
                result = function(state, *values) if stateful else function(*receiver, *values)
                if isinstance(result, str):
                    state.room -= len(result)
                    if state.room < 0:
                        state.fail(f"gave up after {MAX_LENGTH} characters")
            except CallError as error:
                state.node = node
                state.fail(f"error calling {name}: {error}")
            return result

        return run

    @staticmethod
    def _miscounted(name: str, signature: Signature, given: int, piped: int) -> str:
        fixed, rest, _ = signature
        count = given + piped
        if rest is not None:
            if count < len(fixed):
                return f"wrong number of args for {name}: want at least {len(fixed)} got {given}"
        elif count != len(fixed):
            return f"wrong number of args for {name}: want {len(fixed)} got {count}"
        return ""

    def _short_circuit(self, node: Identifier, args: list[Node]) -> Callable[[State, object, Any], Any]:
        makers = [self.argument(arg, "value") for arg in args]
        stops_at = node.name == "or"

        def run(state: State, dot: object, final: Any) -> Any:
            state.node = node
            if not makers and final is MISSING:
                state.fail(f"wrong number of args for {node.name}: want at least 1 got 0")
            value = None
            for make in makers:
                value = make(state, dot)
                if truth(value) is stops_at:
                    return value
            return value if final is MISSING else final

        return run

    def _call_of(self, name_node: Identifier, node: Node, args: list[Node]) -> Callable[[State, object, Any], Any]:
        """`call`: no value of a template is a function, so it always fails."""
        makers = [self.argument(arg, "any") for arg in args]

        def run(state: State, dot: object, final: Any) -> Any:
            state.node = name_node
            if not makers and final is MISSING:
                state.fail("wrong number of args for call: want at least 1 got 0")
            values = [make(state, dot) for make in makers]
            value = values[0] if values else final
            state.node = node
            if value is None:
                state.fail("error calling call: call of nil")
            shown = args[0] if args else final if isinstance(final, str) else f"<{type_name(final)} Value>"
            state.fail(f"error calling call: non-function {shown} of type {type_name(value)}")

        return run

    # Fields

    def fields(self, node: Field | Variable | Chain, args: list[Node]) -> Callable[[State, object, Any], Any]:
        """What a chain of names leads to; the last one may be a method, with arguments."""
        names = node.names
        start: Value | None = None
        if isinstance(node, Chain):
            if isinstance(node.node, Nil):

                def refuse(state: State, _: object, __: Any) -> Any:
                    state.node = node
                    state.fail(f"indirection through explicit nil in {node}")

                return refuse
            start = self.argument(node.node, "")
        variable = node.name if isinstance(node, Variable) else ""
        methods: dict[tuple[type, str], Callable[[State, object, Any, tuple[Any, ...]], Any]] = {}
        final_name = names[-1]
        leading = names[:-1]
        has_args = bool(args)

        def run(state: State, dot: object, final: Any) -> Any:
            state.node = node
            value: Any
            if variable:
                value = state.value_of(variable)
            elif start is not None:
                value = start(state, dot)
            else:
                value = dot
            loose = False
            for name in leading:
                value, loose = self._field(state, value, name, loose)
            made = type(value)
            if made is dict and not has_args and final is MISSING:
                return value.get(final_name, "")
            method = methods.get((made, final_name)) or self._method(made, final_name, node, args, methods)
            if method is not None:
                return method(state, dot, final, (value,))
            if has_args or final is not MISSING:
                self._refuse_arguments(state, value, final_name)
            return self._field(state, value, final_name, loose)[0]

        return run

    def _method(
        self,
        made: type,
        name: str,
        node: Node,
        args: list[Node],
        known: dict[tuple[type, str], Callable[[State, object, Any, tuple[Any, ...]], Any]],
    ) -> Callable[[State, object, Any, tuple[Any, ...]], Any] | None:
        from watchkeeper.ruler.template.functions import METHODS

        signature = METHODS.get(made, {}).get(name)
        if signature is None:
            return None
        found = known[made, name] = self._call(name, signature, node, args)
        return found

    @staticmethod
    def _refuse_arguments(state: State, value: Any, name: str) -> None:
        if isinstance(value, dict):
            state.fail(f"{name} is not a method but has arguments")
        if name in _FIELDS.get(type(value), {}):
            state.fail(f"{name} has arguments but cannot be invoked as function")

    def _field(self, state: State, value: Any, name: str, loose: bool) -> tuple[Any, bool]:
        """A field, and whether its static type is interface{}, which is what messages then name."""
        made = type(value)
        if made is dict:
            return value.get(name, ""), False
        if made is Args:
            return value.get(name), True
        if value is None:
            if loose:
                state.fail(f"nil pointer evaluating interface {{}}.{name}")
            return None, False
        own = _FIELDS.get(made, {}).get(name)
        if own is not None:
            return getattr(value, own), name == "Value"
        if isinstance(value, Histogram):
            own = HISTOGRAM_FIELDS.get(name)
            if own is not None:
                return getattr(value, own), False
        method = self._method(made, name, Nil(0), [], {})
        if method is not None:
            return method(state, None, MISSING, (value,)), False
        shown = "interface {}" if loose else type_name(value)
        raise Failure(f"can't evaluate field {name} in type {shown}")
