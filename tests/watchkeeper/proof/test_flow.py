"""What becomes of a label, with reason and place."""

import pytest

from watchkeeper.contract import Counter, Gauge, Histogram
from watchkeeper.promql import parse, walk
from watchkeeper.proof.catalogue import Catalogue
from watchkeeper.proof.flow import GUARANTEED, IMPOSSIBLE, POSSIBLE, Flow

CATALOGUE = Catalogue(
    [
        Gauge("free_bytes", "Of the test.", labels=("gpu",)),
        Counter("errors_total", "Of the test.", labels=("gpu", "code")),
        Histogram("lat_seconds", "Of the test.", labels=("gpu",), buckets=(1,)),
    ],
    ("job", "instance"),
    [("a:b", "sum by (gpu) (free_bytes)", {"team": "x"}), ("a:c", "a:b", {"gpu": ""})],
)
SCALAR = (
    'abs(rate(scylla{conditional="no"}[1m]) - scalar(avg(rate(scylla{conditional="no"}[1m])))) '
    '/ scalar(stddev(rate(scylla{conditional="no"}[1m])) + 100) > 2'
)
BY_RULE = "in the rule that records a:b, sum by (gpu) drops it"
ABSENT = 'absent() has only the labels that its selector gives by "="'
LEFT_NEVER = "the sides never match: a is never there on the left side (sum() keeps no label)"
HAS = "the contract of {} declares it"


def flow_of(text, catalogue=CATALOGUE, *, variables=False):
    tree = parse(text, variables=variables)
    flow = Flow(tuple(walk(tree)), catalogue)
    return flow, flow.of(tree)


