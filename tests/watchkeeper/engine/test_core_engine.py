"""The engine's surface: kinds of results, settings, errors, limits, and what is not imported."""

import subprocess
import sys

import pytest

from watchkeeper.engine import Data, Engine, EvalError, Matrix, Scalar, Series, String, Vector
from watchkeeper.promql import ParseError, parse

MINUTE = 60_000


@pytest.fixture(scope="module")
def data():
    times = list(range(0, 60 * MINUTE, MINUTE))
    return Data(
        [Series({"__name__": "x", "i": str(i)}, times, [float(k * (i + 1)) for k in range(60)]) for i in range(3)]
    )


@pytest.fixture(params=["steps", "arrays", "auto"])
def engine(request):
    return Engine(evaluator=request.param)


def test_kinds_of_results(data, engine):
    assert engine.instant(data, "1 + 1", 5.0).value == 2.0
    assert isinstance(engine.instant(data, "1", 5.0), Scalar)
    text = engine.instant(data, '("a")', 5.0)
    assert isinstance(text, String)
    assert text.value == "a"
    vector = engine.instant(data, "x", 120.0)
    assert isinstance(vector, Vector)
    assert [(sample.labels, sample.value) for sample in vector.samples] == [
        ((("__name__", "x"), ("i", str(i))), 2.0 * (i + 1)) for i in range(3)
    ]
    matrix = engine.instant(data, 'x{i="0"}[2m]', 120.0)
    assert isinstance(matrix, Matrix)
    assert matrix.series == [((("__name__", "x"), ("i", "0")), [MINUTE, 2 * MINUTE], [1.0, 2.0])]
    ranged = engine.range(data, "1", 0.0, 10.0, 4.0)
    assert ranged.series == [((), [0, 4000, 8000], [1.0] * 3)]


def test_a_tree_is_as_good_as_text(data, engine):
    text = "rate(x[5m])"
    assert engine.instant(data, parse(text), 600.0).samples == engine.instant(data, text, 600.0).samples
    assert engine.instant(data, parse(text), 600.0).infos == engine.instant(data, text, 600.0).infos


def test_windows_are_open_on_the_left_and_were_closed_in_2(data):
    expr = 'count_over_time(x{i="0"}[5m])'
    assert Engine().instant(data, expr, 600.0).samples[0].value == 5.0
    assert Engine(compat="2").instant(data, expr, 600.0).samples[0].value == 6.0
    last = 59 * 60.0
    assert Engine().instant(data, "x", last + 299.999).samples
    assert not Engine().instant(data, "x", last + 300.0).samples
    assert Engine(compat="2").instant(data, "x", last + 300.0).samples
    assert Engine(lookback=60.0).instant(data, "x", last + 59.0).samples
    assert not Engine(lookback=60.0).instant(data, "x", last + 61.0).samples


def test_closed_subqueries(data):
    expr = "count_over_time(vector(1)[1m:30s])"
    assert Engine().instant(data, expr, 600.0).samples[0].value == 2.0
    assert Engine(compat="2").instant(data, expr, 600.0).samples[0].value == 3.0
    assert Engine(subquery_step=20.0).instant(data, "count_over_time(vector(1)[1m:])", 600.0).samples[0].value == 3.0


def test_errors(data, engine):
    with pytest.raises(ParseError):
        engine.instant(data, "sum(", 0.0)
    with pytest.raises(EvalError, match='"range vector" for range query'):
        engine.range(data, "x[5m]", 0.0, 60.0, 60.0)
    with pytest.raises(EvalError, match='"string" for range query'):
        engine.range(data, '"x"', 0.0, 60.0, 60.0)
    with pytest.raises(EvalError, match="zero or negative"):
        engine.range(data, "x", 0.0, 60.0, 0.0)
    with pytest.raises(EvalError, match="before start"):
        engine.range(data, "x", 60.0, 0.0, 60.0)
    with pytest.raises(EvalError, match="steps is refused"):
        engine.range(data, "x", 0.0, 1e9, 0.001)
    with pytest.raises(EvalError, match="has no value"):
        engine.instant(data, parse("sum(${x})", variables=True), 0.0)
    with pytest.raises(EvalError) as caught:
        engine.instant(data, "1 + x + on(nope) x", 600.0)
    assert caught.value.position == 0
    assert str(caught.value) == caught.value.message


@pytest.mark.parametrize(
    "expr", ["$x", "rate(x[$range])", "x_$y", 'x{i="a", j=~$y}', "rate(x{$z}[5m:])", "$f(x)", "x @ $t"]
)
def test_dashboard_variables_have_no_value(data, expr):
    with pytest.raises(EvalError, match="a dashboard variable has no"):
        Engine(evaluator="steps").instant(data, parse(expr, variables=True), 0.0)


