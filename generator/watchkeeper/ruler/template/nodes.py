"""The syntax tree of a template. `str()` of a node is how Prometheus writes it in messages.

`position` is the character offset that Go's parser keeps for the node, which is where messages point.
"""

from __future__ import annotations


class Node:
    """A piece of a template."""

    __slots__ = ("position",)

    def __init__(self, position: int) -> None:
        self.position = position


class Text(Node):
    __slots__ = ("text",)

    def __init__(self, position: int, text: str) -> None:
        self.position = position
        self.text = text

    def __str__(self) -> str:
        return self.text


class NodeList(Node):
    __slots__ = ("nodes",)

    def __init__(self, position: int) -> None:
        self.position = position
        self.nodes: list[Node] = []

    def __str__(self) -> str:
        return "".join(map(str, self.nodes))


class Dot(Node):
    __slots__ = ()

    def __str__(self) -> str:
        return "."


class Nil(Node):
    __slots__ = ()

    def __str__(self) -> str:
        return "nil"


class Bool(Node):
    __slots__ = ("value",)

    def __init__(self, position: int, value: bool) -> None:
        self.position = position
        self.value = value

    def __str__(self) -> str:
        return "true" if self.value else "false"


class Number(Node):
    """A number or character constant, and all that it can be: None where it can't."""

    __slots__ = ("as_complex", "as_float", "as_int", "as_uint", "text")

    def __init__(self, position: int, text: str) -> None:
        self.position = position
        self.text = text
        self.as_int: int | None = None
        self.as_uint: int | None = None
        self.as_float: float | None = None
        self.as_complex: complex | None = None

    def __str__(self) -> str:
        return self.text


class String(Node):
    __slots__ = ("quoted", "value")

    def __init__(self, position: int, quoted: str, value: str) -> None:
        self.position = position
        self.quoted = quoted
        self.value = value

    def __str__(self) -> str:
        return self.quoted


class Identifier(Node):
    """The name of a function."""

    __slots__ = ("name",)

    def __init__(self, position: int, name: str) -> None:
        self.position = position
        self.name = name

    def __str__(self) -> str:
        return self.name


class Field(Node):
    """`.Labels.instance`: the fields of dot, one after the other."""

    __slots__ = ("names",)

    def __init__(self, position: int, names: list[str]) -> None:
        self.position = position
        self.names = names

    def __str__(self) -> str:
        return "." + ".".join(self.names)


class Variable(Node):
    """`$labels.instance`: a variable, with its `$`, and fields of its value."""

    __slots__ = ("name", "names")

    def __init__(self, position: int, name: str, names: list[str]) -> None:
        self.position = position
        self.name = name
        self.names = names

    def __str__(self) -> str:
        return ".".join([self.name, *self.names])


class Chain(Node):
    """`(query "up" | first).Value`: fields of what a parenthesis or a function gives."""

    __slots__ = ("names", "node")

    def __init__(self, position: int, node: Node, names: list[str]) -> None:
        self.position = position
        self.node = node
        self.names = names

    def __str__(self) -> str:
        inner = f"({self.node})" if isinstance(self.node, Pipe) else str(self.node)
        return ".".join([inner, *self.names])


class Command(Node):
    """One stage of a pipeline: an operand, or a function and its arguments."""

    __slots__ = ("args",)

    def __init__(self, position: int) -> None:
        self.position = position
        self.args: list[Node] = []

    def __str__(self) -> str:
        return " ".join(f"({arg})" if isinstance(arg, Pipe) else str(arg) for arg in self.args)


class Pipe(Node):
    """Commands joined by `|`, and the variables that its value goes to (`assigns`: that exist already)."""

    __slots__ = ("assigns", "commands", "declares")

    def __init__(self, position: int) -> None:
        self.position = position
        self.assigns = False
        self.declares: list[Variable] = []
        self.commands: list[Command] = []

    def __str__(self) -> str:
        commands = " | ".join(map(str, self.commands))
        if not self.declares:
            return commands
        return f"{', '.join(map(str, self.declares))} {'=' if self.assigns else ':='} {commands}"


class Action(Node):
    __slots__ = ("pipe",)

    def __init__(self, position: int, pipe: Pipe) -> None:
        self.position = position
        self.pipe = pipe

    def __str__(self) -> str:
        return f"{{{{{self.pipe}}}}}"


class Branch(Node):
    """`if`, `with` or `range`, by `keyword`."""

    __slots__ = ("body", "keyword", "otherwise", "pipe")

    def __init__(self, position: int, keyword: str, pipe: Pipe, body: NodeList, otherwise: NodeList | None) -> None:
        self.position = position
        self.keyword = keyword
        self.pipe = pipe
        self.body = body
        self.otherwise = otherwise

    def __str__(self) -> str:
        otherwise = "" if self.otherwise is None else f"{{{{else}}}}{self.otherwise}"
        return f"{{{{{self.keyword} {self.pipe}}}}}{self.body}{otherwise}{{{{end}}}}"


class Jump(Node):
    """`break` or `continue`."""

    __slots__ = ("keyword",)

    def __init__(self, position: int, keyword: str) -> None:
        self.position = position
        self.keyword = keyword

    def __str__(self) -> str:
        return f"{{{{{self.keyword}}}}}"


class Invoke(Node):
    """`{{ template "name" . }}`; a `block` is one too, and a definition beside it."""

    __slots__ = ("name", "pipe")

    def __init__(self, position: int, name: str, pipe: Pipe | None) -> None:
        self.position = position
        self.name = name
        self.pipe = pipe

    def __str__(self) -> str:
        from watchkeeper.engine.labels import quote

        rest = "" if self.pipe is None else f" {self.pipe}"
        return f"{{{{template {quote(self.name)}{rest}}}}}"


class Else(Node):
    __slots__ = ()

    def __str__(self) -> str:
        return "{{else}}"


class End(Node):
    __slots__ = ()

    def __str__(self) -> str:
        return "{{end}}"