@pytest.mark.parametrize(
    ("text", "label", "status", "reason", "part"),
    [
        # pint#681, #568 and #531, all of them false positives there
        (SCALAR, "instance", POSSIBLE, "the labels of scylla are not known", "scylla"),
        (SCALAR, "conditional", GUARANTEED, 'the matcher conditional="no" makes it certain', 'conditional="no"'),
        (
            'label_replace(sum by (pod) (pod_status) > 0, "cluster", "$1", "pod", "(.*)")',
            *("cluster", POSSIBLE, "label_replace() may leave it empty", "label_replace"),
        ),
        (
            'label_replace(sum by (pod) (pod_status{pod!=""}) > 0, "cluster", "$1", "pod", "(.*)")',
            *("cluster", GUARANTEED, "label_replace() sets it", "label_replace"),
        ),
        ("metric > 1 or absent(metric)", "cluster", POSSIBLE, ABSENT, "absent"),
        ("free_bytes > 1 or absent(free_bytes)", "gpu", POSSIBLE, ABSENT, "absent"),
        ("absent(metric)", "cluster", IMPOSSIBLE, ABSENT, "absent"),
        # selectors
        ("free_bytes", "gpu", GUARANTEED, HAS.format("free_bytes"), "free_bytes"),
        ("free_bytes", "job", GUARANTEED, "every scrape puts it on", "free_bytes"),
        ("free_bytes", "x", IMPOSSIBLE, "the contract of free_bytes does not declare it", "free_bytes"),
        ("up", "x", IMPOSSIBLE, "up has no labels but those of its target", "up"),
        ("ALERTS", "alertname", GUARANTEED, "Prometheus puts it on ALERTS", "ALERTS"),
        ("lat_seconds_bucket", "le", GUARANTEED, HAS.format("lat_seconds_bucket"), "lat_seconds_bucket"),
        ("lat_seconds_sum", "le", IMPOSSIBLE, "the contract of lat_seconds_sum does not declare it", "lat_seconds_sum"),
        ('{a="b"}', "x", POSSIBLE, "it is not known which series are selected", '{a="b"}'),
        ('x{a=""}', "a", IMPOSSIBLE, 'the matcher a="" makes it empty', 'a=""'),
        ('x{a!~".+"}', "a", IMPOSSIBLE, 'the matcher a!~".+" makes it empty', 'a!~".+"'),
        ('x{a=~".+"}', "a", GUARANTEED, 'the matcher a=~".+" makes it certain', 'a=~".+"'),
        ('x{a!~"b?"}', "a", GUARANTEED, 'the matcher a!~"b?" makes it certain', 'a!~"b?"'),
        ('x{a=~"b|"}', "a", POSSIBLE, "the labels of x are not known", "x"),
        ('x{a!="b"}', "a", POSSIBLE, "the labels of x are not known", "x"),
        # recording rules
        ("a:b", "job", IMPOSSIBLE, BY_RULE, "a:b"),
        ("a:b", "gpu", GUARANTEED, "the rule that records a:b keeps it", "a:b"),
        ("a:b", "team", GUARANTEED, "the rule that records a:b sets it", "a:b"),
        ("a:c", "gpu", IMPOSSIBLE, "the rule that records a:c takes it away", "a:c"),
        ("a:c", "job", IMPOSSIBLE, BY_RULE, "a:c"),
        # aggregations
        ("sum(free_bytes)", "gpu", IMPOSSIBLE, "sum() keeps no label", "sum"),
        ("sum by (instance) (free_bytes)", "gpu", IMPOSSIBLE, "sum by (instance) drops it", "instance"),
        ("max(free_bytes) by (job, gpu)", "instance", IMPOSSIBLE, "max by (job, gpu) drops it", "job, gpu"),
        ("sum without (job, gpu) (free_bytes)", "gpu", IMPOSSIBLE, "sum without (job, gpu) drops it", "gpu"),
        ("topk(1, free_bytes)", "gpu", GUARANTEED, HAS.format("free_bytes"), "free_bytes"),
        ("sum by (job) (topk by (job) (1, free_bytes))", "gpu", IMPOSSIBLE, "sum by (job) drops it", "job"),
        ('count_values("v", x)', "v", GUARANTEED, "count_values() writes the value into it", "count_values"),
        # operators
        (
            "free_bytes * on (gpu) group_left (code) errors_total",
            *("code", GUARANTEED, f"it is taken from the one side: {HAS.format('errors_total')}", "errors_total"),
        ),
        (
            "sum by (gpu) (errors_total) / on (gpu) group_right free_bytes",
            *("instance", GUARANTEED, "every scrape puts it on", "free_bytes"),
        ),
        ("free_bytes / on (gpu) a:b", "instance", IMPOSSIBLE, "on (gpu) keeps no other label", "gpu"),
        ("x / ignoring (instance) y", "instance", IMPOSSIBLE, "ignoring (instance) drops it", "instance"),
        (
            "x and on (gpu) free_bytes",
            *("gpu", GUARANTEED, f"it must equal that of the other side: {HAS.format('free_bytes')}", "free_bytes"),
        ),
        ("x and sum(y)", "gpu", IMPOSSIBLE, "it must equal that of the other side: sum() keeps no label", "sum"),
        ("x unless on (gpu) free_bytes", "gpu", POSSIBLE, "the labels of x are not known", "x"),
        ("free_bytes or vector(0)", "gpu", POSSIBLE, "vector() has no labels", "vector"),
        ("free_bytes * on (gpu) fill_right (1) a:b", "gpu", GUARANTEED, HAS.format("free_bytes"), "free_bytes"),
        ("time() - free_bytes", "__name__", IMPOSSIBLE, "- drops the metric name", "-"),
        ("free_bytes > 1", "__name__", GUARANTEED, "the selector names the metric", "free_bytes"),
        ("2 * 3", "job", IMPOSSIBLE, "a number has no labels", "*"),
        # functions
        ("rate(errors_total[5m])", "__name__", IMPOSSIBLE, "rate() drops the metric name", "rate"),
        ("last_over_time(free_bytes[5m])", "__name__", GUARANTEED, "the selector names the metric", "free_bytes"),
        ("max_over_time((sum(x))[5m:1m])", "gpu", IMPOSSIBLE, "sum() keeps no label", "sum"),
        (
            "histogram_quantile(0.9, rate(lat_seconds_bucket[5m]))",
            *("le", IMPOSSIBLE, "histogram_quantile() takes the buckets together", "histogram_quantile"),
        ),
        ("vector(1)", "a", IMPOSSIBLE, "vector() has no labels", "vector"),
        ("hour()", "a", IMPOSSIBLE, "hour() has no labels", "hour"),
        ('absent(x{job="a"})', "job", GUARANTEED, 'absent() takes it from job="a"', 'job="a"'),
        ('absent(x{job="a", job!="b"})', "job", IMPOSSIBLE, ABSENT, "absent"),
        ("info(free_bytes)", "version", POSSIBLE, "info() adds it where the info series has it", "info"),
        (
            'info(free_bytes, {version!=""})',
            *("version", GUARANTEED, 'info() drops what has no version!=""', 'version!=""'),
        ),
        (
            'info(free_bytes, {version=~".+"})',
            *("build", IMPOSSIBLE, "the contract of free_bytes does not declare it", "free_bytes"),
        ),
        ('label_join(x, "a", "-", "b", "c")', "a", GUARANTEED, "label_join() sets it", "label_join"),
        ('label_join(x, "a", "", "b")', "a", POSSIBLE, "label_join() may leave it empty", "label_join"),
        ('label_join(free_bytes, "a", "", "gpu")', "a", GUARANTEED, "label_join() sets it", "label_join"),
        ('label_replace(x, "a", "", "", "")', "a", IMPOSSIBLE, "label_replace() makes it empty", "label_replace"),
        ('label_replace(x, "a", "none", "a", "")', "a", GUARANTEED, "label_replace() sets it", "label_replace"),
        (
            'label_replace(free_bytes, "gpu", "$1", "job", "y")',
            *("gpu", POSSIBLE, "label_replace() may leave it empty", "label_replace"),
        ),
        ('label_replace(x, "a", "b", "", "")', "a", GUARANTEED, "label_replace() sets it", "label_replace"),
    ],
)  # fmt: skip
def test_a_label_and_why(text, label, status, reason, part):
    fate = flow_of(text)[1].label(label)
    assert (fate.status, fate.reason, text[fate.start : fate.end]) == (status, reason, part)


