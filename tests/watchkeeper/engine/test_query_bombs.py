"""Expressions made to hurt: a clear error or a right answer, soon."""

import pytest

from watchkeeper.engine import Data, Engine, EvalError, Series
from watchkeeper.promql import ParseError

LONG = "a" * 5000
DATA = Data([Series({"__name__": "x", "a": LONG}, [0, 15_000], [1.0, 2.0])])
ENGINES = [Engine(evaluator="steps"), Engine(evaluator="arrays")]
each = pytest.mark.parametrize("engine", ENGINES, ids=["steps", "arrays"])


@each
@pytest.mark.parametrize("around", ["({})", "-{}", "abs({})", "2^{}", "sum({})", "max_over_time({}[5m:1m])"])
def test_deep_nesting(engine, around):
    expr = "x"
    for _ in range(100):
        expr = around.format(expr)
    engine.instant(DATA, expr, 15)
    before, after = around.split("{}")
    with pytest.raises(ParseError, match="deep"):
        engine.instant(DATA, before * 10_000 + "x" + after * 10_000, 15)


@each
def test_long_chains(engine):
    (sample,) = engine.instant(DATA, "x" + " + x" * 1000, 15).samples
    assert sample.value == 2002


@each
@pytest.mark.parametrize("expr", ["x + " * 2_500_000 + "x", '"' + "a" * 10_000_000 + '"', "x" * 10_000_000])
def test_ten_megabytes(engine, expr):
    with pytest.raises(ParseError, match="longer than"):
        engine.instant(DATA, expr, 15)


@each
@pytest.mark.parametrize("regex", ["(a*)*b", "(a|aa)+b", "((a|a)*){50}c", ".*.*.*.*.*.*.*.*=.*", "(.*a){20}b"])
def test_exploding_regexes(engine, regex):
    assert engine.instant(DATA, f'x{{a=~"{regex}"}}', 15).samples == []
    assert len(engine.instant(DATA, f'label_replace(x, "b", "$1", "a", "{regex}")', 15).samples) == 1


@each
def test_a_regex_too_large(engine):
    with pytest.raises((ParseError, EvalError)):
        engine.instant(DATA, 'x{a=~"(a{1000}){1000}"}', 15)


@each
@pytest.mark.parametrize("expr", ["sum_over_time(vector(1)[100y:1ms])", "max_over_time(x[1d:1ms])"])
def test_too_many_samples(engine, expr):
    with pytest.raises(EvalError, match="too many samples"):
        engine.instant(DATA, expr, 15)


@each
def test_too_many_steps(engine):
    with pytest.raises(EvalError, match="steps"):
        engine.range(DATA, "x", 0, 1e12, 1)


@each
@pytest.mark.parametrize(
    "expr", ["x offset 200y", "rate(x[290y])", "x @ 1e15", "year(x * 1e300)", "round(x, 1e-320)", "topk(1e18, x)"]
)
def test_far_ends(engine, expr):
    engine.instant(DATA, expr, 15)


@each
@pytest.mark.parametrize(
    "around",
    [
        'label_join({}, "a", "", "a", "a", "a")',
        'label_replace({}, "a", "$1$1$1", "a", "(.*)")',
        'label_join({}, "a", "' + "b" * 10_000 + '", "a", "c", "a", "c")',
    ],
)
@pytest.mark.parametrize("compat", ["2", "3"])
def test_labels_that_grow(engine, around, compat):
    expr = "x"
    for _ in range(20):
        expr = around.format(expr)
    engine = Engine(compat=compat, evaluator=engine.evaluator)
    with pytest.raises(EvalError, match="label value of more than 1048576 characters"):
        engine.instant(DATA, expr, 15)


def test_many_long_labels():
    """Each is allowed, but not all of them."""
    data = Data([Series({"__name__": "x", "a": LONG, "i": str(i)}, [0], [1.0]) for i in range(100)])
    expr = 'label_replace(x, "b", "' + "$1" * 200 + '", "a", "(.*)")'
    assert len(Engine(evaluator="steps").instant(data, f"count({expr})", 0).samples) == 1
    with pytest.raises(EvalError, match="too many samples"):
        Engine(evaluator="steps", max_samples=1_000_000).instant(data, f"count({expr})", 0)


def test_nested_subqueries_end():
    """Prometheus evaluates all these steps as well: neither it nor the limit of samples has anything against them."""
    expr = "x"
    for _ in range(3):
        expr = f"max_over_time({expr}[1w:1s])"
    (sample,) = Engine().instant(DATA, expr, 15).samples
    assert sample.value == 2.0
    for evaluator in ("steps", "arrays"):
        with pytest.raises(EvalError, match="timed out"):
            Engine(evaluator=evaluator, timeout=0.1).instant(DATA, expr, 15)
