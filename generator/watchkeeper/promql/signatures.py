"""Whether a function takes the arguments that it is given."""

from __future__ import annotations

from watchkeeper.promql.functions import DOCUMENTED, MATRIX, SCALAR, UNKNOWN, VECTOR
from watchkeeper.promql.matching_parser import MatchingParser
from watchkeeper.promql.nodes import Binary, StringLiteral, VectorSelector

TYPE_CHECKING = False
if TYPE_CHECKING:
    from watchkeeper.promql.errors import ParseError
    from watchkeeper.promql.functions import Function
    from watchkeeper.promql.nodes import Expr

# Functions whose argument, by index, is a regular expression.
_REGEX_ARGUMENTS = {"label_replace": 4}


class SignatureChecker(MatchingParser):
    """Checks calls and aggregations as Prometheus does when it loads an expression."""

    __slots__ = ()

    def _check_arguments(self, function: Function, arguments: list[Expr], start: int, end: int) -> None:
        given = len(arguments)
        types = function.arg_types
        if function.variadic == 0:
            if given != len(types):
                raise self._wrong_count(function, given, start, end)
        elif given < function.min_args or (function.variadic > 0 and given > len(types) - 1 + function.variadic):
            raise self._wrong_count(function, given, start, end)
        name = function.name
        if name == "info" and given > 1:
            self._check_info(arguments[1])
        last = len(types) - 1
        for number, argument in enumerate(arguments):
            wanted = types[min(last, number)]
            if argument.type not in (wanted, UNKNOWN):
                raise self._wrong_type(
                    f"{name} wants", f"as argument {number + 1}" if given > 1 else "", wanted, argument, name
                )
        regex_at = _REGEX_ARGUMENTS.get(name)
        if regex_at is not None:
            argument = arguments[regex_at]
            if type(argument) is StringLiteral:
                self._regex_argument(name, argument)

    def _regex_argument(self, name: str, argument: StringLiteral) -> None:
        from watchkeeper.promql import regex

        try:
            regex.check(argument.value, variables=self.variables)
        except regex.RegexError as error:
            message = f"invalid regular expression in {name}(): {error}"
        else:
            return
        raise self.error_at(message, argument)

    def _check_info(self, argument: Expr) -> None:
        """The second argument of info() is bare matchers, which alone may match everything."""
        if type(argument) is VectorSelector and (argument.name is None or self.text[argument.start] == "{"):
            return
        if argument.type == UNKNOWN:
            return
        raise self.error_at('info wants label matchers in braces as its second argument, such as {job="x"}', argument)

    def _wrong_count(self, function: Function, given: int, start: int, end: int) -> ParseError:
        low, high = function.min_args, function.max_args
        if high is None:
            wanted = f"at least {low}"
        elif low == high:
            wanted = str(low)
        else:
            wanted = f"{low} to {high}"
        plural = "" if wanted == "1" else "s"
        return self.error(f"{function.name} takes {wanted} argument{plural}, got {given}", start, end)

    def _wrong_type(self, who: str, where: str, wanted: str, argument: Expr, name: str) -> ParseError:
        text = self.text[argument.start : argument.end]
        hint = ""
        if wanted == MATRIX and argument.type == VECTOR:
            short = text if len(text) <= 60 else "..."
            if type(argument) is VectorSelector:
                hint = f", such as {short}[5m]"
            else:
                hint = (
                    f", such as the subquery {short}[5m:]"
                    if type(argument) is not Binary
                    else f", such as ({short})[5m:]"
                )
        elif wanted == VECTOR and argument.type == MATRIX:
            hint = f": take the range away, or put rate or an ..._over_time function around it, as in {name}(rate(...))"
        elif wanted == VECTOR and argument.type == SCALAR:
            hint = ": vector(...) makes one of a scalar"
        elif wanted == SCALAR and argument.type == VECTOR:
            hint = ": scalar(...) makes one of a vector with a single series"
        where = f" {where}" if where else ""
        return self.error_at(f"{who} {DOCUMENTED[wanted]}{where}, got {DOCUMENTED[argument.type]}{hint}", argument)