@pytest.mark.parametrize(
    ("text", "label", "status"),
    [
        ("$x", "gpu", POSSIBLE),
        ("sum by ($by) (free_bytes)", "gpu", POSSIBLE),
        ("sum by (gpu) (free_bytes > $least)", "gpu", GUARANTEED),
        ("free_bytes > $least", "rack", IMPOSSIBLE),
        ('free_bytes{gpu="$gpu"}', "gpu", GUARANTEED),  # if that is empty, it finds nothing
        ('x{gpu="$gpu"}', "gpu", POSSIBLE),
        ('x{gpu=~"${gpu:regex}"}', "gpu", POSSIBLE),
        ('x{gpu=~"[[gpu]]"}', "gpu", POSSIBLE),
        ("free_bytes{$matchers}", "rack", IMPOSSIBLE),
        ("free_$kind{}", "rack", POSSIBLE),
        ("$op(free_bytes)", "gpu", POSSIBLE),
        ("free_bytes * on ($on) errors_total", "gpu", POSSIBLE),
        ("free_bytes * on (gpu) group_left ($more) errors_total", "code", POSSIBLE),
        ('label_replace(free_bytes, "$to", "x", "job", ".*")', "rack", POSSIBLE),
        ('label_replace(x, "to", "$value", "job", "")', "to", POSSIBLE),
        ('absent(x{gpu="$gpu"})', "gpu", POSSIBLE),
        ("absent(x{$matchers})", "gpu", POSSIBLE),
        ('count_values("$name", x)', "any", POSSIBLE),
    ],
)
def test_a_dashboard_variable_may_be_anything(text, label, status):
    assert flow_of(text, variables=True)[1].label(label).status == status


