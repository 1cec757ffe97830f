"""From a red trunk to the right person, on real servers: GitHub's API, exporter, Prometheus, Alertmanager, receivers.

GitHub, Slack and PagerDuty are stand-ins on loopback; all else is what runs in production.
"""

from __future__ import annotations

import contextlib
import dataclasses
import html
import http.server
import json
import os
import re
import shutil
import subprocess
import sys
import threading
import time
import urllib.parse
import urllib.request
import zoneinfo
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

# Helpers of the tests of its parts, which are no packages.
sys.path.insert(0, str(Path(__file__).parents[1] / "watchkeeper/routing"))
sys.path.insert(0, str(Path(__file__).parents[1] / "watchkeeper_fleet/issues"))
sys.path.insert(0, str(Path(__file__).parents[1] / "watchkeeper_fleet/trunk"))

from alertmanagers import Alertmanager, newer, running
from github_issues import GitHubIssues
from github_standin import TOKEN, serving
from github_world import Job, Run, World
from issues_process import VARIABLE, WATCHKEEPER, receiving

from watchkeeper.building import build
from watchkeeper.render.page import FIELDS, pagerduty_details, templates
from watchkeeper.settings import Targets, load_settings
from watchkeeper_fleet.pack import PACK

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

NAMES = [field.name for field in FIELDS]
PATIENCE_S = 180
ZONE = "America/Los_Angeles"
REPO = "pytorch/pytorch"
EXTERNAL = "https://alertmanager.example.com/x"
ODD = "a \"q\" 's' +&<b> é 😀 \\ \\n \n {x} 100% a|b = ~ # ?;/`"


class Recorder:
    """Receives what is posted: Slack, PagerDuty, a webhook."""

    def __init__(self) -> None:
        self.posted: list[tuple[str, dict[str, Any]]] = []
        recorder = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                data = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                recorder.posted.append((self.path, data))
                self.send_response(202 if self.path == "/pagerduty" else 200)
                self.send_header("Content-Type", "text/plain")
                self.end_headers()
                self.wfile.write(b"ok")  # as Slack's webhooks do: newer Alertmanagers want it

            def log_message(self, *_: object) -> None:
                """Say nothing."""

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.05})
        self.thread.start()
        self.url = f"http://127.0.0.1:{self.server.server_port}"

    def close(self) -> None:
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()

    def at(self, path: str) -> list[dict[str, Any]]:
        return [data for where, data in list(self.posted) if where == path]


@pytest.fixture
def recorder() -> Iterator[Recorder]:
    found = Recorder()
    yield found
    found.close()


@pytest.fixture
def alertmanager(request, prometheus, tmp_path) -> Callable[..., Any]:  # noqa: ARG001 - its parameter is this one's
    """Start an Alertmanager that tells the recorder: 0.25 beside Prometheus 2, a newer one beside Prometheus 3."""
    is_newer = request.node.callspec.params["prometheus"] == "3"
    binary = newer("prometheus-alertmanager") if is_newer else shutil.which("prometheus-alertmanager")
    if not binary and is_newer:
        pytest.skip("Prometheus 3 is not here: name one in WATCHKEEPER_PROMETHEUS3, with its Alertmanager beside it")
    if not binary:
        pytest.skip("prometheus-alertmanager is not here: apt-get install prometheus-alertmanager")
    targets = Targets(alertmanager=(0, 28) if is_newer else (0, 25))
    settings = dataclasses.replace(load_settings(Path(__file__)), timezone=ZONE, targets=targets)

    def start(recorder: Recorder, *webhooks: str) -> contextlib.AbstractContextManager[Alertmanager]:
        # JSON is YAML.
        text = json.dumps(configuration(recorder.url, webhooks))
        files = {"alertmanager.yaml": text, "watchkeeper.tmpl": templates(settings)}
        return running(binary, tmp_path, files, f"--web.external-url={EXTERNAL}", "--web.route-prefix=/")

    start.zone = ZONE if is_newer else "UTC"
    return start


def configuration(url: str, webhooks: tuple[str, ...]) -> dict[str, Any]:
    def template(name: str) -> str:
        return f'{{{{ template "{name}" . }}}}'

    slack = {
        "api_url": f"{url}/slack",
        "channel": "#alerts",
        "title": template("watchkeeper.slack.title"),
        "text": template("watchkeeper.slack.text"),
        "send_resolved": True,
    }
    pager = {
        "url": f"{url}/pagerduty",
        "routing_key": "x",
        "description": template("watchkeeper.pagerduty.description"),
        "details": pagerduty_details(),
    }
    receiver = {
        "name": "all",
        "slack_configs": [slack],
        "pagerduty_configs": [pager],
        "webhook_configs": [{"url": one} for one in (f"{url}/webhook", *webhooks)],
    }
    times = {"group_wait": "1s", "group_interval": "1s", "repeat_interval": "4h"}
    route = {"receiver": "all", "group_by": ["alertname", "repository", "branch"], **times}
    return {"templates": ["watchkeeper.tmpl"], "route": route, "receivers": [receiver]}


