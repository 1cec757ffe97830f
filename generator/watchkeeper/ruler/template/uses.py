"""What a template uses: labels, the value, functions and queries, each with its place.

Dot and variables are followed through `with`, `range`, `:=` and `template` as far as a text shows where they lead.
"""

from __future__ import annotations

from watchkeeper.ruler.template.nodes import (
    Action,
    Branch,
    Chain,
    Command,
    Dot,
    Field,
    Identifier,
    Invoke,
    Node,
    NodeList,
    Pipe,
    String,
    Variable,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from watchkeeper.ruler.template.template import Template

# What a value is known to be. A sample comes from a query, so its labels are not the alert's.
_ROOT = "root"
_LABELS = "labels"
_EXTERNAL_LABELS = "external labels"
_VALUE = "value"
_TEXT = "text"
_OTHER = ""
_FIELDS = {"Labels": _LABELS, "ExternalLabels": _EXTERNAL_LABELS, "Value": _VALUE, "ExternalURL": _TEXT}
_MAX_DEPTH = 20


class Use:
    """One thing that a template uses.

    `kind` is "label", "external label", "value", "function" or "query", or "labels" and "external labels" where all of
    them are (printed, ranged over, or indexed by what is only known later), or "field": one that isn't there, which
    makes an error of the whole text. `name` is the label, the function or the field, the text of a query (None where
    it is put together), and empty elsewhere. `position` and `end` are character offsets of the name in the template.
    """

    __slots__ = ("end", "kind", "name", "position")

    def __init__(self, kind: str, name: str | None, position: int, end: int) -> None:
        self.kind = kind
        self.name = name
        self.position = position
        self.end = end

    def __eq__(self, other: object) -> bool:
        if type(other) is not Use:
            return NotImplemented
        return self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> tuple[str, str | None, int, int]:
        return self.kind, self.name, self.position, self.end

    def __repr__(self) -> str:
        return f"Use({self.kind!r}, {self.name!r}, {self.position}, {self.end})"


def fields(template: Template) -> list[Use]:
    """What a template uses, in the order of the text, each place once."""
    root, defined = template.syntax
    if root is None:
        return []
    walk = _Walk(template.text, defined)
    walk.nodes(root, _ROOT)
    for name, body in defined.items():
        if name not in walk.reached:
            walk.template(body, _OTHER)
    return sorted(dict.fromkeys(walk.found), key=lambda use: (use.position, use.kind, use.name or ""))


class _Walk:
    def __init__(self, text: str, defined: dict[str, NodeList]) -> None:
        self.text = text
        self.defined = defined
        self.reached: set[str] = set()
        self.found: list[Use] = []
        self._depth = 0
        self._variables: list[tuple[str, str]] = [
            ("$", _ROOT),
            ("$labels", _LABELS),
            ("$externalLabels", _EXTERNAL_LABELS),
            ("$externalURL", _OTHER),
            ("$value", _VALUE),
        ]

    def add(self, kind: str, name: str | None, position: int, length: int) -> None:
        self.found.append(Use(kind, name, position, position + length))

    # Nodes

    def nodes(self, body: NodeList, dot: str) -> None:
        for node in body.nodes:
            if isinstance(node, Action):
                kind = self.pipe(node.pipe, dot)
                if not node.pipe.declares:
                    self._whole(kind, node.pipe)
            elif isinstance(node, Branch):
                self._branch(node, dot)
            elif isinstance(node, Invoke):
                self._invoke(node, dot)

    def _branch(self, node: Branch, dot: str) -> None:
        mark = len(self._variables)
        kind = self.pipe(node.pipe, dot)
        inner = dot
        if node.keyword == "with":
            inner = kind
        elif node.keyword == "range":
            self._whole(kind, node.pipe)
            inner = _OTHER
            if not node.pipe.assigns:
                for number in range(len(node.pipe.declares)):
                    at = mark + number
                    if at < len(self._variables):
                        self._variables[at] = (self._variables[at][0], _OTHER)
        elif kind == _VALUE:
            self._whole(kind, node.pipe)
        self.nodes(node.body, inner)
        if node.otherwise is not None:
            self.nodes(node.otherwise, dot)
        del self._variables[mark:]

    def _invoke(self, node: Invoke, dot: str) -> None:
        kind = _OTHER if node.pipe is None else self.pipe(node.pipe, dot)
        body = self.defined.get(node.name)
        self.reached.add(node.name)
        if body is not None and self._depth < _MAX_DEPTH:
            self.template(body, kind)

    def template(self, body: NodeList, dot: str) -> None:
        """The body of a definition, which sees only what it is given."""
        saved, self._variables = self._variables, [("$", dot)]
        self._depth += 1
        self.nodes(body, dot)
        self._depth -= 1
        self._variables = saved

    # Values

    def pipe(self, pipe: Pipe, dot: str) -> str:
        kind = _OTHER
        for number, command in enumerate(pipe.commands):
            if number:
                self._whole(kind, pipe.commands[number - 1])
            kind = self._command(command, dot, kind if number else None)
        for variable in pipe.declares:
            if pipe.assigns:
                self._assign(variable.name, kind)
            else:
                self._variables.append((variable.name, kind))
        return kind

    def _assign(self, name: str, kind: str) -> None:
        for number in range(len(self._variables) - 1, -1, -1):
            if self._variables[number][0] == name:
                if self._variables[number][1] != kind:  # what it is from here on depends on the way taken
                    self._variables[number] = (name, _OTHER)
                return

    def _command(self, command: Command, dot: str, piped: str | None) -> str:
        first, rest = command.args[0], command.args[1:]
        if not isinstance(first, Identifier):
            for one in rest:
                self._whole(self.value(one, dot), one)
            return self.value(first, dot)
        self.add("function", first.name, first.position, len(first.name))
        return self._call(first.name, rest, dot, piped)

    def _call(self, name: str, args: list[Node], dot: str, piped: str | None) -> str:
        if name == "index" and args:
            return self._index(args, dot, piped)
        if name == "query":
            for one in args:
                self._query(one)
            if piped is not None:
                self.add("query", None, args[0].position if args else 0, 0)
        kinds = [self.value(one, dot) for one in args]
        for one, kind in zip(args, kinds, strict=True):
            self._whole(kind, one)
        if name in {"and", "or"} and kinds and len(set(kinds)) == 1 and piped is None:
            return kinds[0]
        return _OTHER

    def _query(self, node: Node) -> None:
        if isinstance(node, String):
            self.add("query", node.value, node.position, len(node.quoted))
        else:
            self.add("query", None, *self._span(node))

    def _index(self, args: list[Node], dot: str, piped: str | None) -> str:
        kind = self.value(args[0], dot)
        keys = args[1:]
        for one in keys:
            self._whole(self.value(one, dot), one)
        if kind in (_LABELS, _EXTERNAL_LABELS) and (keys or piped is not None):
            key = keys[0] if keys else None
            if isinstance(key, String):
                self.add(kind[:-1], key.value, key.position, len(key.quoted))
            else:
                self._whole(kind, args[0])
            return _OTHER
        self._whole(kind, args[0])
        return _OTHER

    def value(self, node: Node, dot: str) -> str:
        """What an operand is; the labels that it names are noted on the way."""
        if isinstance(node, Dot):
            return dot
        if isinstance(node, Field):
            return self._follow(dot, node.names, node)
        if isinstance(node, Variable):
            kind = next((known for name, known in reversed(self._variables) if name == node.name), _OTHER)
            return self._follow(kind, node.names, node)
        if isinstance(node, Chain):
            return self._follow(self.value(node.node, dot), node.names, node)
        if isinstance(node, Pipe):
            return self.pipe(node, dot)
        if isinstance(node, Identifier):
            self.add("function", node.name, node.position, len(node.name))
        return _OTHER

    def _follow(self, kind: str, names: list[str], node: Node) -> str:
        # The position of a node with names behind it is that of the first dot that follows its head; of a field
        # with several names, that of the second dot.
        starts = self._starts(names, node)
        for name, start in zip(names, starts, strict=True):
            if kind in (_LABELS, _EXTERNAL_LABELS):
                self.add(kind[:-1], name, start, len(name))
                kind = _TEXT
            elif kind == _ROOT and name in _FIELDS:
                kind = _FIELDS[name]
            else:
                if kind != _OTHER:
                    self.add("field", name, start, len(name))
                kind = _OTHER
        return kind

    def _starts(self, names: list[str], node: Node) -> list[int]:
        start = node.position - len(names[0]) if isinstance(node, Field) and len(names) > 1 else node.position + 1
        starts = []
        for name in names:
            starts.append(start)
            start += len(name) + 1
        return starts

    def _span(self, node: Node) -> tuple[int, int]:
        """Where a node begins and how long it is; 0 where its text is written otherwise than it is shown."""
        start = node.position
        if isinstance(node, Variable) and node.names:
            start -= len(node.name)
        elif isinstance(node, Field) and len(node.names) > 1:
            start -= len(node.names[0]) + 1
        shown = str(node)
        return start, len(shown) if self.text.startswith(shown, start) else 0

    def _whole(self, kind: str, node: Node) -> None:
        """A value is taken as it is: printed, ranged over or handed to a function."""
        if kind in (_LABELS, _EXTERNAL_LABELS, _VALUE):
            self.add(kind, "", *self._span(node))
        elif kind == _ROOT:
            for one in (_LABELS, _EXTERNAL_LABELS, _VALUE):
                self.add(one, "", node.position, 0)
