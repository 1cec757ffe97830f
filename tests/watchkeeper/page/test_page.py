"""The page, expanded by Alertmanager's own code: amtool of 0.25, and of a newer release."""

from __future__ import annotations

import html
import json
import os
import re
import shutil
import subprocess
import urllib.parse
from pathlib import Path

import pytest

from watchkeeper.render.page import FIELDS, FIRING, RESOLVED, pagerduty_details, templates
from watchkeeper.settings import Settings, Targets

ROOT = Path(__file__).parents[3]
NAMES = [field.name for field in FIELDS]
# What a label may have, and what an address, Slack, HTML, a template and a matcher each read in their own way.
ODD = "a \"q\" 's' +&<b> é 😀 \\ \\n \n\t {x} {{ y }} 100% a|b = ~ # ?;/`$1 ${2} \u00a0\u200b"
HUD = {
    "status": "firing",
    "labels": {
        "alertname": "TrunkBadlyBroken",
        "priority": "P1",
        "team": "pytorch-dev-infra",
        "repository": "pytorch/pytorch",
    },
    "annotations": {
        "summary": "14 blocking jobs of pytorch/pytorch are red for 3 commits in a row",
        "description": "Detects when many viable/strict blocking jobs on trunk have been failing.",
        "reason": "Number_of_jobs_Failing=14",
        "runbook_url": "https://runbooks.example.com/trunk-badly-broken",
        "dashboard_url": "https://grafana.example.com/d/trunk?viewPanel=panel-4&from=now-1h",
    },
    "startsAt": "2025-11-25T02:15:00Z",
    "endsAt": "0001-01-01T00:00:00Z",
}


def tools() -> dict[str, str | None]:
    """Where the amtool of each release is."""
    newer = os.environ.get("WATCHKEEPER_PROMETHEUS3") or str(ROOT / ".cache/prometheus3/usr/bin/prometheus")
    return {"0.25": shutil.which("amtool"), "newer": shutil.which(str(Path(newer).with_name("amtool")))}


@pytest.fixture(params=["0.25", "newer"])
def render(request, tmp_path):
    """Expand a template as a release of Alertmanager does."""
    tool = tools()[request.param]
    if not tool and request.param == "0.25":
        pytest.skip("amtool is not here: apt-get install prometheus-alertmanager")
    if not tool:
        pytest.skip("Prometheus 3 is not here: name one in WATCHKEEPER_PROMETHEUS3, with an amtool beside it")
    file, data = tmp_path / "watchkeeper.tmpl", tmp_path / "data.json"

    def expand(text: str, *alerts, settings: Settings | None = None, kind: str = "text", **more) -> str:
        file.write_text(templates(settings or Settings(root=tmp_path)))
        common = dict(set.intersection(*(set(one["labels"].items()) for one in alerts)))
        found = {"alerts": alerts, "commonLabels": common, "externalURL": "https://am.example.com/x", **more}
        data.write_text(json.dumps(found))
        if not text.startswith("{{"):
            text = f'{{{{ template "{text}" . }}}}'
        command = [tool, "template", "render", f"--template.glob={file}", f"--template.data={data}"]
        command += [f"--template.text={text}", f"--template.type={kind}"]
        run = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
        assert run.returncode == 0, run.stderr
        return run.stdout

    expand.release = request.param
    return expand


def alert(number: int = 0, *, status: str = "firing", **labels: str) -> dict:
    """One of several alerts."""
    return {
        "status": status,
        "labels": {"alertname": "GPUTooHot", "team": "gpu-platform", "gpu": str(number), **labels},
        "annotations": {"summary": f"GPU {number} is hot", "description": "It is too hot."},
        "startsAt": "2025-11-25T02:15:00Z",
        "endsAt": "0001-01-01T00:00:00Z" if status == "firing" else "2025-11-25T03:15:00Z",
    }


def matchers(link: str) -> dict[str, str]:
    """The matchers of a link, as Alertmanager's UI reads them (ui/app/src/Utils/Filter.elm)."""
    found = re.fullmatch(r"https://am\.example\.com/x/#/(?:silences/new|alerts)\?(.*)", link)
    assert found, link
    parameters = dict(one.split("=", 1) for one in found[1].split("&"))
    text = urllib.parse.unquote(parameters["filter"])  # which leaves a plus alone, as the UI does
    assert (text[0], text[-1]) == ("{", "}")
    one = re.compile(r'\s*([^\s{}!=~,\\"\'`]+)=("(?:[^"\\]|\\.)*")\s*(?:,|\Z)', re.DOTALL)
    read, end = {}, 0
    inner = text[1:-1]
    while end < len(inner):
        match = one.match(inner, end)
        assert match, inner[end:]
        read[match[1]] = json.loads(match[2])
        end = match.end()
    return read


