"""What query variables ask for, as Grafana reads them."""

import time

import pytest

from watchkeeper.variable_query import variable_query


@pytest.mark.parametrize(
    ("query", "expr", "label"),
    [
        ("label_values(job)", "", "job"),
        ("label_values(up, job)", "up", "job"),
        (' label_values( up{a=~"b, c"} ,  job ) ', 'up{a=~"b, c"}', "job"),
        ('label_values({__name__=~"a|b"}, job)', '{__name__=~"a|b"}', "job"),
        ('label_values(up, "service.name")', "up", "service.name"),
        ("label_values($metric, job)", "$metric", "job"),
        ("label_values($metric, $label)", "$metric", ""),
        ("label_values(${env}_total{a='$b'}, [[label]])", "${env}_total{a='$b'}", ""),
        ("label_values($label)", "", ""),
        ("query_result(topk(5, sum by (a) (up)))", "topk(5, sum by (a) (up))", ""),
        ("query_result( up )", "up", ""),
        ("metrics(node_.*)", "", ""),
        ("label_names()", "", ""),
        ("up", "", ""),
        ("", "", ""),
    ],
)
@pytest.mark.parametrize("wrap", [lambda q: q, lambda q: {"query": q, "refId": "A"}, lambda q: {"spec": {"query": q}}])
def test_queries(query, expr, label, wrap):
    found = variable_query({"type": "query", "query": wrap(query)})
    assert (found.text, found.expr, found.label) == (query, expr, label)
    assert found.text[found.expr_at :].startswith(expr)
    assert found.text[found.label_at :].startswith(label)


@pytest.mark.parametrize(
    "variable",
    [
        {"type": "custom", "query": "a,b"},
        {"type": "query"},
        {"type": "query", "query": None},
        {"type": "query", "query": {"label": "app", "type": 1}},
        {"type": "query", "query": {"query": 1}},
        {"query": "label_values(job)"},
    ],
)
def test_what_is_no_text_is_none(variable):
    assert variable_query(variable) is None


@pytest.mark.parametrize(
    "text", ["label_values(" + " " * 50_000, "label_values(" + "a," * 50_000, "query_result(" * 9999]
)
def test_long_texts_take_no_time(text):
    start = time.process_time()
    assert variable_query({"type": "query", "query": text}).expr == ""
    assert time.process_time() - start < 1