@pytest.mark.parametrize("settings", [{"compat": "1"}, {"evaluator": "magic"}])
def test_settings_are_checked(settings):
    with pytest.raises(ValueError, match="not"):
        Engine(**settings)


@pytest.mark.parametrize(
    "expr",
    [
        "x[1h]",
        "sum_over_time(x[1h])",
        "sum_over_time(x[1h:1m])",
        "sum(x) + count_over_time(vector(1)[10y:1ms])",
        "max_over_time(max_over_time(x[1h:1m])[1h:1m])",
    ],
)
def test_sample_limit(data, expr):
    with pytest.raises(EvalError, match="too many samples"):
        Engine(max_samples=50, evaluator="steps").instant(data, expr, 3540.0)


def test_sample_limit_of_a_range(data, engine):
    engine.max_samples = 100
    with pytest.raises(EvalError, match="too many samples"):
        engine.range(data, "x", 0.0, 3540.0, 60.0)


def test_time_limit(data):
    engine = Engine(timeout=0.0, evaluator="steps")
    with pytest.raises(EvalError, match="timed out"):
        engine.range(data, "x", 0.0, 3540.0, 60.0)


@pytest.mark.parametrize(
    ("expr", "expected"),
    [
        (" + ".join(["x"] * 3000), 3000.0),
        (" or ".join(["x"] * 3000), 1.0),
        (" + ".join(f"x * {k}" for k in range(1000)), 499500.0),
        ("1" + " + 1" * 3000, 3001.0),
    ],
    ids=["equal", "or", "different", "numbers"],
)
def test_long_chains(data, expr, expected):
    result = Engine(evaluator="steps").instant(data, expr, 60.0)
    assert (result.value if isinstance(result, Scalar) else result.samples[0].value) == expected


