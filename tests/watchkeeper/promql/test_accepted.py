"""Expressions that Prometheus loads, and what they mean; checked with promtool 3.5 as far as its grammar goes."""

import math

import pytest

from watchkeeper.promql import parse
from watchkeeper.promql.nodes import (
    Aggregate,
    At,
    Binary,
    Call,
    DurationExpr,
    DurationLiteral,
    MatrixSelector,
    NumberLiteral,
    Paren,
    StringLiteral,
    Subquery,
    Unary,
    VectorSelector,
)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1", 1),
        ("+1", 1),
        ("-1", -1),
        ("- - 1", 1),
        (".5", 0.5),
        ("5.", 5),
        ("5.e3", 5000),
        ("1e+3", 1000),
        ("2.5E-3", 0.0025),
        ("0xc", 12),
        ("0X_fF", 255),
        ("0755", 493),
        ("08", 8),
        ("09.5", 9.5),
        ("0_7", 7),
        ("1_000", 1000),
        ("1_000.5", 1000.5),
        ("1e3_0", 1e30),
        ("9223372036854775807", 2.0**63),
        ("9223372036854775808", 2.0**63),
        ("0777777777777777777777777", 777777777777777777777777.0),
        ("1" * 300, float("1" * 300)),
        ("Inf", math.inf),
        ("-iNf", -math.inf),
        ("5m", 300),
        ("-1h30m", -5400),
        ("1y2w3d4h5m6s7ms", 31_536_000 + 2 * 604_800 + 3 * 86_400 + 4 * 3600 + 5 * 60 + 6.007),
        ("0ms", 0),
    ],
)
def test_number(text, value):
    literal = parse(text)
    assert isinstance(literal, NumberLiteral)
    assert literal.value == value
    assert (literal.start, literal.end) == (0, len(text))
    assert literal.type == "scalar"


def test_nan():
    assert math.isnan(parse("NaN").value)
    assert parse("nan") == parse("NaN")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('"a"', "a"),
        ("'a'", "a"),
        ("`a`", "a"),
        (r"`\d+`", r"\d+"),
        ("`a\nb`", "a\nb"),
        ("'a\"b'", 'a"b'),
        (r"'\''", "'"),
        (r'"\""', '"'),
        (r'"\a\b\f\n\r\t\v\\"', "\a\b\f\n\r\t\v\\"),
        (r'"\x41\101\u00e9\U0001F600"', "AAé😀"),
        (r'"\xc3\xa9"', "é"),
        (r'"\xff"', "\udcff"),
        ('"é"', "é"),
        ('""', ""),
    ],
)
def test_string(text, value):
    literal = parse(text)
    assert isinstance(literal, StringLiteral)
    assert literal.value == value
    assert literal.type == "string"


