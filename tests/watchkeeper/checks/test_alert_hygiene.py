"""How alerts are written: what is told, how surely, and what passes."""

import pytest

from watchkeeper import Alert, Gauge, Group, Pack
from watchkeeper.building import build
from watchkeeper.settings import Settings


def alert(expr="up == 0", name="A", **more):
    return {"alert": name, "expr": expr, **more}


def shown(finding):
    return finding.excerpt.text[finding.excerpt.start : finding.excerpt.end]


def told(found):
    return [(one.severity, one.message.partition(": ")[2]) for one in found]


def of_definitions(root, check, *rules, metrics=(), **group):
    _, found = build(Pack(metrics=metrics, groups=(Group("g", list(rules), **group),)), Settings(root=root))
    return [one for one in found if one.check == check]


def defined(expr, **more):
    return Alert("A", expr=expr, **{"severity": "info", "team": "sre", "summary": "S", "runbook": "r", **more})


# alert/for

_SHORT = ("warning", "keep_firing_for: 9s is shorter than the interval of its group, 1h")


@pytest.mark.parametrize(
    ("field", "value", "interval", "expected"),
    [
        ("for", "0s", None, ("note", "for: 0s says nothing")),
        ("for", "0", "1m", ("note", "for: 0 says nothing")),
        ("keep_firing_for", "0m", None, ("note", "keep_firing_for: 0m says nothing")),
        ("for", "10s", "1m", ("warning", "for: 10s is shorter than the interval of its group, 1m")),
        ("keep_firing_for", "9s", "1h", _SHORT),
        ("for", "1m", "1m", ("note", "for: 1m is shorter than two intervals of its group, 1m each")),
        ("for", "119s", "1m", ("note", "for: 119s is shorter than two intervals of its group, 1m each")),
        ("for", "2m", "1m", None),
        ("keep_firing_for", "1m", "1m", None),
        ("for", "10s", None, None),  # how often the server evaluates is not known
        ("for", "10s", "0s", None),
        ("for", "ten", "1m", None),  # told by another
    ],
)  # fmt: skip
def test_waiting_times(anyone, field, value, interval, expected):
    group = anyone.group(alert(**{field: value}), **({"interval": interval} if interval else {}))
    found = anyone.findings("alert/for", group)
    assert told(found) == ([expected] if expected else [])
    assert [shown(one) for one in found] == [value] * len(found)


def test_a_group_of_waiting_times_that_say_nothing(anyone):
    rules = [alert("x > 5", **{"for": "2m"}), *(alert(f"x > {n}", **{"for": "0m"}) for n in range(3))]
    found = anyone.findings("alert/for", anyone.group(*rules))
    assert told(found) == [("note", "for: 0m says nothing, nor do 2 more of the group")]
    found = anyone.findings("alert/for", anyone.group(*rules[:3]))
    assert told(found) == [("note", "for: 0m says nothing, nor does 1 more of the group")]


@pytest.mark.parametrize("expr", ["absent(up)", "up == 0 or absent(up)", '(absent(up{job="x"}) == 1)'])
def test_absence_that_nothing_waits_for(anyone, expr):
    (finding,) = anyone.findings("alert/for", alert(expr))
    assert (finding.severity, shown(finding)) == ("note", "absent")
    assert anyone.findings("alert/for", alert(expr, **{"for": "5m"})) == []


@pytest.mark.parametrize("expr", ["absent_over_time(up[5m])", "absent_jobs > 0", "up unless absent(x)", "absent(", "1"])
def test_what_is_no_absence(anyone, expr):
    assert anyone.findings("alert/for", alert(expr)) == []


# alert/flapping