@pytest.mark.parametrize(
    ("text", "reason", "part"),
    [
        ('x{a="1",a="2"}', 'no value passes a="1" and a="2"', 'a="2"'),
        ('x{a="1",a!="1"}', 'no value passes a="1" and a!="1"', 'a!="1"'),
        ('x{a="1",a=~"2.*"}', 'no value passes a="1" and a=~"2.*"', 'a=~"2.*"'),
        ('x{a=~"1|2",a!~"1|2"}', 'no value passes a=~"1|2" and a!~"1|2"', 'a!~"1|2"'),
        ('x{a=~"b.*",a=""}', 'no value passes a=~"b.*" and a=""', 'a=""'),
        (
            'free_bytes{rack="1"}',
            'rack="1" asks for what is not there: the contract of free_bytes does not declare it',
            'rack="1"',
        ),
        (
            'free_bytes{gpu=""}',
            'gpu="" asks for series without the label, but the contract of free_bytes declares it',
            'gpu=""',
        ),
        ('sum(x{a="1",a="2"})', 'no value passes a="1" and a="2"', 'a="2"'),
        ('y and x{a="1",a="2"}', 'no value passes a="1" and a="2"', 'a="2"'),
        ('count(x{a="1",a="2"}) == 0', 'no value passes a="1" and a="2"', 'a="2"'),
        ("x unless (x)", "what is taken away is the same as what is there", "unless"),
        ("vector(1) > 2", "the comparison of two numbers is never true", ">"),
        ("x > 5 < 3", "no number passes both comparisons", "<"),
        ("x > 5 and x < 3", "no number passes both comparisons", "and"),
        ("clamp(x, 2, 1)", "its minimum is above its maximum", "clamp"),
        ('x{a="1"} / x{a="2"}', 'the sides never match: a is "1" on the left side and "2" on the right side', "/"),
        (
            'x{a="1"} * sum(x)',
            'the sides never match: a is "1" on the left side and never there on the right side (sum() keeps no label)',
            "*",
        ),
        (
            "sum(x) * on (a) group_right x{a=~'.+'}",
            LEFT_NEVER + ' and always there on the right side (the matcher a=~".+" makes it certain)',
            "*",
        ),
    ],
)
def test_what_can_only_be_empty(text, reason, part):
    found = flow_of(text)[1].empty
    assert found is not None
    assert (found[0], text[found[1] : found[2]]) == (reason, part)


@pytest.mark.parametrize(
    "text",
    [
        'x{a="1",a="2"} or y', 'y or x{a="1",a="2"}', 'y unless x{a="1",a="2"}', 'absent(x{a="1",a="2"})',
        'scalar(x{a="1",a="2"}) > bool 1', 'free_bytes{rack=""}', 'x{a="1",a=~".*"}', 'x{a=~"1.*",a=~"2.*"}',
        "x unless on (a) y", "x > 5 and on (a) x < 3", '{a="b"} > 5 and {a="b"} < 3', "x >= 5 <= 5",
        'x{a="1"} / ignoring (a) x{a="2"}', 'x{a="1"} and (y{a="2"} or z{a="1"})', 'x{a="1"} * fill (0) sum(x)',
        'x{a="1"} unless sum(x)', "free_bytes / on (gpu) errors_total", 'x{a="$v",a="w"}', "vector(1) and x",
    ],
)  # fmt: skip
def test_what_need_not_be_empty(text):
    assert flow_of(text)[1].empty is None


def test_an_unless_in_vain_is_seen_although_the_result_is_not_empty():
    flow, labels = flow_of('x{a="1"} unless sum(x)')
    assert labels.empty is None
    assert len(flow.causes) == 1


