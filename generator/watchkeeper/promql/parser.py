"""PromQL text to a syntax tree: an operator-precedence parser that checks types as it goes.

Binary and unary operators are kept on a stack of their own rather than on Python's, so that a chain of any length
parses; only brackets of some kind nest, and those to `MAX_DEPTH`. Where Prometheus' grammar has a quirk, the comment
says so.
"""

from __future__ import annotations

from watchkeeper.promql import lexer
from watchkeeper.promql.cursor import DIGITS, IDENTIFIER_START, MAX_DEPTH, QUOTES, UNIT_WORDS
from watchkeeper.promql.errors import LimitError, ParseError, line_and_column
from watchkeeper.promql.functions import (
    AGGREGATIONS,
    DOCUMENTED,
    FUNCTIONS,
    KEYWORD_FUNCTIONS,
    MATRIX,
    STRING,
    UNKNOWN,
    VECTOR,
)
from watchkeeper.promql.nodes import (
    Aggregate,
    Call,
    Expr,
    Label,
    NumberLiteral,
    Paren,
    StringLiteral,
    Unary,
    Variable,
    VectorSelector,
    walk,
)
from watchkeeper.promql.selector_parser import ANCHORED, AT, OFFSET, SMOOTHED
from watchkeeper.promql.signatures import SignatureChecker

TYPE_CHECKING = False
if TYPE_CHECKING:
    from watchkeeper.promql.matching_parser import Modifiers

# Characters. The longest sane expressions are lists of names in a regular expression.
MAX_LENGTH = 1 << 20

_SIGNS = frozenset({"+", "-"})
_SIGN = 5
_POWER = 6
# Binding strength of what may stand behind an operand; 0 ends the expression, below 0 are modifiers of the operand.
_BEHIND = {
    "": 0,
    ")": 0,
    ",": 0,
    "or": 1,
    "and": 2,
    "unless": 2,
    "==": 3,
    "!=": 3,
    "<": 3,
    "<=": 3,
    ">": 3,
    ">=": 3,
    "+": 4,
    "-": 4,
    "*": 5,
    "/": 5,
    "%": 5,
    "atan2": 5,
    "^": 6,
    "</": 3,
    ">/": 3,
    "offset": OFFSET,
    "@": AT,
    "anchored": ANCHORED,
    "smoothed": SMOOTHED,
}
_MODIFIERS = frozenset({"bool", "on", "ignoring", "group_left", "group_right", "fill", "fill_left", "fill_right"})
_RESERVED = frozenset({"bool", "on", "ignoring", "group_left", "group_right", "atan2"})
_GROUPING = frozenset({"by", "without"})
# What a name alone may be instead of a metric.
_KEYWORDS = frozenset({*AGGREGATIONS, *_RESERVED, "inf", "nan"})
# Keywords that no call can start with.
_NOT_CALLED = frozenset(
    {"and", "or", "unless", "by", "without", "offset", "anchored", "smoothed", "fill", "fill_left", "fill_right"}
)
_EXPECTED_EXPRESSION = ("a metric", "a number", "a function", '"("')


def parse(text: str, *, variables: bool = False) -> Expr:
    """The syntax tree of a PromQL expression, in the grammar of Prometheus 3.14 with every feature flag on.

    With `variables`, dashboard variables (`$job`, `${job:regex}`, `[[job]]`) may stand wherever dashboards put them.
    Raises ParseError for what Prometheus refuses to load, and its kind LimitError for more than 128 levels of nesting
    or 1 Mi characters.
    """
    if len(text) > MAX_LENGTH:
        raise LimitError(f"the expression is longer than {MAX_LENGTH} characters", 0, 0, text)
    tokens, starts = lexer.cut_with_variables(text) if variables else lexer.cut_plain(text)
    parser = _Parser(text, tokens, starts, variables)
    if len(tokens) == 1:
        raise parser.error("no expression found", len(text), len(text), _EXPECTED_EXPRESSION)
    try:
        expr = parser._expression()  # noqa: SLF001  (of this module)
    except RecursionError:
        # A caller that is itself deep leaves too little stack for even MAX_DEPTH levels.
        raise LimitError("the expression is nested too deep", 0, 0, text) from None
    if tokens[parser.at]:
        raise parser._unexpected_behind(expr)  # noqa: SLF001  (of this module)
    return expr


