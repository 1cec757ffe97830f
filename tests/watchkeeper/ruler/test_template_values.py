"""Templates over the engine's own results, histograms among them; what promtool 3.5.3 printed for the same."""

import numpy as np
import pytest

from watchkeeper.engine import Data, Engine, Series
from watchkeeper.engine.histogram import parse_histogram
from watchkeeper.ruler.template import Template, TemplateError, expand

HISTOGRAM = parse_histogram("{{schema:0 sum:5 count:4 z_bucket:1 z_bucket_w:0.001 buckets:[1 2] n_buckets:[1]}}")
PRINTED = "{count:4, sum:5, [-1,-0.5):1, [-0.001,0.001]:1, (0.5,1]:1, (1,2]:2}"
ERROR = (
    "<error expanding template: error executing template __alert_X: "
    'template: __alert_X:1:{} executing "__alert_X" at <{}>: {}>'
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{{ $value }}", PRINTED),
        ('{{ printf "%v|%s|%T" $value $value $value }}', f"{PRINTED}|{PRINTED}|*histogram.FloatHistogram"),
        ("{{ $value.Sum }} {{ $value.Count }} {{ $value.String }}", f"5 4 {PRINTED}"),
        ("{{ $value.Schema }} {{ $value.ZeroThreshold }} {{ $value.ZeroCount }}", "0 0.001 1"),
        ("{{ if $value }}t{{ end }} {{ eq $value $value }}", "t true"),
        ("{{ . }}", f"{{map[a:b] map[]  {PRINTED}}}"),
        (
            "{{ humanize $value }}",
            ERROR.format(
                "115:", "humanize $value", "error calling humanize: can't convert *histogram.FloatHistogram to float"
            ),
        ),
        ("{{ gt $value 1.0 }}", ERROR.format("115:", "gt $value 1.0", "error calling gt: invalid type for comparison")),
        (
            "{{ $value.Foo }}",
            ERROR.format("121:", "$value.Foo", "can't evaluate field Foo in type *histogram.FloatHistogram"),
        ),
        (
            "{{ len $value }}",
            ERROR.format("115:", "len $value", "error calling len: len of type histogram.FloatHistogram"),
        ),
        (
            "{{ toUpper $value }}",
            ERROR.format("123:", "$value", "wrong type for value; expected string; got *histogram.FloatHistogram"),
        ),
        ('{{ query "h" | first | value }}', PRINTED),
    ],
)
def test_histograms(text, expected):
    assert expand(text, {"a": "b"}, HISTOGRAM, alert="X", query=lambda _: [({}, HISTOGRAM)]) == expected


def test_the_engine_answers():
    data = Data([Series({"__name__": "up", "job": name}, [0], [value]) for name, value in (("a", 1.0), ("b", 0.0))])
    engine = Engine()

    def query(expression):
        return engine.instant(data, expression, at=0.0)

    def shown(text):
        return expand(text, (("__name__", "m"), ("job", "a")), np.float64(0.25), alert="X", query=query)

    assert shown("{{ $labels.job }} {{ $value }} {{ printf `%T` $value }}") == "a 0.25 float64"
    assert shown("{{ range query `up` | sortByLabel `job` }}{{ .Labels.job }}={{ .Value }} {{ end }}") == "a=1 b=0 "
    assert shown("{{ query `1 + 1` | first | value }}") == "2"
    assert shown("{{ query `sum(up)` | first | value }}") == "1"
    assert "error calling query: rule result is not a vector or scalar" in shown("{{ query `up[5m]` }}")
    assert "error calling query: 1:" in shown("{{ query `up[` }}")


def test_functions_of_later_versions():
    template = Template(
        "{{ now }}|{{ (toDuration 90.5).String }}|{{ urlQueryEscape `a b&c` }}|{{ toDuration 1 | printf `%T` }}"
    )
    assert template.render({}, 1.0, now=60.5) == "60.5|1m30.5s|a+b%26c|time.Duration"
    with pytest.raises(TemplateError) as caught:
        Template("x\n{{ now }}", alert="A", version="3.5")
    assert str(caught.value) == ('error parsing template __alert_A: template: __alert_A:2: function "now" not defined')
    assert caught.value.position == 5
    Template("{{ now }}", version="3.6")
    with pytest.raises(TemplateError):
        Template('{{ tmpl "a" . }}')


def test_a_text_without_actions_is_left_alone():
    assert Template("50 % {of} a }} kind").render({}, 1.0) == "50 % {of} a }} kind"
    assert Template("a }}").is_plain
    assert not Template("{{ 1 }}").is_plain


def test_nothing_to_query():
    assert "there is nothing to query here" in expand("{{ query `up` }}", {}, 1.0)
    assert expand("{{", {}, 1.0, alert="X") == (
        "<error expanding template: error parsing template __alert_X: template: __alert_X:1: unclosed action>"
    )


def test_labels_are_not_changed():
    labels = {"b": "1", "a": "2"}
    template = Template("{{ range $k, $v := $labels }}{{ $k }}{{ end }}{{ $labels = 3 }}{{ $labels }}")
    assert template.render(labels, 1.0) == template.render(labels, 1.0) == "ab3"
    assert labels == {"b": "1", "a": "2"}
