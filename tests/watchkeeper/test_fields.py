"""Values of wrong types in definitions: put right where it is plain what is meant, else one clear error."""

import pytest

from watchkeeper import Alert, Counter, Gauge, Group, Histogram, Pack, Recording, Runbook, Severity
from watchkeeper.fields import FieldError
from watchkeeper.findings import Place

UP = Gauge("up", "Whether the scrape worked.", external=True)
SUM = Recording("job:up:sum", "sum by (job) (up)")


def alert(name="TargetDown", **changes):
    fields = {"expr": "up == 0", "severity": "critical", "team": "sre", "summary": "Down", "runbook": "down"}
    return Alert(name, **{**fields, **changes})


class Loud(str):
    __slots__ = ()

    def __str__(self):
        raise SystemExit(0)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: alert(expr=None), "alert TargetDown: expr must be a string of PromQL, not NoneType"),
        (lambda: alert(expr=5), "alert TargetDown: expr must be a string of PromQL, not int"),
        (lambda: alert(expr=b"up"), "alert TargetDown: expr must be a string of PromQL, not bytes"),
        (lambda: alert(expr=["up"]), "alert TargetDown: expr must be a string of PromQL, not list"),
        (lambda: alert(severity=None), "alert TargetDown: severity must be a string, not NoneType"),
        (lambda: alert(team=None), "alert TargetDown: team must be a string, not NoneType"),
        (lambda: alert(team=5), 'alert TargetDown: team must be a string, not int: write "5"'),
        (lambda: alert(team=[]), "alert TargetDown: team must be a string, not list"),
        (lambda: alert(team=True), "alert TargetDown: team must be a string, not bool"),
        (lambda: alert(runbook=5), 'alert TargetDown: runbook must be a string, not int: write "5"'),
        (lambda: alert(for_=300), 'alert TargetDown: for_ must be a string, not int: write "300s"'),
        (lambda: alert(None), "alert: name must be a string, not NoneType"),
        (lambda: alert(()), "alert: name must be a string, not tuple"),
        (lambda: Recording(b"x", "up"), "recording rule: name must be a string, not bytes"),
        (lambda: Recording("a:b", None), "recording rule a:b: expr must be a string of PromQL, not NoneType"),
        (
            lambda: alert(labels=None),
            'alert TargetDown: labels must be a dict of strings, such as {"tier": "gold"}',
        ),
        (lambda: alert(labels={1: 2}), 'alert TargetDown: labels must have strings as keys, not int: write "1"'),
        (lambda: alert(labels={"a": None}), 'alert TargetDown: labels must hold strings only, not NoneType for "a"'),
        (
            lambda: alert(annotations={"a": 2}),
            "alert TargetDown: annotations must hold strings only, not int for",
        ),
        (
            lambda: Recording("a:b", "up", labels={"a": ["x"]}),
            "recording rule a:b: labels must hold strings only, not",
        ),
        (lambda: Group(None, []), "group: name must be a string, not NoneType"),
        (lambda: Group("g", None), "group g: rules must be a list or tuple of Alert, Recording or Group, not NoneType"),
        (
            lambda: Group("g", SUM),
            "group g: rules must be a list or tuple of Alert, Recording or Group, not Recor",
        ),
        (
            lambda: Group("g", {SUM}),
            "group g: rules must be a list or tuple of Alert, Recording or Group, not set:",
        ),
        (lambda: Group("g", ["up"]), "group g: rules must hold Alert, Recording or Group only, not str"),
        (lambda: Group("g", [], interval=5), 'group g: interval must be a string, not int: write "5s"'),
        (lambda: Group("g", [], limit="5"), "group g: limit must be a whole number, not str"),
        (lambda: Group("g", [], limit=True), "group g: limit must be a whole number, not bool"),
        (lambda: Group("g", [], limit=10**30), "group g: limit must be below 9223372036854775808"),
        (lambda: Group("g", [], limit=10**5000), "group g: limit must be below 9223372036854775808"),
        (lambda: Pack(groups=None), "pack: groups must be a list or tuple of Group, not NoneType"),
        (lambda: Pack(metrics=UP), "pack: metrics must be a list or tuple of Metric, not Gauge: write (x,), the comma"),
        (lambda: Pack(metrics=("up",)), "pack: metrics must hold Metric only, not str"),
        (lambda: Pack(groups=({"name": "g"},)), "pack: groups must hold Group only, not dict"),
        (lambda: Pack(dashboards={"uid": "x"}), "pack: dashboards must be a list or tuple of dashboards, not dict"),
        (lambda: Pack(target_labels=None), "pack: target_labels must be a list or tuple of names, not NoneType"),
        (lambda: Pack(target_labels=(5,)), 'pack: target_labels must hold strings only, not int: write "5"'),
        (lambda: Pack(target_labels="job"), 'pack: target_labels must be a tuple of names, such as ("job",)'),
        (lambda: Pack(runbooks=("x",)), "pack: runbooks must hold Runbook only, not str"),
        (
            lambda: Pack.discover("x", target_labels="job"),
            "Pack.discover: target_labels must be a tuple of names, such",
        ),
        (lambda: Pack.discover(["x"]), "Pack.discover: packages must hold strings only, not list"),
        (lambda: Pack.discover(runbooks=5), 'Pack.discover: runbooks must be a string, not int: write "5"'),
        (lambda: Pack().replace(None), "Pack.replace: name must be a string, not NoneType"),
        (lambda: Pack().without("x", reason=None), "Pack.without: reason must be a string, not NoneType"),
        (
            lambda: Pack().reassign(None),
            'Pack.reassign: teams must be a dict of strings, such as {"tier": "gold"}',
        ),
        (lambda: Pack().reassign({"sre": None}), 'Pack.reassign: teams must hold strings only, not NoneType for "sre"'),
        (lambda: Gauge(None, "x"), "gauge: name must be a string, not NoneType"),
        (lambda: Gauge("x", None), "gauge x: help must be a string, not NoneType"),
        (lambda: Counter("x_total", 5), 'counter x_total: help must be a string, not int: write "5"'),
        (lambda: Gauge("x", "h", labels=(5,)), 'gauge x: labels must hold strings only, not int: write "5"'),
        (lambda: Gauge("x", "h", labels=None), "gauge x: labels must be a list or tuple of names, not NoneType"),
        (lambda: Gauge("x", "h", external="no"), "gauge x: external must be True or False, not str"),
        (lambda: Histogram("x", "h", buckets=5), "histogram x: buckets must be a list or tuple of numbers, not int"),
        (lambda: Histogram("x", "h", buckets=("a",)), "histogram x: buckets must hold numbers only, not str"),
        (
            lambda: Histogram("x", "h", buckets=(10**400,)),
            "histogram x: buckets must hold numbers that a float",
        ),
        (lambda: UP.where(gpu=0), 'up: gpu must be a string, not int: write "0"'),
        (lambda: UP.where(gpu=None), "up: gpu must be a string, not NoneType"),
        (lambda: Runbook("x", None, Place("x.md")), "runbook x: text must be a string, not NoneType"),
    ],
)
def test_a_wrong_type_is_told_with_its_field(make, message):
    with pytest.raises(FieldError) as caught:
        make()
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("value", [UP, SUM, Histogram("x_seconds", "x").count])
def test_what_has_a_name_in_promql_stands_for_it(value):
    assert alert(expr=value).expr == Recording("a:b", value).expr == value.name


def test_texts_become_exact_strings():
    made = alert(Loud("Loud"), summary=Loud("Down"), labels={Loud("a"): Loud("b")}, expr=Loud("up"))
    values = [made.name, made.summary, made.expr, *made.labels, *made.labels.values()]
    assert values == ["Loud", "Down", "up", "a", "b"]
    assert {type(value) for value in values} == {str}
    assert type(Gauge(Loud("x"), "h", labels=[Loud("gpu")]).labels[0]) is str


def test_a_severity_by_its_name_is_that_severity():
    assert alert(severity="warning").severity is Severity.WARNING
    assert alert(severity="loud").severity == "loud"  # a check tells of it


def test_lists_become_tuples():
    pack = Pack(metrics=[UP], groups=[Group("g", (rule for rule in [SUM]))], target_labels=["job"])
    assert (pack.metrics, pack.groups[0].rules, pack.target_labels) == ((UP,), (SUM,), ("job",))