def test_small_queries_import_little():
    code = (
        "import sys\n"
        "from watchkeeper.engine import Data, Engine, Series\n"
        "data = Data([Series({'__name__': 'x', 'a': 'b'}, [0, 60000], [1.0, 2.0])])\n"
        "engine = Engine()\n"
        "engine.range(data, 'sum by (a) (rate(x{a=~\"b|c\"}[5m])) > 0', 0.0, 60.0, 15.0)\n"
        "print([name for name in ('numpy', 're2', 'dataclasses', 'inspect', 'json', 'difflib') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_public_names_are_lazy():
    import watchkeeper.engine

    assert "Engine" in dir(watchkeeper.engine)
    with pytest.raises(AttributeError, match="no attribute 'nope'"):
        _ = watchkeeper.engine.nope


@pytest.mark.parametrize("at", [float("nan"), float("inf"), float("-inf"), 1e300, -1e300, 1.1e15, 10**400])
def test_times_out_of_range(data, engine, at):
    with pytest.raises(EvalError, match=r"time of the query is .* within 1e\+15"):
        engine.instant(data, "x", at)
    with pytest.raises(EvalError, match="the start is"):
        engine.range(data, "x", at, 60.0, 1.0)
    with pytest.raises(EvalError, match="the end is"):
        engine.range(data, "x", 0.0, at, 1.0)


def test_steps_out_of_range(data, engine):
    for step in (0, -1.0, float("-inf")):
        with pytest.raises(EvalError, match="zero or negative query resolution step"):
            engine.range(data, "x", 0.0, 60.0, step)
    for step, says in ((float("nan"), "the step is nan"), (1e300, "the step is 1e"), (1e-4, "a millisecond or more")):
        with pytest.raises(EvalError, match=says):
            engine.range(data, "x", 0.0, 60.0, step)
    with pytest.raises(EvalError, match="end timestamp must not be before start time"):
        engine.range(data, "x", 60.0, 0.0, 1.0)


def test_far_times_are_fine(data, engine):
    assert engine.instant(data, "x", 1e15).samples == []
    assert engine.instant(data, "rate(x[100y]) + x offset 100y", -1e15).samples == []
    assert engine.range(data, "x", -1e15, 1e15, 1e15).series == [
        ((("__name__", "x"), ("i", str(i))), [0], [0.0]) for i in range(3)
    ]


@pytest.mark.parametrize("seconds", [0, -1.0, float("nan"), float("inf")])
def test_settings_that_are_no_durations(seconds):
    with pytest.raises(ValueError, match="lookback"):
        Engine(lookback=seconds)
    with pytest.raises(ValueError, match="subquery_step"):
        Engine(subquery_step=seconds)


def test_as_the_documentation_shows_it():
    expr = parse("sum by (gpu) (rate(x_total[5m])) > 1")
    engine = Engine(compat="3", delayed_name_removal=False)
    data = Series.load('x_total{gpu="0"} 0+30x40', interval="15s")
    assert isinstance(data, Data)
    (sample,) = engine.instant(data, expr, at=300.0).samples
    assert (sample.labels, sample.value) == ((("gpu", "0"),), pytest.approx(2.0))
    matrix = engine.range(data, expr, start=0, end=600, step=15)
    ((labels, times, values),) = matrix.series
    assert labels == (("gpu", "0"),)
    assert times[-1] == 600_000
    assert values[-1] == pytest.approx(2.0)
    again = Data.load('x_total{gpu="0"} 0+30x40', interval=15)
    assert engine.range(again, expr, start=0, end=600, step=15).series == matrix.series


@pytest.mark.parametrize(
    ("at", "offset", "expected"),
    [
        ("307.443", "", [300.0]),
        ("307.443", "offset 1m", [240.0]),
        ("307.443", "offset -1m", [300.0]),
        ("307.443", "offset 4m50s", [15.0]),
        ("307.443", "offset 7m", []),
        ("307.443", "offset -7m", []),
    ],
)
@pytest.mark.parametrize("compat", ["2", "3"])
def test_timestamp_with_at_and_offset(compat, at, offset, expected):
    """As Prometheus 2.42 and 3.5 answered on the same samples."""
    data = Data([Series({"__name__": "b"}, list(range(0, 601_000, 15_000)), [1.0] * 41)])
    expr = f"timestamp(b @ {at} {offset})"
    for evaluator in ("steps", "arrays"):
        engine = Engine(compat=compat, evaluator=evaluator)
        assert [sample.value for sample in engine.instant(data, expr, 200.0).samples] == expected
        rows = engine.range(data, expr, 200.0, 240.0, 20.0).series
        assert [values for _, _, values in rows] == ([expected * 3] if expected else [])


def test_the_average_of_a_lone_negative_zero():
    data = Data([Series({"__name__": "odd"}, [0], [-0.0])])
    for evaluator in ("steps", "arrays"):
        signs = [
            str(Engine(compat=compat, evaluator=evaluator).instant(data, "avg(odd)", 0.0).samples[0].value)
            for compat in ("2", "3")
        ]
        assert signs == ["-0.0", "0.0"]


def test_numpy_is_chosen_for_long_subqueries(data, monkeypatch):
    from watchkeeper.engine import arrays

    asked = []
    monkeypatch.setattr(arrays, "evaluate", asked.append)
    for expr in ("x", "max_over_time(x[10m:1m])", "max_over_time(x[100m:1s])", "max_over_time(vector(1)[1d:1s])"):
        Engine().instant(data, expr, 600.0)
    assert [query.annotations.text for query in asked] == [
        "max_over_time(x[100m:1s])",
        "max_over_time(vector(1)[1d:1s])",
    ]


@pytest.mark.parametrize(("at", "minutes"), [(-0.5, 0.0), (-60.5, 59.0), (-60.0, 59.0), (-119.5, 58.0)])
def test_the_clock_before_1970(engine, at, minutes):
    """Cut toward zero, as Prometheus 2.42 and 3.5 do."""
    assert engine.instant(Data(), "minute()", at).samples[0].value == minutes
    assert engine.instant(Data(), "minute(vector(time()))", at).samples[0].value == minutes


def test_the_same_labels_at_different_times():
    """What others could do functions of ranges can do as well, since Prometheus #18631."""
    data = Data.load('x_1{a="b"} 0 1 _ _ 4 5\nx_2{a="b"} _ _ 2 3 _ 6', "6m")
    for evaluator in ("steps", "arrays"):
        for expr in ('ceil({__name__=~"x_.+"})', 'max_over_time({__name__=~"x_.+"}[5m])'):
            ((labels, _, values),) = Engine(evaluator=evaluator).range(data, expr, 0, 1440, 360).series
            assert (labels, values) == ((("a", "b"),), [0.0, 1.0, 2.0, 3.0, 4.0])
            with pytest.raises(EvalError, match="same labelset"):
                Engine(evaluator=evaluator).range(data, expr, 0, 1800, 360)
        with pytest.raises(EvalError, match="same labelset"):
            Engine(compat="2", evaluator=evaluator).range(data, 'max_over_time({__name__=~"x_.+"}[5m])', 0, 1440, 360)


@pytest.mark.parametrize("expr", ["0.5 >/ (0.5)", "vector(1) + (1 </ 2)"])
def test_numbers_can_not_be_trimmed(expr):
    engine, data = Engine(), Series.load("x 1")
    with pytest.raises(EvalError, match="not allowed for Scalar operations"):
        engine.instant(data, parse(expr), at=0)
    with pytest.raises(EvalError, match="not allowed for Scalar operations"):
        engine.range(data, parse(expr), start=0, end=60, step=15)