@contextlib.contextmanager
def exporter(api: str, folder: Path) -> Iterator[str]:
    """Run `watchkeeper trunk-exporter`; give where it listens."""
    command = [WATCHKEEPER, "trunk-exporter", "--listen", "127.0.0.1:0", "--api-url", api, "--repo", REPO]
    log = folder / "trunk.log"
    environment = {**os.environ, VARIABLE: TOKEN}
    with (
        log.open("wb") as file,
        subprocess.Popen([*command, "--interval", "10s"], stderr=file, env=environment) as child,
    ):
        try:
            found = until("the exporter", lambda: re.findall(r"serving http://(\S+)/metrics", log.read_text()))
            yield found[0]
        finally:
            child.kill()


def until(what: str, condition: Callable[[], Any]) -> Any:
    """Return the first true answer of condition, asked again and again."""
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        if answer := condition():
            return answer
        time.sleep(0.05)
    raise AssertionError(f"waited {PATIENCE_S} s for {what}")


def rules() -> str:
    """The committed rules of trunk, but that they wait for a second and are evaluated each second."""
    pack = PACK.replace("trunk", interval="1s").without("TrunkDataStale", reason="the page is of the jobs that are red")
    for name in ("TrunkBroken", "TrunkBadlyBroken"):
        pack = pack.replace(name, for_="1s", keep_firing_for="1s")
    project, _ = build(pack, load_settings(Path(__file__)))
    return project.files["rules/trunk.yaml"]


def red(world: World) -> None:
    """Three commits on which 14 jobs failed, beside some that passed and one that is unstable."""
    for number in range(3):
        shards = [Job(f"linux / test (config-{n}, {n}, 14, linux.4xlarge)", "failure") for n in range(1, 15)]
        jobs = [*shards, *(Job(f"green-{n}") for n in range(6)), Job("linux / unstable", "failure")]
        world.push(Run("trunk", jobs), time=world.now - 600 + 60 * number)


def fields(text: str, pattern: str = r"(?m)^([A-Z][A-Za-z ]+): (.*)$") -> list[tuple[str, str]]:
    return re.findall(pattern, text)


def slack_fields(text: str) -> list[tuple[str, str]]:
    found = fields(text, r"(?m)^\*([A-Z][A-Za-z ]+)\*: (.*)$")
    return [(name, html.unescape(re.sub(r"^<(.*)\|open>$", r"\1", value))) for name, value in found]


def issue_fields(body: str) -> list[tuple[str, str]]:
    def shown(value: str) -> str:
        link = re.fullmatch(r"\[open\]\((.*)\)", value)
        return link[1] if link else re.sub(r"\\(.)", r"\1", value).replace("\u200b", "")

    return [(name, shown(value)) for name, value in fields(body, r"(?m)^- \*([A-Z][A-Za-z ]+)\*: (.*)$")]


def matchers(link: str) -> list[dict[str, Any]]:
    """What a link fills in, read as Alertmanager's UI reads it (ui/app/src/Utils/Filter.elm)."""
    assert link.startswith(f"{EXTERNAL}/#/"), link
    (text,) = [urllib.parse.unquote(one[7:]) for one in re.split("[?&]", link) if one.startswith("filter=")]
    pairs = re.findall(r'([A-Za-z_]\w*)=("(?:[^"\\]|\\.)*")(?:,|\}\Z)', text, re.DOTALL)
    assert text == "{" + ",".join(f"{name}={value}" for name, value in pairs) + "}"
    return [{"name": name, "value": json.loads(value), "isRegex": False, "isEqual": True} for name, value in pairs]


def silence(server: Alertmanager, link: str) -> None:
    """Do what a click on the link and then on Create does."""
    now = datetime.now(timezone.utc)
    times = {"startsAt": now.isoformat(), "endsAt": (now + timedelta(hours=2)).isoformat()}
    what = {"matchers": matchers(link), "createdBy": "on-call", "comment": "I look at it", **times}
    server.post("/api/v2/silences", what)


def states(server: Alertmanager, label: str) -> dict[str, str]:
    return {alert["labels"].get(label, ""): alert["status"]["state"] for alert in server.alerts()}


