"""Expressions that Prometheus refuses: where the error points, and whether its message helps."""

import pytest

from watchkeeper.promql import ParseError, parse
from watchkeeper.promql.errors import LimitError

# expression, text that the error points at ("" for the end of the input), a part of the message
REFUSED = [
    ("", "", "no expression"),
    ("# only", "", "no expression"),
    ("1 +", "", 'unexpected end of input behind "+", expected a metric, a number'),
    ("(1", "", 'expected a closing ")" for the "(" at 1:1'),
    ("sum(rate(x[5m])", "", 'expected a closing ")" for the "(" at 1:4'),
    ("x{", "", 'expected a closing "}" for the "{" at 1:2'),
    ("x{a", "", 'expected a closing "}"'),
    ("x{a=", "", 'expected a closing "}"'),
    ('x{a="b"', "", 'expected a closing "}"'),
    ("x[", "", 'expected a closing "]" for the "[" at 1:2'),
    ("x[5m", "", 'expected a closing "]"'),
    ("x[5m # ]", "", 'expected a closing "]"'),
    ("x[# ]", "", 'expected a closing "]"'),
    ("sum by (a", "", 'expected a closing ")"'),
    ("1)", ")", 'no "("'),
    ("x}", "}", 'no "{"'),
    ("x[5m]]", "]", 'no "["'),
    ("()", ")", "parentheses are empty"),
    ("(a, b)", ",", "hold one expression"),
    ("[5m]", "[5m]", "must follow a metric"),
    ("*x", "*", "expected a metric"),
    ("x y", "y", "expected an operator"),
    ("x = 1", "=", "write =="),
    ("x =~ 1", "=~", "inside braces"),
    ("x ! y", "!", "write !="),
    ("x & y", "&", "write and"),
    ("x > 5 m", "m", 'without a space, "5m"'),
    ("x[5 m]", "m", 'without a space, "5m"'),
    ("x offset 5 m", "m", 'without a space, "5m"'),
    ("x ; y", ";", 'unexpected character ";"'),
    ("x{ä='b'}", "ä", "in quotes"),
    ("ä", "ä", "in quotes"),
    ("\udcff", "\udcff", "invalid UTF-8"),
    ('"\udcff"', "\udcff", "invalid UTF-8"),
    ('"\ufffd"', "\ufffd", "invalid UTF-8"),
    ("$x", "$x", "dashboards only"),
    ("x[$__rate_interval]", "$__rate_interval", "dashboards only"),
    ('x{a="b}', '"', 'expected a closing "'),
    ('"a\nb"', '"', "unterminated"),
    ("`a", "`", "expected a closing `"),
    ('"\\', "\\", "escape sequence not terminated"),
    ('"\\d"', "\\d", "backticks"),
    (r'"\x4"', '"', "illegal character"),
    (r'"\400"', r"\400", "not a Unicode code point"),
    (r'"\ud800"', r"\ud800", "not a Unicode code point"),
    (r'"\U00110000"', r"\U00110000", "not a Unicode code point"),
    (r"""'\"'""", '\\"', "unknown escape"),
    ("2.5.", "2.5.", "not a number"),
    ("1__0", "1__0", "not a number"),
    ("1_", "1_", "not a number"),
    ("0b11", "0b11", "not a number"),
    ("1foo", "1foo", "not a number"),
    ("1e400", "1e400", "out of range"),
    ("1" * 310, "1" * 310, "out of range"),
    ("0xffffffffffffffff", "0xffffffffffffffff", "out of range"),
    ("5m30", "5m30", "units"),
    ("1.5m", "1.5m", "whole numbers"),
    ("1h1h", "1h1h", "at most once"),
    ("1m1h", "1m1h", "longest first"),
    ("300y", "300y", "292 years"),
    ("x[300y]", "300y", "292 years"),
    ("x offset 9.5e10", "9.5e10", "292 years"),
    ("x[0m]", "0m", "greater than 0"),
    ("x[-5m]", "-5m", "greater than 0"),
    ("x[5m:0s]", "0s", "greater than 0"),
    ("x[]", "", "expected a duration"),
    ("x[:5m]", ":", "expected a duration"),
    ("x[5m:1m:1m]", ":", '"]"'),
    ("x[foo]", "foo", "expected a duration"),
    ("x[step]", "step", "step()"),
    ("x[step(1)]", "1", '")"'),
    ("x[min_of(1)]", ")", '","'),
    ("x[(5m]", "", '")"'),
    ("x[5m/0]", "/0", "division by zero"),
    ("x[step() % 0s]", "% 0s", "modulo by zero"),
    ("x offset", "", "expected a duration"),
    ("x offset y", "y", "expected a duration"),
    ("x @", "", "expected a timestamp"),
    ("x @ (5)", "(", "expected a timestamp"),
    ("x @ start", "start", "expected a timestamp"),
    ("x @ inf", "inf", "out of bounds"),
    ("x @ 1e300", "1e300", "out of bounds"),
    ("x @ 1 @ 2", "@", "twice"),
    ("x offset 5m offset 5m", "offset", "twice"),
    ("(x) offset 5m", "offset", "must follow"),
    ("sum(x) @ 5", "@", "must follow"),
    ("1 smoothed", "smoothed", "must follow"),
    ("x[5m:] anchored", "anchored", "subqueries"),
    ("x[5m] anchored smoothed", "smoothed", "together"),
    ("(x)[5m]", "(x)", "write [5m:]"),
    ("1[5m]", "1", "behind a metric selector"),
    ("x offset 1m [5m]", "x offset 1m", "behind"),
    ("x @ 1 [5m]", "x @ 1", "behind"),
    ("x[5m][5m:]", "x[5m]", "got a range vector"),
    ("1[5m:]", "1", "got a scalar"),
    ("x{a}", "}", 'behind the label "a"'),
    ("x{a=b}", "b", 'in quotes, "b"'),
    ("x{a=1}", "1", 'in quotes, "1"'),
    ('x{a=="b"}', "==", "write ="),
    ('x{a:b="c"}', ":", 'in quotes, "a:b"'),
    ("x{,}", ",", "label name"),
    ('x{a="b",,}', ",", "label name"),
    ('x{a="b" c="d"}', "c", '","'),
    ('x{a="b" or c="d"}', "or", "one regular expression"),
    ('x{__name__="y"}', '__name__="y"', 'set twice: "x" or "y"'),
    ('x{"y"}', '"y"', "set twice"),
    ("{}", "{}", "at least one matcher"),
    ('{""}', '{""}', "at least one matcher"),
    ('{a=~"b?", c!="d", e!~".+"}', '{a=~"b?", c!="d", e!~".+"}', "at least one matcher"),
    ('x{a=~"b**"}', '"b**"', "invalid regular expression"),
    ('x{a!~"("}', '"("', "invalid regular expression"),
    ('label_replace(x, "a", "$1", "b", "(")', '"("', "invalid regular expression in label_replace()"),
    ("on", "on", '{__name__="on"}'),
    ("x + group_left(a) y", "group_left", "follows on"),
    ("x + on(a) group_left(a) y", "a", "at once"),
    ("x + on y", "y", '"("'),
    ("x and on(a) group_left() y", "on(a) group_left()", "no grouping"),
    ("x or fill(0) y", "fill(0)", "no filling"),
    ("x + fill(y) z", "y", "a number"),
    ("x + fill(0) fill_left(1) z", "fill_left", "once"),
    ("x + fill(0) 1", "fill(0)", "between instant vectors"),
    ("x + on(a) 1", "on(a)", "between instant vectors"),
    ("x and 1", "and", "instant vectors only"),
    ("1 > 2", ">", "write > bool"),
    ("x + bool y", "bool", "behind a comparison"),
    ("x bool y", "bool", "right behind an operator"),
    ('x + "a"', '"a"', "got a string"),
    ("x[5m] > 1", "x[5m]", "put rate"),
    ("-x[5m]", "x[5m]", "got a range vector"),
    ('-"a"', '"a"', "got a string"),
    ("atan2 + 1", "atan2", "{__name__"),
    ("sum by (without) (x)", "without", "in quotes"),
    ("sum by (nan) (x)", "nan", "label name"),
    ("sum by (,) (x)", ",", "label name"),
    ('sum by ("") (x)', '""', "empty"),
    ("sum by a (x)", "a", '"("'),
    ("sum x", "x", "sum(up)"),
    ("sum(x) by (a) by (b)", "by", "given once"),
    ("x by (a)", "by", "belongs to an aggregation"),
    ("sum()", "sum()", "takes 1 argument, got 0"),
    ("sum(x, y)", "sum(x, y)", "takes 1 argument, got 2"),
    ("topk(x)", "topk(x)", "a scalar and an instant vector"),
    ("topk(x, y)", "x", "wants a scalar as its parameter"),
    ("count_values(1, x)", "1", "wants a string"),
    ("sum(1)", "1", "an instant vector to aggregate, got a scalar"),
    ("sum(x[5m])", "x[5m]", "got a range vector"),
    ("rate(x)", "x", "rate wants a range vector, got an instant vector, such as x[5m]"),
    ("rate(sum(x))", "sum(x)", "the subquery sum(x)[5m:]"),
    ("rate(x + y)", "x + y", "(x + y)[5m:]"),
    ("abs(x[5m])", "x[5m]", "wants an instant vector"),
    ("abs(1)", "1", "vector(...)"),
    ("vector(x)", "x", "scalar(...)"),
    ("abs()", "abs()", "abs takes 1 argument, got 0"),
    ("hour(x, y)", "hour(x, y)", "takes 0 to 1 arguments"),
    ('label_join(x, "a")', 'label_join(x, "a")', "at least 3 arguments"),
    ("abs(x,)", ",", "trailing comma"),
    ("abs(x y)", "y", "expected an operator"),
    ("rat(x[5m])", "rat", "did you mean rate?"),
    ("Rate(x[5m])", "Rate", "in lower case, rate"),
    ("holt_winters(x[5m], 1, 1)", "holt_winters", "double_exponential_smoothing"),
    ("qqqqqqq()", "qqqqqqq", 'unknown function "qqqqqqq"'),
    ("and(x)", "(", 'behind "and"'),
    ("info(x, y)", "y", "label matchers in braces"),
    ('info(x, {a="b"} == 1)', '{a="b"} == 1', "label matchers in braces"),
    ("info({}, {})", "{}", "at least one matcher"),
    ("info(x, sum({}))", "sum({})", "label matchers in braces"),
]