def read(block: str, pattern: str = r"(?m)^([A-Z][A-Za-z ]+): (.*)$") -> list[tuple[str, str]]:
    return re.findall(pattern, block)


def slack(block: str) -> list[tuple[str, str]]:
    return read(block, r"(?m)^\*([A-Z][A-Za-z ]+)\*: (.*)$")


def test_ten_fields_in_their_order(render):
    text = render("watchkeeper.text", HUD)
    assert text == "\n".join(f"{name}: {value}" for name, value in read(text))  # and no other line
    found = dict(read(text))
    assert [name for name, _ in read(text)] == NAMES
    assert matchers(found.pop("View Alert")) == matchers(found.pop("Silence Alert")) == HUD["labels"]
    assert found == {
        "Occurred At": "Nov 25, 2:15am UTC",
        "State": "FIRING",
        "Team": "pytorch-dev-infra",
        "Priority": "P1",
        "Description": "Detects when many viable/strict blocking jobs on trunk have been failing.",
        "Reason": "Number_of_jobs_Failing=14",
        "Runbook": "https://runbooks.example.com/trunk-badly-broken",
        "Dashboard": "https://grafana.example.com/d/trunk?viewPanel=panel-4&from=now-1h",
    }


def test_what_each_receiver_gets(render):
    plain = dict(read(render("watchkeeper.text", HUD)))
    told = slack(render("watchkeeper.slack.text", HUD))
    mail = re.findall(r"<b>([^<]+)</b>: (.*?)(?:<br>)?\n", render("watchkeeper.email.html", HUD, kind="html"))
    assert [name for name, _ in told] == [name for name, _ in mail] == NAMES
    for name, value in told:
        link = re.fullmatch(r"<(.+)\|open>", value)
        assert html.unescape(link[1] if link else value) == plain[name]
    for name, value in mail:
        link = re.fullmatch(r'<a href="([^"]+)">open</a>', value)
        assert html.unescape(link[1] if link else value) == plain[name]
    title = "[P1] FIRING: 14 blocking jobs of pytorch/pytorch are red for 3 commits in a row"
    for name in ("watchkeeper.title", "watchkeeper.slack.title", "watchkeeper.pagerduty.description"):
        assert render(name, HUD) == title
    assert render("watchkeeper.email.text", HUD) == f"{title}\n\n{render('watchkeeper.text', HUD)}\n"
    assert list(pagerduty_details()) == ["firing", "resolved"]
    details = {name: render(text, HUD) for name, text in pagerduty_details().items()}
    assert details == {"firing": "\t" + render("watchkeeper.text", HUD), "resolved": ""}


def test_what_is_empty_is_left_out(render):
    bare = {**HUD, "labels": {"alertname": "X"}, "annotations": {"description": "", "reason": ""}}
    left = ["Occurred At", "State", "View Alert", "Silence Alert"]
    assert [name for name, _ in read(render("watchkeeper.text", bare))] == left
    assert [name for name, _ in slack(render("watchkeeper.slack.text", bare))] == left
    assert "\n\n" not in render("watchkeeper.text", bare)
    assert "<br>\n<br>" not in render("watchkeeper.email.html", bare, kind="html")
    assert render("watchkeeper.title", bare) == "FIRING: X"


def test_links_of_odd_labels(render):
    one = alert(odd=ODD)
    found = dict(read(render("watchkeeper.text", one)))
    told = dict(slack(render("watchkeeper.slack.text", one)))
    mail = render("watchkeeper.email.html", one, kind="html")
    for name in ("View Alert", "Silence Alert"):
        in_slack = re.fullmatch(r"<([^<>|]+)\|open>", told[name])[1]
        in_mail = re.search(rf'<b>{name}</b>: <a href="([^"]+)"', mail)[1]
        assert html.unescape(in_slack) == html.unescape(in_mail) == found[name]
        assert matchers(found[name]) == one["labels"]


