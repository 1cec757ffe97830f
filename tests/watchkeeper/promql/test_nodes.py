"""The tree: walking, comparing, copying, at any depth."""

import copy
import inspect
import pickle

import pytest

from watchkeeper.promql import nodes, parse, walk
from watchkeeper.promql.durations import DurationError, parse_duration, resolve
from watchkeeper.promql.features import features
from watchkeeper.promql.threshold import ThresholdError, threshold

EXAMPLES = [
    "1",
    '"a"',
    "-foo",
    "NaN",
    'sum by (a, "b.c") (rate(foo{a="b", c=~"d|e"}[5m] offset 1h @ start())) > bool on(a) group_left(b) fill(0) (bar)',
    "count_values('x', rate(foo[5m:1m] @ 5))",
    "foo[2m + step() * min_of(1, -range())] anchored",
    'info(foo, {a="b"})',
]


@pytest.mark.parametrize("text", EXAMPLES)
def test_copies_are_equal(text):
    expr = parse(text)
    for other in (parse(text), parse(f"\n {text} "), copy.deepcopy(expr), pickle.loads(pickle.dumps(expr))):
        assert other == expr
        assert hash(other) == hash(expr)
        assert repr(other) == repr(expr)
    for mine, theirs in zip(walk(expr), walk(copy.deepcopy(expr)), strict=True):
        assert type(mine) is type(theirs)
        for name in (*mine._fields, *mine._kept, "start", "end"):
            assert repr(getattr(mine, name)) == repr(getattr(theirs, name))


def test_every_slot_is_structure_or_kept():
    # A field in neither list would be lost by pickle.
    for cls in vars(nodes).values():
        if inspect.isclass(cls) and issubclass(cls, nodes.Node):
            slots = {name for base in cls.__mro__ for name in getattr(base, "__slots__", ())} - {"start", "end"}
            assert slots == {*cls._fields, *cls._kept}, cls


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("foo", "bar"),
        ("foo", "foo{a='b'}"),
        ("foo{a='b'}", "foo{a!='b'}"),
        ("foo", "-foo"),
        ("foo", "(foo)"),
        ("sum(foo)", "sum by () (foo)"),
        ("foo + bar", "foo + on() bar"),
        ("foo[5m]", "foo[6m]"),
        ("foo[5m]", "foo[5m:]"),
        ("foo offset 5m", "foo"),
        ("foo == 1", "foo == bool 1"),
        ("0", "-0"),
        ("foo[5m] smoothed", "foo[5m] anchored"),
    ],
)
def test_different(one, other):
    assert parse(one) != parse(other)
    assert parse(one) != one


def test_equal_whatever_the_notation():
    assert parse("300") == parse("5m")
    assert parse("foo[300]") == parse("foo[5m]")
    assert parse("foo{a='b',}") == parse('foo { a = "b" }')


def test_walk_is_in_order():
    found = [type(node).__name__ for node in walk(parse("max by (a) (foo{b='c'} offset 5m) + 1"))]
    assert found == [
        "Binary",
        "Aggregate",
        "Label",
        "VectorSelector",
        "Matcher",
        "DurationLiteral",
        "NumberLiteral",
    ]


CHAINS = [" + ".join(["a"] * 10_000), f"a[{' + '.join(['5m'] * 10_000)}]", "a + b * " * 3_000 + "c"]


@pytest.mark.parametrize("text", CHAINS, ids=["sum", "duration", "mixed"])
def test_long_chains(text):
    expr = parse(text)
    same = parse(text)
    assert expr == same
    assert hash(expr) == hash(same)
    assert sum(1 for _ in walk(expr)) > 9_000
    assert len(repr(expr)) < 10_000
    assert copy.deepcopy(expr) == expr
    assert pickle.loads(pickle.dumps(expr)) == expr
    features(expr, text)
    with pytest.raises(ThresholdError):
        threshold(expr)
    del expr, same


def test_parse_duration():
    assert parse_duration("1h30m") == 5_400_000
    assert parse_duration("1y1ms") == 31_536_000_001
    for text in ("", "5", "5 m", "-5m", "1m1h", "1h1h", "300y", "9" * 50 + "s", "9" * 5000 + "s"):
        with pytest.raises(DurationError):
            parse_duration(text)


@pytest.mark.parametrize(
    ("text", "ms"),
    [
        ("step()", 15_000),
        ("range()", 3_600_000),
        ("-step() + 1m", 45_000),
        ("min_of(step(), 5s) * 2", 10_000),
        ("max_of(step(), 5s)", 15_000),
        ("range() % 7", 2000),
        ("2 ^ -1", 500),
        ("(-8) ^ 3 + 1h", 3_088_000),
        ("0.0005", 1),
        ("0.3 - 0.1", 200),
    ],
)
def test_resolve(text, ms):
    assert resolve(parse(f"a[{text}]").range, step=15.0, range_=3600.0) == ms


@pytest.mark.parametrize(
    "text", ["1 / (1 - 1)", "1 % (1 - 1)", "10 ^ 300", "(0 - 8) ^ 0.5", "0 ^ -1", "10 ^ 300 * 10 ^ 300"]
)
def test_resolve_refuses(text):
    duration = parse(f"a[{text}]").range
    assert duration.ms is None
    with pytest.raises(DurationError):
        resolve(duration, step=0.0, range_=0.0)


def test_resolve_of_a_variable():
    with pytest.raises(DurationError, match="variable"):
        resolve(parse("a[5m + $x]", variables=True).range, step=0, range_=0)