ACCEPTED = """
a:b
::
Foo{A="b",}
foo{}
foo{a=""}
{a="b"}
{"foo"}
{"foo.bar", "a.b"="c"}
{"foo", __name__="bar"}
{"foo","bar"}
{"", a="b"}
{""="x"}
{__name__="bar", __name__="baz"}
foo{on="x", bool="y", sum="z", inf="1"}
{x!=""}
{x!~""}
{x=~"a", y=~".*"}
foo{a=~"(?P<n>x)|(?<m>y)"}
foo{a=~"\\\\Qa.b\\\\E"}
foo{a="\\xff"}
foo == on() 10
foo + on() group_left 1
1 + on() 2
foo == bool on(a) bar
foo + on(a,) group_left (bar) baz
foo + on(a) group_left() bar
foo + ignoring(a) group_left(a) bar
foo and ignoring(a) bar
foo + on("a.b") bar
foo atan2 bar
foo AND bar UNLESS baz Or qux
foo </ 5
foo >/ on(a) bar
foo + fill(0) bar
foo + fill_left(-5) fill_right(Inf) bar
foo / on(a) group_left(b) fill_right(1m) bar
fill + fill(0) fill_left
foo + fill
sum by (a) (x)
sum(x) by (a)
sum without () (x)
SUM(x)
sum by (bool, on, atan2, start, step, fill) (x)
sum by (a:b, "c.d", 'e') (x)
topk(5m, foo)
topk(scalar(foo), foo)
limitk(1, foo) + limit_ratio(0.5, foo)
count_values("a", foo)
quantile(0.5, foo)
sum
sum{a="b"} + by + without + offset + and + start + step
sum offset 5m
start() + end() + step() + range() + min_of(1, 2) + MAX_OF(3, 4)
time()
hour() + hour(x)
round(x) + round(x, 5)
label_join(x, "a", "b")
label_join(x, "a", "b", "c", "d", "e")
sort_by_label(x) + sort_by_label_desc(x, "a", "b")
info(x) + info(x, {}) + info(x, {a=~".*"}) + info(x, {"foo"}) + info(x, {a="b"} offset 5m)
histogram_quantiles(x, "q", 0.5)
histogram_quantiles(x, "q", 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1)
foo [ 5m ]
foo[5m]offset 5m@5
foo offset 5m @ start()
foo @ End ( ) offset -5m
foo offset --5m
foo offset 0s offset 5m
foo @ 1m
foo @ - 1
foo[300]
foo[5m:]
foo[5m :1m]
foo[5m:10]
foo[-(10s-5s)+20s]
foo[0+-2^2]
foo[  -  STEP  (  )  ]
foo[min_of(step() + 1, 1h) : max_of(range() / 4, 15s)]
foo offset (1h+5m)
foo offset -min_of(step(), 1s)^0
foo[5m] anchored
foo smoothed offset 5m
foo offset -100 smoothed + 0
(foo)[5m:]
sum(x)[5m:1m] offset 1m @ 100
1
foo[5m # comment ]
foo # comment
"a" # comment
-(1)
- - foo
-foo ^ 2
foo{a="b"} # { " '
"""


@pytest.mark.parametrize("text", ACCEPTED.strip().splitlines())
def test_accepted(text):
    text = text.replace("# comment ]", "# comment ]\n]")
    expr = parse(text)
    assert 0 <= expr.start < expr.end <= len(text)


def test_precedence():
    def shape(expr):
        if isinstance(expr, Binary):
            return f"({shape(expr.lhs)} {expr.op} {shape(expr.rhs)})"
        if isinstance(expr, Unary):
            return f"({expr.op}{shape(expr.expr)})"
        if isinstance(expr, NumberLiteral):
            return f"{expr.value:g}"
        return expr.name

    for text, expected in [
        ("a + b * c ^ d ^ e - f", "((a + (b * (c ^ (d ^ e)))) - f)"),
        ("a or b and c unless d or e", "((a or ((b and c) unless d)) or e)"),
        ("a < b + c == d", "((a < (b + c)) == d)"),
        ("-a ^ 2", "(-(a ^ 2))"),
        ("-1 ^ 2", "(-(1 ^ 2))"),
        ("2 ^ -a * 3", "((2 ^ (-a)) * 3)"),
        ("2 ^ -a ^ b", "(2 ^ (-(a ^ b)))"),
        ("-a * b", "((-a) * b)"),
        ("a * -b + c", "((a * (-b)) + c)"),
        ("a % b atan2 c / d", "(((a % b) atan2 c) / d)"),
        ("a - b - c", "((a - b) - c)"),
        ("a </ b + c", "(a </ (b + c))"),
    ]:
        assert shape(parse(text)) == expected


def test_selector():
    expr = parse('foo{a="b", c!~"d|e"} offset 1h @ 12.3456')
    assert isinstance(expr, VectorSelector)
    assert expr.name == expr.metric_name == "foo"
    assert [(m.label, m.op, m.value) for m in expr.matchers] == [("a", "=", "b"), ("c", "!~", "d|e")]
    assert expr.offset.ms == 3_600_000
    assert expr.at.timestamp_ms == 12_346
    assert expr.type == "vector"


def test_matcher_positions():
    text = 'foo{ a = "b", "c.d" =~ `e` }'
    for matcher, name, value in zip(parse(text).matchers, ("a", '"c.d"'), ('"b"', "`e`"), strict=True):
        assert text[matcher.start : matcher.name_end] == name
        assert text[matcher.value_start : matcher.end] == value