@pytest.mark.parametrize(
    "expr",
    [
        "increase(x_total[5m]) > 0",
        "increase(x_total[5m]) >= 1",
        "0 < increase(x_total[5m])",
        "sum by (job) (increase(x_total[5m])) > 0",
        "(changes(x[10m]) != 0) and on (a) y == 1",
        "max(rate(x_total[5m:1m])) > 0 unless z",
        "z == 1 or resets(x_total[15m]) > 0",
    ],
)
def test_an_event_that_is_soon_forgotten(anyone, expr, tmp_path):
    (finding,) = anyone.findings("alert/flapping", alert(expr))
    assert finding.severity == "note"
    assert "style point" in finding.why
    (finding,) = of_definitions(tmp_path, "alert/flapping", defined(expr))
    assert finding.severity == "warning"
    assert anyone.findings("alert/flapping", alert(expr), prometheus=(2, 41)) == []
    for more in ({"keep_firing_for": "10m"}, {"for": "2m"}):
        assert anyone.findings("alert/flapping", alert(expr, **more)) == []
    assert anyone.findings("alert/flapping", alert(expr, **{"for": "0s"}))


def test_how_long_it_lasts_is_told_where_it_is_written(anyone):
    (finding,) = anyone.findings("alert/flapping", alert("up == 0 or increase(x_total[7m]) > 0"))
    assert finding.message == "alert A: it ends 7m after the last event, whether someone has looked or not"
    assert shown(finding) == "increase(x_total[7m]) > 0"


@pytest.mark.parametrize(
    "expr",
    [
        "increase(x_total[1h]) > 0",
        "increase(x_total[5m]) > 3",
        "increase(x_total[5m]) == 0",
        "rate(x_total[5m]) > 0.1",
        "x > 0",
        "up == 0 and increase(x_total[5m]) > 0",
        "count(increase(x_total[5m]) > 0) > 3",
        "sum(a) / sum(b) > 0",
        "increase(x_total[5m]) > on (a) y",
        "(",
    ],
)
def test_what_is_no_event(anyone, expr):
    assert anyone.findings("alert/flapping", alert(expr)) == []


# alert/summary


@pytest.mark.parametrize(
    ("annotations", "severity"),
    [
        ({}, "note"),
        ({"summary": " ", "description": ""}, "note"),
        ({"description": "It is down"}, "note"),
        ({"message": "It is down"}, "note"),
        ({"title": "Down"}, "note"),
        ({"summary": "x" * 201}, "note"),
        ({"summary": "x\ny"}, "note"),
        ({"summary": "x", "description": "x "}, "note"),
    ],
)
def test_summaries(anyone, annotations, severity):
    (finding,) = anyone.findings("alert/summary", alert(annotations=annotations))
    assert finding.severity == severity
    assert "style point" in finding.why


def test_a_group_without_summaries(anyone):
    rules = [alert(f"x > {n}", annotations={"message": "It is down"}) for n in range(3)]
    (finding,) = anyone.findings("alert/summary", anyone.group(*rules))
    assert finding.message == "alert A has no summary, nor have 2 more of the group"
    assert "message may tell more" in finding.fix
    two = anyone.findings("alert/summary", anyone.group(alert(annotations={}), *rules[:2]))
    assert [one.message.partition(":")[0] for one in two] == [
        "alert A says nothing",
        "alert A has no summary, nor has 1 more of the group",
    ]


@pytest.mark.parametrize("summary", ["Down", "Down\n", "x" * 200])
def test_summaries_that_are_fine(anyone, summary):
    assert anyone.findings("alert/summary", alert(annotations={"summary": summary, "description": "more"})) == []
    assert anyone.findings("alert/summary", {"record": "a:b", "expr": "up"}) == []


# alert/severity


def test_severities_of_files(anyone):
    def found(own, **group):
        return anyone.findings("alert/severity", anyone.group(alert(labels=own), **group))

    assert [one.severity for one in found({})] == ["note"]
    (typo,) = found({"severity": "critcal"})
    assert (typo.severity, shown(typo)) == ("warning", "critcal")
    assert typo.message.endswith('did you mean "critical"?')
    assert found({}, labels={"severity": "waring"})[0].severity == "warning"
    for severity in ("critical", "page", "none", "P1", "sev2", "Critical", "WARN", "{{ $labels.severity }}", "ticket"):
        assert found({"severity": severity}) == []
    assert found({}, labels={"severity": "page"}) == []


