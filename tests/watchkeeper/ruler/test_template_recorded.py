"""Templates as Prometheus expands them: templates.json holds what promtool and a server printed, once and for all."""

import json
from pathlib import Path

import pytest

from watchkeeper.ruler.template import Template, TemplateError, expand

RECORDED = json.loads((Path(__file__).parent / "templates.json").read_text())
CASES = RECORDED["cases"]
# What 2.42 has not: `range` over a number, `else with`, and values of any type; its words for some errors are others.
NEWER = [case for case in CASES if "2.42" in case]


def query(expression):
    if expression in RECORDED["failing_queries"]:
        raise ValueError(RECORDED["failing_queries"][expression])
    return [(labels, value) for labels, value in RECORDED["queries"][expression]]


def outcome(case):
    context = RECORDED["contexts"][case["at"]]
    alert = RECORDED["alert"]
    try:
        Template(case["input"], alert=alert, version="3.5")
    except TemplateError as error:
        return "refused", error.detail
    return "expected", expand(
        case["input"],
        context["labels"],
        float(context["value"]),
        alert=alert,
        external_labels=context.get("external_labels"),
        external_url=RECORDED["external_url"],
        query=query,
        url_functions=False,
    )


@pytest.mark.parametrize("at", range(len(RECORDED["contexts"])))
def test_as_promtool(at):
    wrong = []
    for case in CASES:
        if case["at"] != at:
            continue
        kind, text = outcome(case)
        if case.get(kind) != text:
            wrong.append((case, kind, text))
    assert wrong == []


@pytest.mark.parametrize(("text", "expected"), RECORDED["server"])
def test_as_a_server(text, expected):
    assert expand(text, {}, 1.0, alert="X", external_url=RECORDED["external_url"]) == expected


def test_there_is_enough_of_everything():
    assert len(CASES) >= 150
    assert sum("refused" in case for case in CASES) >= 100
    assert sum("<error expanding" in case.get("expected", "") for case in CASES) >= 100
    assert 10 <= len(NEWER) <= 100


def test_what_242_refuses_is_known():
    """`else with` is the one thing in the syntax that 2.42 has not."""
    needs = {case["input"] for case in NEWER if "refused" in case["2.42"] and "expected" in case}
    assert needs
    assert all("else with" in text for text in needs)