def test_odd_texts(render):
    # Line ends are the author's own; all else is on its line.
    text = ODD.replace("\n", "")
    one = {**alert(), "annotations": {"summary": text, "description": text, "runbook_url": "https://r/x|y?a=1&b=<2>"}}
    assert dict(read(render("watchkeeper.text", one)))["Description"] == text
    told = dict(slack(render("watchkeeper.slack.text", one)))
    assert html.unescape(told["Description"]) == text
    assert not re.search(r"[<>]", told["Description"])
    assert told["Runbook"] == "<https://r/x%7Cy?a=1&amp;b=&lt;2&gt;|open>"
    assert not re.search(r"[<>]", render("watchkeeper.slack.title", one))
    mail = render("watchkeeper.email.html", one, kind="html")
    assert html.unescape(re.search(r"<b>Description</b>: (.*)<br>", mail)[1]) == text
    assert "<h3>" in mail
    assert text not in mail
    hostile = {**one, "annotations": {"runbook_url": "javascript:alert(1)"}}
    assert "javascript:" not in render("watchkeeper.email.html", hostile, kind="html")


def test_a_group_is_readable(render):
    several = [alert(1, status="resolved"), alert(2), alert(3)]
    assert render("watchkeeper.title", *several) == "FIRING (2), RESOLVED (1): GPUTooHot"
    blocks = render("watchkeeper.text", *several).split("\n\n")
    assert [block.partition("\n")[0] for block in blocks] == [f"GPU {n} is hot" for n in (2, 3, 1)]
    assert [dict(read(block))["State"] for block in blocks] == ["FIRING", "FIRING", "RESOLVED"]
    for block, number in zip(blocks, "231", strict=True):
        assert matchers(dict(read(block))["Silence Alert"])["gpu"] == number  # and not the whole group
    assert len(render("watchkeeper.slack.text", *several).split("\n\n")) == 3
    mail = render("watchkeeper.email.html", *several, kind="html")
    assert mail.count("<p>") == mail.count("</p>") == 3


def test_the_title_of_several(render):
    resolved = [alert(n, status="resolved", priority="P2") for n in (1, 2)]
    assert render("watchkeeper.title", *resolved) == "[P2] RESOLVED (2): GPUTooHot"
    mixed = [alert(1), {**alert(2), "labels": {"alertname": "Other"}}]
    groups = {"groupLabels": {"cluster": "c1", "team": "a<b"}}
    assert render("watchkeeper.title", *mixed, **groups) == "FIRING (2): c1 a<b"
    assert render("watchkeeper.slack.title", *mixed, **groups) == "FIRING (2): c1 a&lt;b"
    assert render("watchkeeper.title", *mixed) == "FIRING (2): several alerts"


@pytest.mark.parametrize("name", ["watchkeeper.text", "watchkeeper.slack.text"])
def test_a_storm_is_cut_short(render, name):
    storm = [alert(n) for n in range(FIRING + 12)] + [alert(n, status="resolved") for n in range(50, 51 + RESOLVED)]
    blocks = render(name, *storm).split("\n\n")
    assert len(blocks) == FIRING + 1 + RESOLVED + 1
    assert blocks[FIRING] == "and 12 more firing"
    assert blocks[-1] == "and 1 more resolved"
    assert "more" not in render(name, *(alert(n) for n in range(FIRING)))
    mail = render("watchkeeper.email.html", *storm, kind="html")
    assert mail.count("<p>") == mail.count("</p>") == len(blocks)
    assert "<p>\nand 12 more firing\n</p>" in mail


def test_local_time(render, tmp_path):
    settings = Settings(root=tmp_path, timezone="America/Los_Angeles", targets=Targets(alertmanager=(0, 28)))
    if render.release != "0.25":
        text = render("watchkeeper.text", HUD, settings=settings)
        assert text.startswith("Occurred At: Nov 24, 6:15pm PST\n")
    older = Settings(root=tmp_path, timezone="America/Los_Angeles")
    assert render("watchkeeper.text", HUD, settings=older).startswith("Occurred At: Nov 25, 2:15am UTC\n")
    newer = Settings(root=tmp_path, targets=Targets(alertmanager=(0, 28)))
    assert render("watchkeeper.text", HUD, settings=newer).startswith("Occurred At: Nov 25, 2:15am UTC\n")


def test_the_same_settings_give_the_same_templates(tmp_path):
    assert templates(Settings(root=tmp_path)) == templates(Settings(root=tmp_path / "else"))