@pytest.mark.parametrize(("text", "where", "message"), REFUSED, ids=[ascii(case[0])[:50] for case in REFUSED])
def test_refused(text, where, message):
    with pytest.raises(ParseError) as caught:
        parse(text)
    error = caught.value
    pointed = text[error.position : error.end]
    if where:
        assert pointed == where
    else:
        assert pointed == "" or "[" in text
        assert error.position == len(text) or text[error.position] == "]"
    assert message in error.message
    assert error.text == text


def test_error_shows_its_place():
    text = "sum(\n\trate(x)\n)"
    with pytest.raises(ParseError) as caught:
        parse(text)
    error = caught.value
    assert (error.line, error.column) == (2, 7)
    assert error.snippet() == "\trate(x)\n\t     ^"
    assert str(error).startswith("2:7: rate wants a range vector")


def test_expected_is_listed():
    with pytest.raises(ParseError) as caught:
        parse("x{a 1}")
    assert caught.value.expected == ('"="', '"!="', '"=~"', '"!~"')


@pytest.mark.parametrize(
    "text",
    ["(" * 10_000 + "a" + ")" * 10_000, "-" * 10_000 + "a", "abs(" * 10_000, "a[" + "(" * 10_000, "2^" * 10_000 + "2"],
)
def test_too_deep(text):
    with pytest.raises(LimitError, match="nested too deep"):
        parse(text)


def test_too_long():
    with pytest.raises(LimitError, match="longer than"):
        parse("a" * (5 << 20))


def test_deep_caller():
    # A caller near the end of the stack gets a ParseError, too.
    def descend(depth):
        if depth:
            return descend(depth - 1)
        return parse("(" * 120 + "a" + ")" * 120)

    import sys

    room = sys.getrecursionlimit() - len(_frames())
    with pytest.raises(LimitError, match="nested too deep"):
        descend(room - 120)


def _frames():
    import sys

    frame, found = sys._getframe(), []
    while frame:
        found.append(frame)
        frame = frame.f_back
    return found