def test_a_group_without_severities(anyone):
    rules = [alert(f"x > {n}", labels={"level": "high"}) for n in range(3)]
    (finding,) = anyone.findings("alert/severity", anyone.group(*rules))
    assert finding.message == "alert A has no severity, nor have 2 more of the group"


# alert/identity

POST_MORTEM = (
    "(sum(torch_cuda_memory_reserved_bytes) - sum(torch_cuda_memory_allocated_bytes))"
    " / sum(torch_cuda_memory_reserved_bytes) > 0.3"
)


@pytest.mark.parametrize(
    ("expr", "severity", "at"),
    [
        (POST_MORTEM, "warning", "sum(torch_cuda_memory_reserved_bytes)"),
        ("1 - sum(free_bytes) / (sum(free_bytes) + sum(used_bytes)) > 0.9", "warning", "sum(free_bytes)"),
        ("100 * ((avg(a_bytes) - avg(b_bytes)) / avg(a_bytes)) > 30 and up", "warning", "avg(a_bytes)"),
        ("1 - sum(a_free) / (sum(a_free) + sum(a_used)) > 0.9", "note", "sum(a_free)"),
        ("sum(node_memory_Free_bytes) / sum(node_memory_Total_bytes) < 0.1", "note", "sum(node_memory_Free_bytes)"),
        ('sum(a_b_x_bytes{job="j"}) / sum(a_b_y_bytes{job="j"}) < 0.1', "note", 'sum(a_b_x_bytes{job="j"})'),
    ],
)  # fmt: skip
def test_one_that_is_hidden_among_many(anyone, expr, severity, at):
    (finding,) = anyone.findings("alert/identity", alert(expr))
    assert (finding.severity, shown(finding)) == (severity, at)
    assert "one bad instance is hidden" in finding.message


@pytest.mark.parametrize(
    "expr",
    [
        "sum(rate(errors_total[5m])) / sum(rate(requests_total[5m])) > 0.05",
        "sum by (instance) (a_free) / sum by (instance) (a_total) < 0.1",
        "count(up == 0) / count(up) > 0.5",
        'sum(up{job="etcd"} == bool 1) < 2',
        'sum(kube_pod_status_phase{phase="Failed"}) / sum(kube_pod_status_phase) > 0.1',
        'sum(kube_resourcequota{type="hard"}) / sum(kube_node_status_allocatable{resource="cpu"}) > 1.5',
        "sum(quota_cpu) / sum(node_cpu_cores) > 1.5",
        "sum(node_cpu_threads_free) / sum(node_cpu_threads) > 1.5",
        "sum(namespace_cpu:kube_pod_container_resource_requests:sum) / sum(kube_node_cpu) > 1",
        "sum(a) - sum(b) > 0",
        "sum(queue_length) > 100",
        "avg(up) < 0.5",
        "avg(queue_length) > 5",
        "sum(up) / count(up) < 0.5",
        "sum(up) / (sum(up) + sum(down)) < 0.5",
        "avg(a_bytes) / avg(a_bytes offset 1h) > 2",
        'sum(a_bytes{kind!="x"}) / (sum(a_bytes) + sum(b_bytes)) > 0.1',
        'sum(a{pod="x"}) / (sum(a{pod="x"}) + sum(b{pod="x"})) > 1',
        "absent(sum(a))",
        "a_free / a_total < 0.1",
        "max(a) / (max(a) + max(b)) > 0.3",
    ],
)
def test_sums_of_everything_that_are_meant(anyone, expr):
    assert anyone.findings("alert/identity", alert(expr)) == []


def test_a_contract_tells_quantities_from_states(tmp_path):
    heat = Gauge("gpu_temperature_celsius", "Heat.", labels=("gpu",), unit="celsius")
    ready = Gauge("gpu_ready", "Whether it is ready.", labels=("gpu",))
    for expr, count in (("avg(gpu_temperature_celsius) > 80", 1), ("avg(gpu_ready) < 0.9", 0)):
        found = of_definitions(tmp_path, "alert/identity", defined(expr), metrics=(heat, ready))
        assert [one.severity for one in found] == ["warning"] * count
