"""Properties that hold for any text: a tree or a ParseError, and positions that cut out what they say."""

from hypothesis import given, settings
from hypothesis import strategies as st

from watchkeeper.promql import ParseError, parse, variables, walk
from watchkeeper.promql.features import features
from watchkeeper.promql.nodes import (
    At,
    DurationExpr,
    DurationLiteral,
    Expr,
    Label,
    Matcher,
    MatrixSelector,
    VectorMatching,
    VectorSelector,
)
from watchkeeper.promql.threshold import ThresholdError, threshold

from .grammar import EXPRESSIONS

FRAGMENTS = [
    "foo",
    "a:b",
    "up",
    "{",
    "}",
    "(",
    ")",
    "[",
    "]",
    "[5m]",
    "[5m:]",
    "[1h:1m]",
    ",",
    "=",
    "!=",
    "=~",
    "!~",
    "==",
    "<",
    ">",
    "<=",
    ">=",
    "+",
    "-",
    "*",
    "/",
    "%",
    "^",
    "</",
    ">/",
    "@",
    "offset",
    "5m",
    "1h30m",
    "-5m",
    "1",
    "0x1f",
    "1e3",
    ".5",
    "Inf",
    "NaN",
    '"a"',
    "'b'",
    "`c`",
    '"\\\\x"',
    "sum",
    "by",
    "without",
    "on",
    "ignoring",
    "group_left",
    "group_right",
    "bool",
    "and",
    "or",
    "unless",
    "atan2",
    "topk",
    "count_values",
    "rate",
    "abs",
    "label_replace",
    "info",
    "time",
    "vector",
    "start()",
    "end()",
    "step()",
    "range()",
    "min_of",
    "max_of",
    "fill(",
    "fill_left(",
    "anchored",
    "smoothed",
    "$x",
    "${y:csv}",
    "[[z]]",
    "#",
    "\\n",
    "\\t",
    ";",
    "é",
    '"',
    "'",
    "`",
    "\\\\",
    ".*",
    "(a|b)",
    "5",
    "m",
    "__name__",
    "start",
    "end",
]

TEXTS = st.one_of(
    st.text(max_size=30),
    st.text(alphabet="abm05.:{}()[]=~!<>+-*/^@,\"'`\\#$_ \n", max_size=40),
    st.lists(st.sampled_from(FRAGMENTS), max_size=12).map(" ".join),
    st.lists(st.sampled_from(FRAGMENTS), max_size=12).map("".join),
)


def well_placed(error, text):
    assert 0 <= error.position <= error.end <= len(text)
    assert error.message
    if isinstance(error, ParseError):
        assert (error.line, error.column) >= (1, 1)
        assert "^" in error.snippet()


@given(TEXTS, st.booleans())
@settings(max_examples=1000, deadline=None)
def test_any_text(text, with_variables):
    try:
        expr = parse(text, variables=with_variables)
    except ParseError as error:
        well_placed(error, text)
        str(error)
        return
    assert expr == parse(text, variables=with_variables)
    features(expr, text)
    variables(text)
    try:
        threshold(expr)
    except ThresholdError as error:
        well_placed(error, text)


def assert_stands_alone(piece, node):
    """The text under a node parses to that node by itself."""
    if isinstance(node, Expr):
        assert parse(piece) == node
    elif isinstance(node, (DurationExpr, DurationLiteral)):
        assert parse(f"x offset {piece}").offset == node
    elif isinstance(node, Label):
        assert parse(f"sum by ({piece}) (x)").grouping == (node,)
    elif isinstance(node, Matcher):
        assert parse(f"x{{{piece}}}").matchers == (node,)
    elif isinstance(node, At):
        assert parse(f"x @ {piece}").at == node
    else:
        assert isinstance(node, VectorMatching)
        assert node.end == 0 or piece.startswith(("on", "ignoring"))


@given(EXPRESSIONS)
@settings(max_examples=250, deadline=None)
def test_positions(text):
    expr = parse(text)
    assert text[expr.start : expr.end].strip() == text.strip()
    stack = [(expr, None)]
    while stack:
        node, parent = stack.pop()
        assert 0 <= node.start <= node.end <= len(text)
        in_range = isinstance(parent, MatrixSelector) and isinstance(node, VectorSelector)
        # The modifiers of a selector in a range stand behind the range, and so behind the selector's end.
        inside = [child for child in node.children() if not in_range or isinstance(child, Matcher)]
        for child in inside:
            if child.end:  # no modifiers between operands: no place
                assert node.start <= child.start <= child.end <= node.end
            stack.append((child, node))
        if parent is not None and not in_range:
            assert_stands_alone(text[node.start : node.end], node)


@given(EXPRESSIONS)
@settings(max_examples=200, deadline=None)
def test_space_and_comments_mean_nothing(text):
    expr = parse(text)
    assert parse(f"\n # ( {{ \" \n{text} # ] ' \n") == expr
    assert parse(text, variables=True) == expr
    assert [type(node) for node in walk(parse(text))] == [type(node) for node in walk(expr)]
