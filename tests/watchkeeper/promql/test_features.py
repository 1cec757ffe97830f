"""Features by version. Those of 2.42 and 3.5 were put to the promtool of each."""

import pytest

from watchkeeper.promql import parse
from watchkeeper.promql.features import features, known
from watchkeeper.promql.functions import FUNCTIONS


@pytest.mark.parametrize(
    ("text", "name", "since", "flag_in_314", "where"),
    [
        ("last_over_time(x[5m])", "last_over_time()", (2, 26), False, "last_over_time"),
        ("x offset -5m", "negative offset", (2, 26), False, "-5m"),
        ("x @ 5", "@ modifier", (2, 25), False, "5"),
        ("x[5m:] @ end()", "@ modifier", (2, 25), False, "end()"),
        ("x atan2 y", "atan2", (2, 31), False, "atan2"),
        ("limitk(1, x)", "limitk", (2, 54), True, "limitk"),
        ("x > 5m", "duration as a number", (2, 54), False, "5m"),
        ("x[300]", "number as a duration", (2, 54), False, "300"),
        ('{"x.y"}', "quoted metric name", (3, 0), False, '"x.y"'),
        ('{"x", "y"}', "quoted metric name", (3, 0), False, '"x"'),
        ('x{"a"="b"}', "quoted label name", (3, 0), False, '"a"'),
        ('sum by ("a") (x)', "quoted label name", (3, 0), False, '"a"'),
        ("sum by (a:b) (x)", "colon in a label name", (3, 0), False, "a:b"),
        ("info(x)", "info()", (3, 0), True, "info"),
        ("x[5m + 1s]", "duration expression", (3, 4), False, "5m + 1s"),
        ("x offset (5m + 1s)", "duration expression", (3, 4), False, "(5m + 1s)"),
        ("x[5m:step()]", "step() in a duration", (3, 6), False, "step()"),
        ("x[range()]", "range() in a duration", (3, 10), False, "range()"),
        ("x[min_of(1m, 2m)]", "min_of() in a duration", (3, 13), False, "min_of(1m, 2m)"),
        ("ts_of_max_over_time(x[5m])", "ts_of_max_over_time()", (3, 5), True, "ts_of_max_over_time"),
        ("first_over_time(x[5m])", "first_over_time()", (3, 7), False, "first_over_time"),
        ("x smoothed", "smoothed", (3, 7), True, "x smoothed"),
        ("x + fill(0) y", "fill modifier", (3, 10), True, "fill(0)"),
        ("x >/ 5", "histogram trim operator", (3, 11), False, ">/"),
        ("step()", "step()", (3, 12), True, "step"),
        ("start_timestamp(x)", "start_timestamp()", (3, 14), True, "start_timestamp"),
        ("x > 1_000", "underscore in a number", (2, 54), False, "1_000"),
        ("x > 0x_1F", "underscore in a number", (2, 54), False, "0x_1F"),
        ("topk(1e1_0, x)", "underscore in a number", (2, 54), False, "1e1_0"),
        ("x @ -1_0", "underscore in a number", (2, 54), False, "-1_0"),
        ("x[1_0]", "underscore in a number", (2, 54), False, "1_0"),
        ("x @ 5m", "duration as a number", (2, 54), False, "5m"),
        ("x @ -1h30m", "duration as a number", (2, 54), False, "-1h30m"),
        ("x offset 0s", "offset of 0 with a unit", (3, 4), False, "0s"),
        ("x[5m:] offset -0m", "offset of 0 with a unit", (3, 4), False, "-0m"),
        ("x offset --5m", "sign of a duration", (3, 4), False, "--5m"),
        ("x offset +5m", "sign of a duration", (3, 4), False, "+5m"),
        ("x[+5m]", "sign of a duration", (3, 4), False, "+5m"),
        ("x[5m:+1m]", "sign of a duration", (3, 4), False, "+1m"),
        ("x offset (5m)", "duration expression", (3, 4), False, "(5m)"),
        ("x offset -(5m)", "duration expression", (3, 4), False, "-(5m)"),
        ("x offset (300)", "duration expression", (3, 4), False, "(300)"),
        ("x[(5m)]", "duration expression", (3, 4), False, "(5m)"),
        ("x[5m:(1m)]", "duration expression", (3, 4), False, "(1m)"),
        ('x{a=~"(?<b>c)"}', "(?<name>) in a regular expression", (2, 51), False, '"(?<b>c)"'),
        ('x{a!~"[(]|(?<b>c)"}', "(?<name>) in a regular expression", (2, 51), False, '"[(]|(?<b>c)"'),
        (
            'label_replace(x, "a", "$b", "c", "(?<b>d)")',
            "(?<name>) in a regular expression",
            (2, 51),
            False,
            '"(?<b>d)"',
        ),
        (r'x{a=~"\\p{Kawi}"}', "script of Unicode 14 or 15 in a regular expression", (2, 47), False, r'"\\p{Kawi}"'),
        ('label_replace(x, "a.b", "", "c", "")', "label name that is no identifier", (3, 0), False, '"a.b"'),
        ('label_join(x, "a.b", "", "c")', "label name that is no identifier", (3, 0), False, '"a.b"'),
        ('count_values("a b", x)', "label name that is no identifier", (3, 0), False, '"a b"'),
    ],
)
def test_feature(text, name, since, flag_in_314, where):
    found = {feature.name: feature for feature in reversed(features(parse(text), text))}
    feature = found[name]
    assert feature.since == since
    assert feature.experimental is flag_in_314
    assert text[feature.start : feature.end] == where
    assert name in known()


@pytest.mark.parametrize(
    "text",
    [
        'sum by (a) (rate(x{a=~"b"}[5m] offset 1h)) > 1 or absent(y)',
        "max_over_time(x[5m:1m])",
        "group(x) % 2 ^ 3",
        "-x",
        "-1 + x_1_0 + .5e3 + 0x1F # 1_0",
        r'x{a=~"(?P<b>c)|[(?<]|\\(?<d|\\Q(?<e>\\E"}',
        'label_replace(x, "a_1", "$1", "b.c", "(.*)")',
    ],
)
def test_old(text):
    assert features(parse(text), text) == []


def test_needs():
    text = "first_over_time(x[5m])"
    (feature,) = features(parse(text), text)
    assert feature.needs((3, 5)) == "Prometheus 3.7"
    assert feature.needs((3, 7)) == "--enable-feature=promql-experimental-functions"
    assert feature.needs((3, 14)) is None


def test_what_could_always_be_signed():
    text = "x offset -5m + x offset - 5m"
    assert {feature.name for feature in features(parse(text), text)} == {"negative offset"}


def test_order():
    text = "clamp(x @ 5, 1m, 2) atan2 sgn(y)"
    names = [feature.name for feature in features(parse(text), text)]
    assert names == ["clamp()", "@ modifier", "duration as a number", "atan2", "sgn()"]


def test_inside_variables_nothing_is_known():
    text = """rate(x{$a='b'}[$c]) + sum by ($d) (e_$f) + label_replace(x, "$g", "", "h", "[[i]]")"""
    assert features(parse(text, variables=True), text) == []


def test_table():
    for function in FUNCTIONS.values():
        assert function.min_args <= len(function.arg_types)
        assert function.max_args is None or function.max_args >= function.min_args
        if function.since is not None and function.stable_since is not None:
            assert function.stable_since >= function.since
