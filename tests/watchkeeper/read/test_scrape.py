"""What a scrape or a server says is published."""

import pytest

from watchkeeper.read.scrape import Published, ScrapeError, data_of, of_metadata, of_scrape, together


def found(text):
    """Return kind and labels by series name."""
    return {one.name: (one.kind, " ".join(sorted(one.labels))) for one in of_scrape(text)}


TEXT = """\
# HELP requests_total Requests.
# TYPE requests_total counter
requests_total{code="200",path="/a b{}\\"\\\\"} 1027 1395066363000
requests_total{code="500", path=""} 3e+08
# TYPE temperature gauge
temperature -3.5
# TYPE latency histogram
latency_bucket{le="0.1"} 1
latency_bucket{le="+Inf"} 2
latency_sum NaN
latency_count 2
# TYPE size summary
size{quantile="0.5"} 1
size_sum +Inf
size_count 0x1p-2
# TYPE odd untyped
odd{} 5
\tplain\t1

"""


def test_the_text_format():
    assert found(TEXT) == {
        "requests_total": ("counter", "code"),
        "temperature": ("gauge", ""),
        "latency_bucket": ("counter", "le"),
        "latency_sum": ("counter", ""),
        "latency_count": ("counter", ""),
        "size": ("gauge", "quantile"),
        "size_sum": ("counter", ""),
        "size_count": ("counter", ""),
        "odd": ("unknown", ""),
        "plain": ("unknown", ""),
    }


OPENMETRICS = """\
# TYPE requests counter
# UNIT requests requests
requests_total{a="b"} 1 # {trace_id="x y"} 0.5 1.2
requests_created{a="b"} 1.5e9
# TYPE heap gaugehistogram
# UNIT heap bytes
heap_bucket{le="+Inf"} 1
heap_gcount 1
heap_gsum 1
# TYPE build info
build_info{version="1"} 1
# TYPE mode stateset
mode{mode="on"} 1
# EOF
"""


def test_openmetrics():
    assert found(OPENMETRICS) == {
        "requests_total": ("counter", "a"),
        "requests_created": ("gauge", "a"),
        "heap_bucket": ("unknown", "le"),
        "heap_gcount": ("gauge", ""),
        "heap_gsum": ("gauge", ""),
        "build_info": ("gauge", "version"),
        "mode": ("gauge", "mode"),
    }
    assert {one.unit for one in of_scrape(OPENMETRICS) if one.name.startswith("heap")} == {"bytes"}


def test_utf8_names():
    text = '# TYPE "http.requests" counter\n{"http.requests","a.b"="c",d="e"} 1\n{"say \\"x\\""} 2\n'
    assert found(text) == {"http.requests": ("counter", "a.b d"), 'say "x"': ("unknown", "")}


def test_line_ends_and_no_end():
    assert found("a 1\r\nb 2") == {"a": ("unknown", ""), "b": ("unknown", "")}


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("", 0),
        ("# TYPE a counter\n", 0),
        ("<!doctype html>\n", 1),
        ('{"status":"success"}', 1),
        ("a 1\nhello\n", 2),
        ("a1\n", 1),
        ("a one\n", 1),
        ("a 0+1x10\n", 1),
        ('a{b="c" 1\n', 1),
        ('a{b="c"}\n', 1),
        ("{} 1\n", 1),
        ("groups:\n- name: a\n", 1),
        ('a{b="' + "\\" * 100_001, 1),
        ("a{" + '"' * 100_001, 1),
    ],
    ids=range(14),
)
def test_what_is_no_scrape(text, line):
    with pytest.raises(ScrapeError) as caught:
        of_scrape(text)
    assert caught.value.line == line


def test_metadata():
    metadata = {
        "requests_total": [{"type": "counter", "unit": ""}],
        "latency": [{"type": "histogram", "unit": "seconds", "help": ""}],
        "gone": [{"type": "gauge"}],
    }
    names = ["requests_total", "latency", "latency_bucket", "job:up:sum"]
    assert {one.name: (one.kind, one.unit) for one in of_metadata(metadata, names)} == {
        "requests_total": ("counter", ""),
        "latency": ("histogram", "seconds"),  # a native one
        "latency_bucket": ("counter", "seconds"),
        "job:up:sum": ("unknown", ""),
    }


@pytest.mark.parametrize("answer", [None, [], 5, {"a": []}, {"a": {}}, {"a": [5]}, {"a": [{}]}, {"a": None}, {}])
def test_what_is_no_metadata(answer):
    with pytest.raises(ScrapeError):
        of_metadata(answer, [] if answer == {} else ["a"])


def test_names_that_are_none():
    for names in (5, None, {}):
        with pytest.raises(ScrapeError):
            of_metadata({}, names)


@pytest.mark.parametrize("body", [b"", b"\xff", b"[]", b"5", b'{"status":"error","error":"no"}', b"[" * 100_000, b"{}"])
def test_what_is_no_answer(body):
    with pytest.raises(ScrapeError):
        data_of(body)


def test_several_say_what_all_of_them_say():
    (one,) = together([
        Published("a", "unknown", "", frozenset("xy")),
        Published("a", "counter", "bytes", frozenset("yz")),
    ])  # fmt: skip
    assert (one.kind, one.unit, one.labels) == ("counter", "bytes", frozenset("y"))
    (one,) = together([Published("a", "gauge", "bytes"), Published("a", "counter", "seconds")])
    assert (one.kind, one.unit) == ("unknown", "")
    assert [one.name for one in together([Published("a", "gauge"), Published("b", "gauge")])] == ["a", "b"]
