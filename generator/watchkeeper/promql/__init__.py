"""PromQL: text to a syntax tree with positions, by the grammar of Prometheus 3.14."""

from watchkeeper.promql.errors import ParseError
from watchkeeper.promql.lexer import variables
from watchkeeper.promql.nodes import walk
from watchkeeper.promql.parser import parse

__all__ = ["ParseError", "parse", "variables", "walk"]
