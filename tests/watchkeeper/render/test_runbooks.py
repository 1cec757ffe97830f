"""Runbook pages in Markdown: placeholders, and what must not break a table or a heading."""

from pathlib import Path

import pytest

from watchkeeper import Alert, Place, Runbook
from watchkeeper.render.runbooks import page
from watchkeeper.settings import Settings


def rendered(text="", *, uid="", grafana_url="", **more):
    given = {"expr": "up == 0", "severity": "critical", "team": "sre", "summary": "Down", "runbook": "down", **more}
    alert = Alert(given.pop("name", "TargetDown"), **given)
    panel_of = {alert.name: (uid, 1)} if uid else {}
    settings = Settings(root=Path("/"), grafana_url=grafana_url)
    return page(Runbook("down", text, Place("down.md", 1)), [alert], settings, panel_of)


def body(text, **more):
    return rendered(f"BODY\n{text}", **more).partition("BODY\n")[2].removesuffix("\n")


@pytest.mark.parametrize(
    ("text", "made"),
    [
        ("{name} {team} {for} {threshold}", "TargetDown sre 0s 0"),
        ("for name in a b; do echo ${name} ${team}; done", "for name in a b; do echo ${name} ${team}; done"),
        ("awk '{print}' {keep} ${PID}", "awk '{print}' {keep} ${PID}"),
        ("\\{name} \\{print} {name}", "{name} \\{print} TargetDown"),
    ],
)
def test_placeholders(text, made):
    assert body(text) == made


def test_what_stands_for_a_placeholder_is_not_read_again():
    assert body("{expr}", expr=r"up{job=~'\{team}'} == 0") == r"up{job=~'\{team}'} == 0"


def test_a_table_cell_is_one_cell():
    text = rendered(team="a|b\nc", uid="x|y", grafana_url="https://g/a|b(c)")
    assert "| Team | a\\|b c |\n" in text
    assert "| Panel | [x\\|y](https://g/a%7Cb%28c%29/d/x%7Cy?viewPanel=panel-1) |\n" in text


def test_a_heading_is_one_line():
    assert "\n# Target Down \\*x\\* \\#\n" in rendered(name="Target\nDown *x* #")
    assert "\n# GPU_Memory \\_low\\_\n" in rendered(name="GPU_Memory _low_")


def test_an_expression_can_not_close_its_block():
    text = rendered(expr="up == 0 # ```\n# ## x")
    assert "\n````promql\nup == 0 # ```\n# ## x\n````\n" in text
