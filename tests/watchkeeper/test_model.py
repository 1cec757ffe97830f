"""Alerts, recording rules and groups as values."""

import copy
import dataclasses

import pytest

from watchkeeper import Alert, DefinitionError, Group, Recording, Severity


def alert(**changes):
    fields = {"expr": "up == 0", "severity": Severity.CRITICAL, "team": "sre", "summary": "Down", "runbook": "down"}
    return Alert("TargetDown", **{**fields, **changes})


def test_definitions_are_frozen_and_equal_by_value():
    assert alert() == alert()
    assert hash(alert(labels={"a": "b"})) == hash(alert(labels={"a": "b"}))
    assert alert(labels={"a": "b"}) != alert()
    with pytest.raises(dataclasses.FrozenInstanceError):
        alert().name = "Other"
    with pytest.raises(TypeError):
        alert(labels={"a": "b"}).labels["a"] = "c"


def test_labels_given_are_copied():
    labels = {"a": "b"}
    made = alert(labels=labels)
    labels["a"] = "changed"
    assert made.labels == {"a": "b"}


def test_keyword_only_past_the_obvious():
    with pytest.raises(TypeError):
        Alert("X", "up == 0")


@pytest.mark.parametrize(
    ("expr", "value", "op"),
    [
        ("up == 0", 0, "=="),
        ("(rate(x[5m]) > 0.15) and on () y > 3", 0.15, ">"),
        ("5 < x", 5, ">"),
        ("x > -1.5e3", -1500, ">"),
    ],
)
def test_the_threshold_is_read_from_the_expression(expr, value, op):
    assert (alert(expr=expr).threshold.value, alert(expr=expr).threshold.op) == (value, op)


def test_replace_splices_the_threshold_and_keeps_the_authors_text():
    before = alert(expr="( rate(x[5m])  > 0.15 )  and y > 0.15  # why")
    after = before.replace(threshold=0.25, for_="10m")
    assert after.expr == "( rate(x[5m])  > 0.25 )  and y > 0.15  # why"
    assert after.for_ == "10m"
    assert after.place.line > before.place.line


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"sevrity": "info"}, 'TargetDown has no field "sevrity"; did you mean "severity"?'),
        ({"threshold": float("nan")}, "alert TargetDown: can't replace the threshold"),
        ({"threshold": 1, "expr": "up > 0 or up < 2"}, "alert TargetDown: can't replace the threshold"),
        ({"threshold": 1, "expr": "up >"}, "alert TargetDown: can't replace the threshold"),
        ({"threshold": 1, "expr": "up"}, "alert TargetDown: can't replace the threshold"),
    ],
)
def test_a_replacement_that_cannot_be(changes, message):
    with pytest.raises(DefinitionError) as caught:
        alert().replace(**changes)
    assert caught.value.message.startswith(message)
    assert caught.value.place.file == __file__
    assert "\n" not in caught.value.message


def test_a_group_takes_what_a_function_returns():
    inner = Group("inner", [Recording("a:b:c", "up")])
    assert Group("outer", [inner, alert()]).rules == (inner.rules[0], alert())
    with pytest.raises(TypeError, match="group outer: rules must hold Alert, Recording or Group only, not str"):
        Group("outer", ["up == 0"])


def test_a_recording_rule_formats_to_its_name():
    rule = Recording("job:up:sum", "sum by (job) (up)")
    assert f"{rule} > 1" == "job:up:sum > 1"
    assert rule.where(job="x") == 'job:up:sum{job="x"}'


def test_deepcopy():
    assert copy.copy(alert()) == alert()


def inner(**fields):
    return Group("inner", [Recording("a:b:c", "up"), alert(labels={"tier": "gold"})], **fields)


def test_the_labels_of_a_group_in_a_group_go_to_its_rules():
    outer = Group("outer", [inner(labels={"tier": "iron", "team": "x", "site": "a"})], labels={"site": "b"})
    assert [dict(rule.labels) for rule in outer.rules] == [
        {"tier": "iron", "team": "x", "site": "a"},
        {"tier": "gold", "site": "a"},  # the alert's own tier, and the team that is its field
    ]


def test_a_field_left_empty_does_not_hide_the_label_of_a_group():
    outer = Group("outer", [Group("inner", [alert(team="", severity="")], labels={"team": "x", "severity": "info"})])
    assert [dict(rule.labels) for rule in outer.rules] == [{"team": "x", "severity": "info"}]


@pytest.mark.parametrize("field", [{"interval": "1m"}, {"query_offset": "1m"}, {"limit": 3}])
def test_a_group_in_a_group_has_no_settings_of_its_own(field):
    assert len(Group("outer", [inner(**field)], **field).rules) == 2
    assert len(Group("outer", [inner()], **field).rules) == 2
    name, value = next(iter(field.items()))
    with pytest.raises(DefinitionError) as caught:
        Group("outer", [inner(**field), alert()])
    assert caught.value.message.startswith(f"group outer: the group inner in it has {name}={value!r}")
    assert caught.value.place.file == __file__
    assert f"give outer {name}={value!r}" in caught.value.fix