def test_from_a_red_trunk_to_the_right_person(prometheus, alertmanager, recorder, tmp_path):
    world = World(REPO, now=time.time())
    red(world)
    (tmp_path / "rules.yaml").write_text(rules())
    with contextlib.ExitStack() as stack:
        issues = GitHubIssues()
        stack.callback(issues.close)
        github = stack.enter_context(serving(world))
        _, receiver, _ = stack.enter_context(receiving(issues, "--timezone", alertmanager.zone))
        server = stack.enter_context(alertmanager(recorder, f"{receiver}/alerts"))
        target = stack.enter_context(exporter(github.url, tmp_path))
        stack.enter_context(
            prometheus(
                {
                    "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
                    "rule_files": [str(tmp_path / "rules.yaml")],
                    "scrape_configs": [{"job_name": "trunk", "static_configs": [{"targets": [target]}]}],
                    "alerting": {
                        "alertmanagers": [{"static_configs": [{"targets": [urllib.parse.urlsplit(server.url).netloc]}]}]
                    },
                }
            )
        )
        webhook = until("a webhook", lambda: recorder.at("/webhook"))[0]
        slack = until("a message in Slack", lambda: recorder.at("/slack"))[0]["attachments"][0]
        pager = until("a page", lambda: recorder.at("/pagerduty"))[0]
        issue = until("an issue", lambda: list(issues.issues.values()))[0]

        (alert,) = webhook["alerts"]
        expected = ten_fields(alert, alertmanager.zone)
        assert list(expected) == NAMES
        for told in (
            slack_fields(slack["text"]),
            fields(pager["payload"]["custom_details"]["firing"].lstrip()),
            issue_fields(issue["body"]),
        ):
            assert [name for name, _ in told] == NAMES
            for name, value in told:
                if name in ("View Alert", "Silence Alert"):
                    found = {one["name"]: one["value"] for one in matchers(value)}
                    assert found == alert["labels"], name
                else:
                    assert value == expected[name], name
        title = "14 blocking jobs of pytorch/pytorch are red for 3 commits in a row"
        assert slack["title"] == pager["payload"]["summary"] == f"[P1] FIRING: {title}"
        assert issue["title"] == f"[P1] {title}"
        assert {label["name"] for label in issue["labels"]} == {"area:alerting", "Pri:P1", "Team:pytorch-dev-infra"}
        assert f"<!-- watchkeeper fingerprint: {alert['fingerprint']} -->" in issue["body"]

        # The silence is for this alert, and not for one that differs in a label.
        other = {**alert["labels"], "repository": "pytorch/vision"}
        server.post("/api/v2/alerts", [{"labels": other, "annotations": alert["annotations"]}])
        silence(server, dict(slack_fields(slack["text"]))["Silence Alert"])
        wanted = {REPO: "suppressed", "pytorch/vision": "active"}
        server.wait("a silence", lambda: states(server, "repository") == wanted)
        (silenced,) = [one for one in server.alerts() if one["labels"]["repository"] == REPO]
        request = urllib.request.Request(
            f"{server.url}/api/v2/silence/{silenced['status']['silencedBy'][0]}", method="DELETE"
        )
        with urllib.request.urlopen(request, timeout=PATIENCE_S):
            pass

        jobs = [Job(f"linux / test (config-{n}, {n}, 14, linux.4xlarge)") for n in range(1, 15)]
        world.push(Run("trunk", jobs), time=world.now)
        until("the issue to close", lambda: issue["state"] == "closed")
        resolved = until("all to be resolved", lambda: [one for one in texts(recorder) if "RESOLVED" in one])[0]
        assert dict(slack_fields(resolved))["State"] == "RESOLVED"
        assert [name for name, _ in slack_fields(resolved)] == NAMES
        assert [name for name, _ in issue_fields(issue["body"])] == NAMES


def texts(recorder: Recorder) -> list[str]:
    return [one["attachments"][0]["text"] for one in recorder.at("/slack")]


def ten_fields(alert: dict[str, Any], zone: str) -> dict[str, str]:
    """The fields of the alert of trunk, as the webhook has it."""
    start = datetime.strptime(alert["startsAt"][:19], "%Y-%m-%dT%H:%M:%S").replace(tzinfo=timezone.utc)
    there = start.astimezone(zoneinfo.ZoneInfo(zone))
    hour = f"{there.hour % 12 or 12}:{there:%M}{'am' if there.hour < 12 else 'pm'}"
    return {
        "Occurred At": f"{there:%b} {there.day}, {hour} {there.tzname()}",
        "State": "FIRING",
        "Team": "pytorch-dev-infra",
        "Priority": "P1",
        "Description": "Detects when many viable/strict blocking jobs on main have been failing, "
        "which usually indicates an infrastructure failure.",
        "Reason": "Number_of_jobs_Failing=14",
        "Runbook": "https://runbooks.example.com/trunk-badly-broken",
        "Dashboard": alert["annotations"]["dashboard_url"],
        "View Alert": "",
        "Silence Alert": "",
    }


def test_a_silence_of_odd_labels(alertmanager, recorder):
    with alertmanager(recorder) as server:
        pair = [{"alertname": "X", "odd": ODD, "n": n} for n in ("1", "2")]
        server.post("/api/v2/alerts", [{"labels": labels} for labels in pair])
        text = until("a message in Slack", lambda: recorder.at("/slack"))[0]["attachments"][0]["text"]
        (link,) = [
            value
            for name, value in slack_fields(text)
            if name == "Silence Alert"
            and {"name": "n", "value": "1", "isRegex": False, "isEqual": True} in matchers(value)
        ]
        silence(server, link)
        server.wait("a silence", lambda: states(server, "n") == {"1": "suppressed", "2": "active"})