class _Parser(SignatureChecker):
    __slots__ = ()

    def _unexpected_behind(self, expr: Expr) -> ParseError:
        """The error for a token that can't follow a finished operand."""
        index = self.at
        word = self.tokens[index]
        low = word.lower()
        hint = ""
        if word == "=":
            hint = "write == to compare"
        elif word in {"=~", "!~"}:
            hint = 'a label is matched inside braces, as in {job=~"a|b"}'
        elif word == "!":
            hint = "write != to compare, unless to exclude"
        elif word in {"&", "|"}:
            hint = "write and, or"
        elif word == "}":
            hint = 'there is no "{" that it closes'
        elif word == "]":
            hint = 'there is no "[" that it closes'
        elif low in {"by", "without"}:
            hint = f"{low} belongs to an aggregation such as sum, and is given once"
        elif low in UNIT_WORDS and self.tokens[index - 1].isdigit():
            hint = f'write the duration without a space, "{self.tokens[index - 1]}{word}"'
        elif low in {"bool", "on", "ignoring", "group_left", "group_right"}:
            hint = f"{low} belongs right behind an operator"
        elif type(expr) is VectorSelector and expr.name and expr.name.lower() in AGGREGATIONS:
            hint = f"what {expr.name} aggregates is in parentheses, as in {expr.name}(up)"
        elif word == ")":
            hint = 'there is no "(" that it closes'
        return self.unexpected("", ("an operator", "the end of the expression") if not hint else (), hint)

    def _expression(self) -> Expr:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise self.too_deep()
        words = self.tokens
        starts = self.starts
        # What waits for its right side: (strength, operator, left side or None for a sign, position, modifiers)
        pending: list[tuple[int, str, Expr | None, int, Modifiers | None]] = []
        while True:
            word = words[self.at]
            if word in _SIGNS:
                pending.append((_SIGN, word, None, starts[self.at], None))
                self.at += 1
                # `^` and signs pile up to the right, which makes a tree as deep as nested parentheses do.
                if len(pending) > MAX_DEPTH:
                    raise self.too_deep()
                continue
            expr = self._operand(word)
            while True:
                word = words[self.at]
                strength = _BEHIND.get(word)
                if strength is None:
                    if word[0] == "[":
                        expr = self._brackets(expr)
                        continue
                    word = word.lower()
                    strength = _BEHIND.get(word, 0)
                if strength >= 0:
                    break
                expr = self._modified(expr, strength)
            while pending:
                waiting = pending[-1][0]
                if waiting < strength or (waiting == strength == _POWER):
                    break
                _, operator, lhs, position, modifiers = pending.pop()
                if lhs is None:
                    expr = self._signed(operator, expr, position)
                else:
                    expr = self._combined(operator, lhs, expr, position, modifiers)
            if strength == 0:
                self.depth -= 1
                return expr
            position = starts[self.at]
            self.at += 1
            following = words[self.at]
            modifiers = None
            if following in _MODIFIERS or following.lower() in _MODIFIERS:
                modifiers = self._modifiers()
            pending.append((strength, word, expr, position, modifiers))
            if len(pending) > MAX_DEPTH:
                raise self.too_deep()

    def _operand(self, word: str) -> Expr:
        index = self.at
        start = self.starts[index]
        char = word[:1]
        if self.variables and char and self.is_variable(word):
            return self._templated(word)
        if char in IDENTIFIER_START:
            following = self.tokens[index + 1]
            if following == "(":
                low = word if word in FUNCTIONS else word.lower()
                return self._aggregate(low) if low in AGGREGATIONS else self._call(word)
            low = word if word in _KEYWORDS else word.lower()
            if low in _KEYWORDS:
                if low in AGGREGATIONS:
                    if following.lower() in _GROUPING:
                        return self._aggregate(low)
                elif low in _RESERVED:
                    hint = f'a metric named {low} is written {{__name__="{low}"}}'
                    raise self.unexpected("", _EXPECTED_EXPRESSION, hint)
                else:
                    self.at = index + 1
                    return NumberLiteral(float(low), start, start + 3)
            self.at = index + 1
            end = start + len(word)
            if following == "{":
                return self._selector(word, start, end)
            return VectorSelector(word, (), start, end, start, end)
        if char in DIGITS or (char == "." and len(word) > 1):
            self.at = index + 1
            return self._number(word, start)
        if char == "(":
            self.at = index + 1
            expr = self._expression()
            if self.tokens[self.at] != ")":
                raise self._close(expr, index)
            self.at += 1
            return Paren(expr, start, self.starts[self.at - 1] + 1)
        if char == "{":
            return self._selector(None, start, 0)
        if char in QUOTES:
            self.at = index + 1
            return StringLiteral(self._string(word, start), start, start + len(word))
        raise self._refuse_operand(word, index)

    def _refuse_operand(self, word: str, index: int) -> ParseError:
        if word == ")" and index and self.tokens[index - 1] == "(":
            return self.unexpected("", _EXPECTED_EXPRESSION, "the parentheses are empty")
        if not word and index:
            before = self.tokens[index - 1]
            if before == "(":
                return self.unclosed(self.starts[index - 1], ")")
            return self.unexpected(f' behind "{before}"' if len(before) < 20 else "", _EXPECTED_EXPRESSION)
        if word == "[" or word[:1] == "[":
            return self.error(
                "unexpected range: it must follow a metric, as in up[5m]",
                self.starts[index],
                self.starts[index] + len(word),
            )
        return self.unexpected("", _EXPECTED_EXPRESSION)

    def _close(self, expr: Expr, opening: int) -> ParseError:
        """The error for what stands where the parenthesis at the word `opening` should close."""
        if not self.tokens[self.at]:
            return self.unclosed(self.starts[opening], ")")
        if self.tokens[self.at] == ",":
            line, column = line_and_column(self.text, self.starts[opening])
            return self.unexpected(f" in the parentheses at {line}:{column}, which hold one expression", ('")"',))
        return self._unexpected_behind(expr)

    def _signed(self, operator: str, expr: Expr, position: int) -> Expr:
        if type(expr) is NumberLiteral:
            return NumberLiteral(-expr.value if operator == "-" else expr.value, position, expr.end, expr.duration)
        if expr.type in (MATRIX, STRING):
            raise self.error_at(
                f"a sign is only allowed in front of a scalar or an instant vector, got {DOCUMENTED[expr.type]}", expr
            )
        return Unary(operator, expr, position)

    def _arguments(self, opening: int) -> list[Expr]:
        """The arguments from the word behind "(" up to and including ")"."""
        tokens = self.tokens
        self.at = opening + 1
        if tokens[self.at] == ")":
            self.at += 1
            return []
        arguments = []
        while True:
            if not tokens[self.at]:
                raise self.unclosed(self.starts[opening], ")")
            expr = self._expression()
            arguments.append(expr)
            word = tokens[self.at]
            self.at += 1
            if word == ")":
                return arguments
            if word != ",":
                self.at -= 1
                raise self._close(expr, opening)
            if tokens[self.at] == ")":
                raise self.error(
                    "no trailing comma is allowed in the arguments of a call",
                    self.starts[self.at - 1],
                    self.starts[self.at],
                )

    def _call(self, word: str) -> Call:
        index = self.at
        start = self.starts[index]
        name_end = start + len(word)
        function = FUNCTIONS.get(word)
        if function is None:
            low = word.lower()
            if low in KEYWORD_FUNCTIONS:
                function = FUNCTIONS[low]
            else:
                raise self._refuse_function(word, start)
        read = self._info_arguments if function.name == "info" else self._arguments
        arguments = read(index + 1)
        end = self.starts[self.at - 1] + 1
        self._check_arguments(function, arguments, start, end)
        return Call(function.name, function, tuple(arguments), start, name_end, end)

    def _info_arguments(self, opening: int) -> list[Expr]:
        """Those of info(), whose second one may be a selector of everything."""
        lenient = self.lenient
        self.lenient = True
        arguments = self._arguments(opening)
        self.lenient = lenient
        if arguments and not lenient:
            for node in walk(arguments[0]):
                if type(node) is VectorSelector:
                    self._require_matcher(node)
        return arguments

    def _refuse_function(self, word: str, start: int) -> ParseError:
        low = word.lower()
        if low in _NOT_CALLED or low in _RESERVED or low in {"inf", "nan"}:
            if low in _RESERVED:
                return self.unexpected("", _EXPECTED_EXPRESSION)
            self.at += 1
            return self.unexpected(f' behind "{word}"', ())
        if low == "holt_winters":
            hint = ": since Prometheus 3.0 it is called double_exponential_smoothing"
        elif low in FUNCTIONS:
            hint = f": function names are in lower case, {low}"
        else:
            import difflib

            near = difflib.get_close_matches(low, [*FUNCTIONS, *AGGREGATIONS], 1, 0.7)
            hint = f": did you mean {near[0]}?" if near else ""
        return self.error(f'unknown function "{word}"{hint}', start, start + len(word))

    def _aggregate(self, operator: str, variables: tuple[Variable, ...] = ()) -> Aggregate:
        index = self.at
        start = self.starts[index]
        self.at += 1
        modifier: str | None = None
        grouping: tuple[Label, ...] = ()
        low = self.tokens[self.at].lower()
        if low in {"by", "without"}:
            modifier = low
            self.at += 1
            grouping = self._labels(f" behind {low}")
        if self.tokens[self.at] != "(":
            raise self.unexpected(f" behind {operator}", ('"("',))
        arguments = self._arguments(self.at)
        end = self.starts[self.at - 1] + 1
        arguments_end = end
        if modifier is None:
            low = self.tokens[self.at].lower()
            if low in {"by", "without"}:
                modifier = low
                self.at += 1
                grouping = self._labels(f" behind {low}")
                end = self.starts[self.at - 1] + 1
        if variables:
            if not 0 < len(arguments) < 3:
                raise self.error(
                    f"{operator} takes 1 or 2 arguments as an aggregation, got {len(arguments)}", start, arguments_end
                )
            param = arguments[0] if len(arguments) > 1 else None
            return Aggregate(operator, arguments[-1], param, modifier, grouping, start, end, variables)
        wanted = AGGREGATIONS[operator]
        count = 1 if wanted is None else 2
        if len(arguments) != count:
            plural = "" if count == 1 else "s"
            what = "" if wanted is None else f", {DOCUMENTED[wanted]} and an instant vector"
            raise self.error(
                f"{operator} takes {count} argument{plural}{what}, got {len(arguments)}", start, arguments_end
            )
        param = None
        expr = arguments[-1]
        if expr.type not in (VECTOR, UNKNOWN):
            raise self._wrong_type(f"{operator} wants", "to aggregate", VECTOR, expr, operator)
        if wanted is not None:
            param = arguments[0]
            if param.type not in (wanted, UNKNOWN):
                raise self._wrong_type(f"{operator} wants", "as its parameter", wanted, param, operator)
        return Aggregate(operator, expr, param, modifier, grouping, start, end)

    def _templated(self, word: str) -> Expr:
        """An operand with variables in it: a metric, a part of its name, a function, or anything at all."""
        index = self.at
        start = self.starts[index]
        end = start + len(word)
        found = self.variables_of(word, start)
        following = self.tokens[index + 1]
        if following == "{":
            self.at += 1
            return self._selector(word, start, end, found)
        if following == "(":
            arguments = self._arguments(index + 1)
            call_end = self.starts[self.at - 1] + 1
            if self.tokens[self.at].lower() in {"by", "without"}:
                self.at = index
                return self._aggregate(word, found)
            return Call(word, None, tuple(arguments), start, end, call_end, found)
        if following.lower() in {"by", "without"} and self.tokens[index + 2] == "(":
            return self._aggregate(word, found)
        self.at += 1
        if word[0] in IDENTIFIER_START and word[:2] != "[[":
            # `node_${type}_bytes`: what is written out makes it a metric's name.
            return VectorSelector(word, (), start, end, start, end, found)
        return self.stand_in(word, start)
