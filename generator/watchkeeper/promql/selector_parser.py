"""Selectors: the braces, and what may follow them."""

from __future__ import annotations

import math

from watchkeeper.promql import lexer
from watchkeeper.promql.atoms import AtomParser
from watchkeeper.promql.cursor import DIGITS, IDENTIFIER_START, QUOTES
from watchkeeper.promql.duration_parser import DurationParser
from watchkeeper.promql.functions import DOCUMENTED, UNKNOWN, VECTOR
from watchkeeper.promql.nodes import (
    At,
    DurationLiteral,
    Matcher,
    MatrixSelector,
    Subquery,
    Template,
    Variable,
    VectorSelector,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from watchkeeper.promql.errors import ParseError
    from watchkeeper.promql.nodes import Duration, Expr

# Which modifier of an operand: below 0, so that they share a table with the strengths of operators.
OFFSET, AT, ANCHORED, SMOOTHED = -1, -2, -3, -4


class SelectorParser(AtomParser):
    """Reads `{...}`, and the range, offset, @ and other modifiers of an operand."""

    __slots__ = ()

    def _selector(
        self, name: str | None, start: int, name_end: int, variables: tuple[Variable, ...] = ()
    ) -> VectorSelector:
        """A selector from its "{" on."""
        tokens = self.tokens
        starts = self.starts
        opening = self.at
        index = opening + 1
        matchers: list[Matcher] = []
        stand_ins: tuple[Variable | Template, ...] = variables
        name_start = start
        outer_name = name is not None
        while True:
            word = tokens[index]
            if word == "}":
                break
            char = word[:1]
            operator = tokens[index + 1] if word else ""
            if char in IDENTIFIER_START and char and operator in {"=", "!=", "=~", "!~"} and ":" not in word:
                label = word
            elif char and char in QUOTES:
                label = self._string(word, starts[index])
                if operator in {",", "}"}:
                    if outer_name:
                        raise self.error(
                            f'metric name must not be set twice: "{name}" or "{label}"',
                            starts[index],
                            starts[index] + len(word),
                        )
                    if name is None and label:
                        name = label
                        name_start = starts[index]
                        name_end = name_start + len(word)
                    else:
                        # A further name is one more condition, and an empty one selects what has no name.
                        end = starts[index] + len(word)
                        matchers.append(
                            Matcher("__name__", "=", label, starts[index], starts[index], starts[index], end)
                        )
                    index += 1
                    if tokens[index] == ",":
                        index += 1
                    continue
            elif word and self.is_variable(word):
                label = word
                if operator in {",", "}"}:
                    stand_ins += (self.stand_in(word, starts[index]),)
                    index += 1
                    if tokens[index] == ",":
                        index += 1
                    continue
            else:
                self.at = index
                raise self._refuse_matcher(word, opening, bool(matchers))
            if operator not in {"=", "!=", "=~", "!~"}:
                self.at = index + 1
                if not operator:
                    raise self.unclosed(self.starts[opening], "}")
                hint = "write = for equal" if operator == "==" else ""
                expected = ('"="', '"!="', '"=~"', '"!~"')
                raise self.unexpected(f' behind the label "{label}"', expected, hint)
            value_word = tokens[index + 2]
            value_start = starts[index + 2]
            char = value_word[:1]
            label_variables: tuple[Variable, ...] = ()
            if self.is_variable(word):
                label_variables = self.variables_of(word, starts[index])
            if char and char in QUOTES:
                value = self._string(value_word, value_start)
                if operator[-1] == "~":
                    self._regex(value, value_start, value_start + len(value_word))
            elif value_word and self.is_variable(value_word):
                value = value_word
                label_variables += self.variables_of(value_word, value_start)
            else:
                self.at = index + 2
                if not value_word:
                    raise self.unclosed(self.starts[opening], "}")
                hint = (
                    f'write the value in quotes, "{value_word}"' if char in IDENTIFIER_START or char in DIGITS else ""
                )
                raise self.unexpected(f" behind {label}{operator}", ("a string",), hint)
            label_start = starts[index]
            matchers.append(
                Matcher(
                    label,
                    operator,
                    value,
                    label_start,
                    label_start + len(word),
                    value_start,
                    value_start + len(value_word),
                    label_variables,
                )
            )
            if outer_name and label == "__name__":
                raise self.error_at(f'metric name must not be set twice: "{name}" or "{value}"', matchers[-1])
            index += 3
            word = tokens[index]
            if word == ",":
                index += 1
            elif word != "}":
                self.at = index
                if not word:
                    raise self.unclosed(self.starts[opening], "}")
                hint = 'write several values as one regular expression, a=~"x|y"' if word.lower() == "or" else ""
                raise self.unexpected(f' behind the value of "{label}"', ('","', '"}"'), hint)
        end = starts[index] + 1
        self.at = index + 1
        selector = VectorSelector(name, tuple(matchers), start, end, name_start, name_end, stand_ins)
        if name is None:
            selector.name_start = 0
            selector.name_end = 0
            if not self.lenient:
                self._require_matcher(selector)
        return selector

    def _refuse_matcher(self, word: str, opening: int, several: bool) -> ParseError:
        if not word:
            return self.unclosed(self.starts[opening], "}")
        start = self.starts[self.at]
        if ":" in word:
            position = start + word.index(":")
            return self.error(
                f'unexpected ":" in the label name {word}: write it in quotes, "{word}"', position, position + 1
            )
        if word[0] in IDENTIFIER_START:
            self.at += 1
            if not self.tokens[self.at]:
                return self.unclosed(self.starts[opening], "}")
            hint = "write = for equal" if self.tokens[self.at] == "==" else ""
            return self.unexpected(f' behind the label "{word}"', ('"="', '"!="', '"=~"', '"!~"'), hint)
        expected = ("a label name", '"}"') if word == "," or not several else ("a label name",)
        return self.unexpected(" in the braces", expected)

    def _regex(self, pattern: str, start: int, end: int) -> None:
        from watchkeeper.promql import regex

        try:
            regex.check(pattern, variables=self.variables)
        except regex.RegexError as error:
            message = f"invalid regular expression: {error}"
        else:
            return
        raise self.error(message, start, end)

    def _require_matcher(self, selector: VectorSelector) -> None:
        """Refuse a selector that may select every series: each matcher of it takes the empty value."""
        if selector.name is not None or selector.variables:
            return
        for matcher in selector.matchers:
            if matcher.variables or (self.variables and lexer.has_variables(matcher.value)):
                return
            if (matcher.op == "=" and matcher.value) or (matcher.op == "!=" and not matcher.value):
                return
            if matcher.op[-1] == "~":
                from watchkeeper.promql import regex

                if regex.matches_empty(matcher.value) == (matcher.op == "!~"):
                    return
        raise self.error_at(
            "a selector must have a metric name or at least one matcher that does not match the empty string", selector
        )

    def _brackets(self, expr: Expr) -> MatrixSelector | Subquery:
        """`[5m]` or `[5m:1m]` behind an operand."""
        index = self.at
        word = self.tokens[index]
        start = self.starts[index]
        end = start + len(word)
        self.at = index + 1
        ms = lexer.simple_range(word)
        if ms:
            return self._matrix(expr, DurationLiteral(ms, ms / 1000, True, start + 1, end - 1), end)
        cut = lexer.cut_bracket_with_variables if self.variables else lexer.cut_bracket
        tokens, starts = cut(word[1:], start + 1)
        # A bracket inside a comment closes nothing, so the token decides, not the character.
        closing = tokens[-2] if len(tokens) > 1 and tokens[-2] == "]" else ""
        if closing:
            del tokens[-2], starts[-1]
        parser = DurationParser(self, tokens, starts, " in the brackets", closing)
        range_, colon, step = parser.brackets(start)
        if not colon:
            return self._matrix(expr, range_, end)
        if expr.type not in (VECTOR, UNKNOWN):
            raise self.error_at(f"a subquery is only allowed on an instant vector, got {DOCUMENTED[expr.type]}", expr)
        return Subquery(expr, range_, step, expr.start, end)

    def _matrix(self, expr: Expr, range_: Duration, end: int) -> MatrixSelector:
        if type(expr) is Variable or type(expr) is Template:
            expr = self._as_selector(expr)
        if type(expr) is not VectorSelector:
            hint = ""
            if expr.type == VECTOR:
                hint = f": for a subquery write [{self.text[range_.start : range_.end]}:]"
            raise self.error_at(f"a range is only allowed behind a metric selector, as in up[5m]{hint}", expr)
        if expr.offset is not None and expr.offset.ms != 0:
            raise self.error(
                "no offset is allowed before a range: write it behind, up[5m] offset 1m", expr.start, expr.end
            )
        if expr.at is not None:
            raise self.error("no @ is allowed before a range: write it behind, up[5m] @ 0", expr.start, expr.end)
        return MatrixSelector(expr, range_, expr.start, end)

    def _as_selector(self, expr: Variable | Template) -> VectorSelector:
        """A variable that must stand for a metric name, by what follows it."""
        text = self.text[expr.start : expr.end]
        found = (expr,) if type(expr) is Variable else expr.variables if type(expr) is Template else ()
        return VectorSelector(text, (), expr.start, expr.end, expr.start, expr.end, found)

    def _modified(self, expr: Expr, strength: int) -> Expr:
        """offset, @, anchored or smoothed behind an operand."""
        position = self.starts[self.at]
        if type(expr) is Variable or type(expr) is Template:
            expr = self._as_selector(expr)
        target: VectorSelector | Subquery
        if type(expr) is VectorSelector or type(expr) is Subquery:
            target = expr
        elif type(expr) is MatrixSelector:
            target = expr.selector
        else:
            word = {OFFSET: "offset", AT: "@", ANCHORED: "anchored", SMOOTHED: "smoothed"}[strength]
            raise self.error(
                f"{word} must follow a metric selector, a range or a subquery",
                position,
                position + len(self.tokens[self.at]),
            )
        if strength == OFFSET:
            if target.offset is not None and target.offset.ms != 0:
                raise self.error("offset may not be set twice", position, position + 6)
            self.at += 1
            parser = DurationParser(self, self.tokens, self.starts, " behind offset", "")
            parser.at = self.at
            target.offset = parser.offset()
            self.at = parser.at
            end = target.offset.end
        elif strength == AT:
            if target.at is not None:
                raise self.error("@ may not be set twice", position, position + 1)
            self.at += 1
            target.at = self._timestamp()
            end = target.at.end
        else:
            end = self._extended(target, strength, position)
        expr.end = end
        return expr

    def _extended(self, target: VectorSelector | Subquery, strength: int, position: int) -> int:
        word = "anchored" if strength == ANCHORED else "smoothed"
        end = position + 8
        if type(target) is not VectorSelector:
            raise self.error(f"{word} is not supported for subqueries", position, end)
        if target.smoothed if strength == ANCHORED else target.anchored:
            raise self.error("anchored and smoothed can't be used together", position, end)
        if strength == ANCHORED:
            target.anchored = True
        else:
            target.smoothed = True
        self.at += 1
        return end

    def _timestamp(self) -> At | Variable | Template:
        """What follows "@", up to and including it."""
        sign = 1.0
        start = self.starts[self.at]
        expected = ("a timestamp in seconds", "start()", "end()")
        if self.tokens[self.at] in {"+", "-"}:
            sign = -1.0 if self.tokens[self.at] == "-" else 1.0
            self.at += 1
        word = self.tokens[self.at]
        token_start = self.starts[self.at]
        end = token_start + len(word)
        low = word.lower()
        if word and self.is_variable(word):
            self.at += 1
            return self.stand_in(word, token_start)
        if low in {"start", "end"} and token_start == start and self.tokens[self.at + 1] == "(":
            if self.tokens[self.at + 2] != ")":
                self.at += 2
                raise self.unexpected(f" in {low}()", ('")"',))
            self.at += 3
            return At(None, low, start, self.starts[self.at - 1] + 1)
        if low in {"inf", "nan"}:
            value = float(low)
        elif word and (word[0] in DIGITS or (word[0] == "." and word != ".")):
            value = self._number(word, token_start).value
        else:
            raise self.unexpected(' behind "@"', expected)
        self.at += 1
        value *= sign
        # Go's MaxInt64 as a float is 2**63.
        if not -(2.0**63) < value < 2.0**63:
            raise self.error(f"timestamp out of bounds for @: {value}", start, end)
        ms = value * 1000
        return At(math.floor(ms + 0.5) if ms >= 0 else math.ceil(ms - 0.5), None, start, end)
