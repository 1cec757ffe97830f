"""Dashboard variables, in each place in which dashboards use them."""

import pytest

from watchkeeper.promql import ParseError, parse, variables, walk
from watchkeeper.promql.nodes import Aggregate, Call, MatrixSelector, Subquery, Template, Variable, VectorSelector

# expression, the variables in its tree
PLACES = [
    ("rate(x[$__rate_interval])", ["__rate_interval"]),
    ("x[$interval:$resolution]", ["interval", "resolution"]),
    ("x[5m:$__interval]", ["__interval"]),
    ("x[${n}m]", ["n"]),
    ("x[5$unit]", ["unit"]),
    ("x[${__range_s}s:30s]", ["__range_s"]),
    ("x[[[interval]]]", ["interval"]),
    ("x[$a + $b]", ["a", "b"]),
    ("x offset $o", ["o"]),
    ("x offset -${o}", ["o"]),
    ("x @ ${__from:date:seconds}", ["__from"]),
    ("x > $threshold", ["threshold"]),
    ("topk($k, x)", ["k"]),
    ("sum by ($group) (x)", ["group"]),
    ("sum(x) by (a, ${by:csv})", ["by"]),
    ("x / on($l) group_left([[m]]) y", ["l", "m"]),
    ("$metric", ["metric"]),
    ('${metric}{a="b"}', ["metric"]),
    ("rate([[metric]][5m])", ["metric"]),
    ("$metric offset 5m", ["metric"]),
    ("node_$type_bytes_total", ["type_bytes_total"]),
    ("node_${type}_bytes_total", ["type"]),
    ("sum(${prefix}_requests) + 1", ["prefix"]),
    ("x{job=$job}", ["job"]),
    ('x{$label="a"}', ["label"]),
    ('x{a="b", $filters}', ["filters"]),
    ("{$filters}", ["filters"]),
    ("$agg(x)", ["agg"]),
    ("$agg by (a) (x)", ["agg"]),
    ("$agg(x) by (a)", ["agg"]),
    ("$fn(rate(x[5m]))", ["fn"]),
    ("$expr[5m:]", ["expr"]),
    ("-$x ^ $y", ["x", "y"]),
    ("$x and y", ["x"]),
    ("$x == bool 1", ["x"]),
    ("vector($x) + abs($x)", ["x", "x"]),
    ("sum($x) / $__range_s", ["x", "__range_s"]),
    ("$a$b", ["a", "b"]),
]


@pytest.mark.parametrize(("text", "names"), PLACES)
def test_places(text, names):
    expr = parse(text, variables=True)
    found = [node for node in walk(expr) if isinstance(node, Variable)]
    assert [node.name for node in found] == names
    for node in found:
        (use,) = variables(text[node.start : node.end])
        assert use == node


@pytest.mark.parametrize("text", [text for text, _ in PLACES])
def test_only_in_dashboards(text):
    with pytest.raises(ParseError) as caught:
        parse(text)
    if "[[" not in text:
        assert "dashboards only" in caught.value.message


@pytest.mark.parametrize(
    "text",
    [
        'x{job="$job", i=~"$i|a", j=~"[[j:regex]]"}',
        '{job=~"$job"}',
        'x{a=~"b{$n}"}',
        'label_replace(x, "a", "$1", "b", "(.*)$suffix")',
        'count_values("$l", x)',
        "x # $comment",
    ],
)
def test_in_strings(text):
    assert not [node for node in walk(parse(text, variables=True)) if isinstance(node, Variable)]


def test_fault_that_no_value_mends():
    with pytest.raises(ParseError, match="invalid regular expression"):
        parse('x{a=~"($b"}', variables=True)


def test_kinds():
    assert isinstance(parse("$x", variables=True), Variable)
    assert isinstance(parse("$a$b", variables=True), Template)
    assert isinstance(parse("$x{}", variables=True), VectorSelector)
    assert isinstance(parse("$x[5m]", variables=True), MatrixSelector)
    assert isinstance(parse("$x[5m:]", variables=True), Subquery)
    assert isinstance(parse("$x(y)", variables=True), Call)
    assert isinstance(parse("$x by (a) (y)", variables=True), Aggregate)
    assert parse("node_${type}_bytes", variables=True).name == "node_${type}_bytes"


def test_type_is_unknown():
    assert parse("$x", variables=True).type == "unknown"
    assert parse("$x + 1", variables=True).type == "unknown"
    assert parse("$x + y", variables=True).type == "vector"
    assert parse("1 + 1", variables=True).type == "scalar"
    assert parse("$f(x)", variables=True).type == "unknown"


def test_list():
    text = 'a{b="$c"}[$__interval] + ${d.text:regex} # [[e:csv]] $1 ${2} $ $$f'
    found = variables(text)
    assert [(use.name, use.field, use.format) for use in found] == [
        ("c", "", ""),
        ("__interval", "", ""),
        ("d", "text", "regex"),
        ("e", "", "csv"),
        ("f", "", ""),
    ]
    assert [text[use.start : use.end] for use in found] == ["$c", "$__interval", "${d.text:regex}", "[[e:csv]]", "$f"]


@pytest.mark.parametrize("text", ["$1", "$x $y", "$x{", "rate($x[)", "x[$", "sum by ($1) (x)"])
def test_refused(text):
    with pytest.raises(ParseError):
        parse(text, variables=True)


def test_nothing_changes_without_variables():
    for text in ('sum by (a) (rate(x{b=~"[[:alpha:]]+$"}[5m:1m] offset 5m)) > 1', "x[5m # ]\n]"):
        assert parse(text, variables=True) == parse(text)