def test_names_are_all_that_can_be_there():
    labels = flow_of("free_bytes or errors_total")[1]
    assert labels.names() == {"gpu", "code", "job", "instance"}
    assert labels.guaranteed() == {"gpu", "job", "instance"}
    assert [branch.label("code").status for branch in labels.branches] == [IMPOSSIBLE, GUARANTEED]
    assert [branch.source.metric_name for branch in labels.branches] == ["free_bytes", "errors_total"]
    assert flow_of("free_bytes or x")[1].names() is None
    assert flow_of("sum(x)")[1].names() == frozenset()


def test_of_many_branches_the_last_are_taken_together():
    labels = flow_of(" or ".join(f'x{{a{index}="1", b="{index}"}}' for index in range(100)))[1]
    assert len(labels.branches) == 32
    assert labels.label("b").status == GUARANTEED
    assert labels.label("a99").status == POSSIBLE


@pytest.mark.parametrize("operator", [" + ", " or ", " unless "])
def test_chains_may_be_long(operator):
    text = operator.join(f"x{index}" for index in range(3000))
    assert flow_of(text)[1].label("gpu").status == POSSIBLE
    assert flow_of("(" * 100 + "sum(x)" + ")" * 100)[1].label("gpu").status == IMPOSSIBLE


# The catalogue


def test_rules_that_record_one_name_share_what_all_of_them_have():
    rules = [("r", "sum by (a, b) (x)", {}), ("r", "sum by (a) (x)", {})]
    catalogue = Catalogue([Gauge("x", "Of the test.", labels=("a", "b"))], ("job",), rules)
    known = catalogue.get("r")
    assert (known.labels, known.guaranteed) == ({"a", "b"}, {"a"})
    label = flow_of("r", catalogue)[1].label("b")
    assert (label.status, label.reason) == (POSSIBLE, "in the rule that records r, sum by (a) drops it")


def test_a_chain_of_rules_may_be_long_and_go_round():
    rules = [(f"r:{index}", f"r:{index + 1}", {}) for index in range(5000)]
    catalogue = Catalogue(recordings=[*rules, ("r:5000", "sum by (gpu) (x)", {})])
    assert catalogue.get("r:0").labels == {"gpu"}
    assert flow_of("r:0", catalogue)[1].label("job").reason == "in the rule that records r:5000, sum by (gpu) drops it"
    rules = [(f"r:{index}", f"x and on (job) (r:{index + 1} or z)", {}) for index in range(5000)]
    catalogue = Catalogue(recordings=[*rules, ("r:5000", "sum by (gpu) (x)", {})])
    assert (
        flow_of("r:0", catalogue)[1].label("job").reason
        == "in the rule that records r:0, the labels of x are not known"
    )
    rules = [(f"r:{index}", f"x and on (job) r:{index + 1}", {}) for index in range(5000)]
    catalogue = Catalogue(recordings=[*rules, ("r:5000", "sum by (gpu) (x)", {})])
    assert flow_of("r:0", catalogue)[1].label("job").reason == "in the rule that records r:5000, sum by (gpu) drops it"
    rules = [(f"r:{index}", f"r:{index + 1}", {}) for index in range(5000)]
    catalogue = Catalogue(recordings=[*rules, ("r:5000", "sum by (gpu) (r:0)", {})])
    assert catalogue.get("r:0").labels == {"gpu"}
    assert Catalogue(recordings=[("r:1", "r:1", {})]).get("r:1").labels is None
    assert Catalogue(recordings=[("r:1", "sum(", {})]).get("r:1").labels is None


def test_without_target_labels_series_may_have_any():
    known = Catalogue([Gauge("x", "Of the test.", labels=("a",))]).get("x")
    assert (known.labels, known.guaranteed, known.kind) == (None, {"a"}, "gauge")
    catalogue = Catalogue(recordings=[("name", "sum(x)", {}), ("level:name", "sum(x)", {})], closed=False)
    assert catalogue.get("name").labels is None  # it does not look like a rule's: others may expose it
    assert catalogue.get("level:name").labels == frozenset()
    assert catalogue.get("gone") is None
    assert {"up", "name", "level:name"} <= set(catalogue.names())