def test_metric_name():
    assert parse('{"foo.bar"}').name == "foo.bar"
    assert parse('{__name__="foo"}').metric_name == "foo"
    assert parse('{__name__="foo"}').name is None
    assert parse('{__name__=~"foo"}').metric_name is None
    assert parse('{__name__="foo", __name__="bar"}').metric_name is None
    assert parse('{"foo"}') == parse("foo")
    text = ' { a="b", "foo.bar" }'
    expr = parse(text)
    assert text[expr.name_start : expr.name_end] == '"foo.bar"'


def test_matrix_and_subquery():
    expr = parse("rate(foo[5m] offset 1m)")
    assert isinstance(expr, Call)
    assert expr.function.returns == expr.type == "vector"
    matrix = expr.args[0]
    assert isinstance(matrix, MatrixSelector)
    assert matrix.type == "matrix"
    assert matrix.range == DurationLiteral(300_000, 300.0, True, 0, 0)
    assert matrix.selector.offset.ms == 60_000
    assert (matrix.end, matrix.selector.end) == (22, 8)
    expr = parse("foo[10m:6s] @ start() offset -1m")
    assert isinstance(expr, Subquery)
    assert (expr.range.ms, expr.step.ms, expr.offset.ms) == (600_000, 6000, -60_000)
    assert isinstance(expr.at, At)
    assert expr.at.function == "start"
    assert parse("foo[10m:]").step is None


def test_aggregate():
    text = "topk without (a, b) (3, foo)"
    expr = parse(text)
    assert isinstance(expr, Aggregate)
    assert (expr.op, expr.modifier, expr.without) == ("topk", "without", True)
    assert [text[label.start : label.end] for label in expr.grouping] == ["a", "b"]
    assert expr.param.value == 3
    assert expr.expr.name == "foo"
    assert parse("sum by (a) (x)") == parse("sum(x) by (a)")
    assert parse("sum(x)").modifier is None


def test_matching():
    text = "foo * on (a, b) group_left (c) fill_right (2) bar"
    matching = parse(text).matching
    assert (matching.card, matching.on, matching.fill_left, matching.fill_right) == ("many-to-one", True, None, 2)
    assert [text[label.start : label.end] for label in matching.labels + matching.include] == ["a", "b", "c"]
    assert text[matching.start : matching.end] == "on (a, b) group_left (c) fill_right (2)"
    assert parse("foo + bar").matching.card == "one-to-one"
    assert parse("foo and bar").matching.card == "many-to-many"
    assert parse("foo + 1").matching is None
    both = parse("foo + fill(-1) bar").matching
    assert (both.fill_left, both.fill_right) == (-1, -1)


def test_bool():
    expr = parse("foo == bool on (a) bar")
    assert expr.return_bool
    assert expr.op_start == 4
    assert parse("1 == bool 1").type == "scalar"


def test_offset_takes_no_arithmetic():
    expr = parse("foo offset 5s - 8")
    assert isinstance(expr, Binary)
    assert expr.lhs.offset.ms == 5000
    assert parse("foo offset (5s - 8)").offset.ms == -3000


def test_paren_keeps_type():
    expr = parse("(foo)")
    assert isinstance(expr, Paren)
    assert expr.type == "vector"
    assert parse("(1)").type == "scalar"


def test_duration_expression():
    range_ = parse("foo[2m + step() * 2]").range
    assert isinstance(range_, DurationExpr)
    assert range_.ms is None
    assert (range_.op, range_.lhs.ms, range_.rhs.op) == ("+", 120_000, "*")
    assert parse("foo[2m + 30]").range.ms == 150_000
    assert parse("foo[4.018]").range.ms == 4018
    assert parse("foo[-2 ^ 2 + 10]").range.ms == 6000
    assert parse("foo[2 ^ 3 ^ 0 * 1m]").range.ms == 120_000
    assert parse("foo[10 % 4 / 4]").range.ms == 500
