"""Tokens into a syntax tree, with the refusals of Go's text/template/parse in its own words."""

from __future__ import annotations

from watchkeeper.ruler.template import lexer
from watchkeeper.ruler.template.literals import LiteralError, number, unquote
from watchkeeper.ruler.template.nodes import (
    Action,
    Bool,
    Branch,
    Chain,
    Command,
    Dot,
    Else,
    End,
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

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection
    from typing import NoReturn

    from watchkeeper.ruler.template.lexer import Token

_OPERANDS = frozenset(
    {
        lexer.BOOL, lexer.CHAR_CONSTANT, lexer.COMPLEX, lexer.DOT, lexer.FIELD, lexer.IDENTIFIER, lexer.NUMBER,
        lexer.NIL, lexer.RAW_STRING, lexer.STRING, lexer.VARIABLE, lexer.OPEN,
    }
)  # fmt: skip
_NUMBERS = frozenset({lexer.NUMBER, lexer.CHAR_CONSTANT, lexer.COMPLEX})
_STRINGS = frozenset({lexer.STRING, lexer.RAW_STRING})
_BRANCHES = frozenset({"if", "with", "range"})
_CONTROLS = _BRANCHES | {"end", "else", "break", "continue", "template", "block"}
# Go's own limit is far away; Python's stack is not. A hundred parentheses or blocks in one another are a mistake.
_MAX_NESTING = 60
_SHOWN = 10  # characters of a token in a message


class SyntaxFaultError(ValueError):
    """What is wrong, and where: a character offset, and the line that Go would name (up to which it has read)."""

    def __init__(self, message: str, position: int, line: int) -> None:
        super().__init__(message)
        self.message = message
        self.position = position
        self.line = line


class Parser:
    """The tree of one text: `root`, and `defined`, the templates that it defines by name.

    `variables` are those in scope from the start; `functions` the names that may be called. `loose` takes any function,
    for whoever walks templates of newer versions. Raises SyntaxFaultError.
    """

    def __init__(self, text: str, functions: Collection[str], variables: tuple[str, ...], *, loose: bool) -> None:
        self.defined: dict[str, NodeList] = {}
        self._functions = functions
        self._loose = loose
        self._tokens = lexer.tokens_of(text)
        self._tokens.append(self._tokens[-1])
        self._next = 0
        self._furthest = 0
        self._variables = ["$", *variables]
        self._action: int | None = None  # where the action begins that is being read
        self._text = text
        self._range_depth = 0
        self._nesting = 0
        self.root = self._whole()

    # Tokens. Spaces are tokens too, never two in a row. What Go has lexed last decides the line of a message, so the
    # furthest token looked at is kept where the parser goes back.

    def _take(self) -> Token:
        index = self._next
        self._next = index + 1
        return self._tokens[index]

    def _take_beyond_space(self) -> Token:
        index = self._next
        token = self._tokens[index]
        if token[0] is lexer.SPACE:
            index += 1
            token = self._tokens[index]
        self._next = index + 1
        return token

    def _peek_beyond_space(self) -> Token:
        token = self._tokens[self._next]
        if token[0] is lexer.SPACE:
            self._next += 1
            token = self._tokens[self._next]
        return token

    def _expect(self, kind: str, context: str) -> Token:
        token = self._take_beyond_space()
        if token[0] is not kind:
            self._unexpected(token, context)
        return token

    def line_of(self, position: int) -> int:
        return self._text.count("\n", 0, position) + 1

    def _fail(self, message: str, position: int | None = None, *, peeked: bool = False) -> NoReturn:
        raise self._fault(message, position, peeked=peeked)

    def _fault(self, message: str, position: int | None = None, *, peeked: bool = False) -> SyntaxFaultError:
        index = max(self._furthest, self._next if peeked else self._next - 1)
        latest = self._tokens[index][2]
        return SyntaxFaultError(message, latest if position is None else position, self.line_of(latest))

    def _unexpected(self, token: Token, context: str) -> NoReturn:
        kind, text, position = token
        if kind is lexer.ERROR:
            extra = ""
            line = None if self._action is None else self.line_of(self._action)
            if line is not None and line != self.line_of(position):
                extra = f" in action started at \0:{line}"
                if text.endswith(" action"):
                    extra = extra[len(" in action") :]
            self._fail(text + extra, position)
        if kind is lexer.EOF:
            shown = "EOF"
        elif kind in lexer.KEYWORDS:
            shown = f"<{text}>"
        elif len(text) > _SHOWN:
            shown = f"{lexer.quote(text[:_SHOWN])}..."
        else:
            shown = lexer.quote(text)
        self._fail(f"unexpected {shown} in {context}", position)

    # Structure

    def _whole(self) -> NodeList:
        root = NodeList(0)
        while True:
            token = self._tokens[self._next]
            if token[0] is lexer.EOF:
                return root
            if token[0] is lexer.LEFT:
                start = self._next
                self._take()
                if self._take_beyond_space()[0] == "define":
                    self._definition()
                    continue
                self._next = start
            node = self._text_or_action()
            if isinstance(node, (End, Else)):
                self._fail(f"unexpected {node}", node.position)
            root.nodes.append(node)

    def _definition(self) -> None:
        context = "define clause"
        token = self._take_beyond_space()
        if token[0] not in _STRINGS:
            self._unexpected(token, context)
        name = self._unquoted(token)
        self._expect(lexer.RIGHT, context)
        self._separate(name, context)

    def _separate(self, name: str, context: str) -> None:
        """The body of a definition, which sees no variable of the text around it."""
        saved = self._variables, self._range_depth, self._action
        self._variables, self._range_depth, self._action = ["$"], 0, None
        body, end = self._list()
        if not isinstance(end, End):
            self._fail(f"unexpected {end} in {context}", end.position)
        self._variables, self._range_depth, self._action = saved
        self._define(name, body)

    def _define(self, name: str, body: NodeList) -> None:
        existing = self.defined.get(name)
        if existing is None or _is_empty(existing):
            self.defined[name] = body
        elif not _is_empty(body):
            self._fail(f"template: multiple definition of template {lexer.quote(name)}")

    def _list(self) -> tuple[NodeList, Node]:
        """Nodes up to an `end` or `else`, and that."""
        self._nesting += 1
        if self._nesting > _MAX_NESTING:
            self._fail(f"nested more than {_MAX_NESTING} deep")
        nodes = NodeList(self._peek_beyond_space()[2])
        while self._peek_beyond_space()[0] is not lexer.EOF:
            node = self._text_or_action()
            if isinstance(node, (End, Else)):
                self._nesting -= 1
                return nodes, node
            nodes.nodes.append(node)
        raise self._fault("unexpected EOF", peeked=True)

    def _text_or_action(self) -> Node:
        token = self._take_beyond_space()
        if token[0] is lexer.TEXT:
            return Text(token[2], token[1])
        if token[0] is not lexer.LEFT:
            self._unexpected(token, "input")
        self._action = token[2]
        kind, _, position = self._peek_beyond_space()
        node = self._control() if kind in _CONTROLS else Action(position, self._pipeline("command", lexer.RIGHT))
        self._action = None
        return node

    def _control(self) -> Node:
        kind, _, position = self._take()
        if kind in _BRANCHES:
            return self._branch(kind)
        if kind == "end":
            return End(self._expect(lexer.RIGHT, "end")[2])
        if kind == "else":
            peeked = self._peek_beyond_space()
            if peeked[0] in {"if", "with"}:
                return Else(peeked[2])
            return Else(self._expect(lexer.RIGHT, "else")[2])
        if kind in {"break", "continue"}:
            token = self._take_beyond_space()
            if token[0] is not lexer.RIGHT:
                self._unexpected(token, f"{{{{{kind}}}}}")
            if not self._range_depth:
                self._fail(f"{{{{{kind}}}}} outside {{{{range}}}}", position)
            return Jump(position, kind)
        if kind == "template":
            return self._invocation()
        return self._block()

    def _branch(self, keyword: str) -> Branch:
        in_scope = len(self._variables)
        pipe = self._pipeline(keyword, lexer.RIGHT)
        if keyword == "range":
            self._range_depth += 1
        body, following = self._list()
        if keyword == "range":
            self._range_depth -= 1
        otherwise = None
        if isinstance(following, Else):
            if keyword != "range" and self._tokens[self._next][0] == keyword:
                self._take()
                otherwise = NodeList(following.position)
                self._nesting += 1
                if self._nesting > _MAX_NESTING:
                    self._fail(f"nested more than {_MAX_NESTING} deep")
                otherwise.nodes.append(self._branch(keyword))
                self._nesting -= 1
            else:
                otherwise, following = self._list()
                if not isinstance(following, End):
                    self._fail(f"expected end; found {following}", following.position)
        del self._variables[in_scope:]
        return Branch(pipe.position, keyword, pipe, body, otherwise)

    def _unquoted(self, token: Token) -> str:
        try:
            return unquote(token[1])
        except LiteralError as error:
            self._fail(str(error), token[2])

    def _template_name(self, token: Token, context: str) -> str:
        if token[0] not in _STRINGS:
            self._unexpected(token, context)
        return self._unquoted(token)

    def _invocation(self) -> Invoke:
        context = "template clause"
        token = self._take_beyond_space()
        name = self._template_name(token, context)
        pipe = None
        if self._peek_beyond_space()[0] is lexer.RIGHT:
            self._take()
        else:
            pipe = self._pipeline(context, lexer.RIGHT)
        return Invoke(token[2], name, pipe)

    def _block(self) -> Invoke:
        context = "block clause"
        token = self._take_beyond_space()
        name = self._template_name(token, context)
        pipe = self._pipeline(context, lexer.RIGHT)
        self._separate(name, context)
        return Invoke(token[2], name, pipe)

    # Pipelines

    def _pipeline(self, context: str, end: str) -> Pipe:
        first = self._peek_beyond_space()
        pipe = Pipe(first[2])
        if first[0] is lexer.VARIABLE:
            self._declarations(pipe, context)
        commands = pipe.commands
        while True:
            token = self._peek_beyond_space()
            kind = token[0]
            if kind is end:
                self._take()
                break
            if kind not in _OPERANDS:
                self._take()
                self._unexpected(token, context)
            commands.append(self._command())
        if not commands:
            self._fail(f"missing value for {context}")
        if len(commands) > 1:
            for stage, command in enumerate(commands[1:], 2):
                if isinstance(command.args[0], (Bool, Dot, Nil, Number, String)):
                    self._fail(f"non executable command in pipeline stage {stage}", command.position)
        return pipe

    def _declarations(self, pipe: Pipe, context: str) -> None:
        while self._peek_beyond_space()[0] is lexer.VARIABLE:
            start = self._next
            _, name, position = self._take()
            kind, text, _ = self._peek_beyond_space()
            self._furthest = max(self._furthest, self._next)
            if kind is lexer.ASSIGN or kind is lexer.DECLARE:
                pipe.assigns = kind is lexer.ASSIGN
                self._take()
                pipe.declares.append(Variable(position, name, []))
                self._variables.append(name)
                return
            if kind is not lexer.CHAR or text != ",":
                self._next = start
                return
            self._take()
            pipe.declares.append(Variable(position, name, []))
            self._variables.append(name)
            if context != "range" or len(pipe.declares) > 1:
                self._fail(f"too many declarations in {context}")
            if self._peek_beyond_space()[0] not in {lexer.VARIABLE, lexer.RIGHT, lexer.CLOSE}:
                self._fail("range can only initialize variables", peeked=True)

    def _command(self) -> Command:
        command = Command(self._peek_beyond_space()[2])
        while True:
            operand = self._operand()
            if operand is not None:
                command.args.append(operand)
            token = self._take()
            kind = token[0]
            if kind is lexer.SPACE:
                continue
            if kind is lexer.RIGHT or kind is lexer.CLOSE:
                self._next -= 1
            elif kind is not lexer.PIPE:
                self._unexpected(token, "operand")
            break
        if not command.args:
            self._fail("empty command")
        return command

    def _operand(self) -> Node | None:
        node = self._term()
        tokens = self._tokens
        if node is None or tokens[self._next][0] is not lexer.FIELD:
            return node
        position = tokens[self._next][2]
        names = []
        while tokens[self._next][0] is lexer.FIELD:
            names.append(self._take()[1][1:])
        if isinstance(node, Field):
            return Field(position, node.names + names)
        if isinstance(node, Variable):
            return Variable(position, node.name, names)
        if isinstance(node, (Bool, String, Number, Nil, Dot)):
            self._fail(f"unexpected . after term {lexer.quote(str(node))}", position, peeked=True)
        return Chain(position, node, names)

    def _term(self) -> Node | None:
        start = self._next
        kind, text, position = self._take_beyond_space()
        if kind is lexer.VARIABLE:
            if text not in self._variables:
                self._fail(f"undefined variable {lexer.quote(text)}", position)
            return Variable(position, text, [])
        if kind is lexer.IDENTIFIER:
            if text not in self._functions and not self._loose:
                self._fail(f"function {lexer.quote(text)} not defined", position)
            return Identifier(position, text)
        if kind is lexer.FIELD:
            return Field(position, [text[1:]])
        if kind in _STRINGS:
            return String(position, text, self._unquoted((kind, text, position)))
        if kind in _NUMBERS:
            try:
                return number(position, text, kind)
            except LiteralError as error:
                self._fail(str(error), position)
        if kind is lexer.DOT:
            return Dot(position)
        if kind is lexer.OPEN:
            self._nesting += 1
            if self._nesting > _MAX_NESTING:
                self._fail(f"nested more than {_MAX_NESTING} deep")
            pipe = self._pipeline("parenthesized pipeline", lexer.CLOSE)
            self._nesting -= 1
            return pipe
        if kind is lexer.BOOL:
            return Bool(position, text == "true")
        if kind is lexer.NIL:
            return Nil(position)
        self._next = start
        return None


def _is_empty(body: NodeList) -> bool:
    """Whether a definition says nothing, so that another one may replace it."""
    return all(isinstance(node, Text) and not node.text.strip() for node in body.nodes)
