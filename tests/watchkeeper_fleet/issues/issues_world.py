"""A repository on loopback, receivers of it with a clock that is set by hand, and alerts."""

from __future__ import annotations

import json
import time
from typing import Any

from github_issues import TOKEN, GitHubIssues

from watchkeeper_fleet.github import GitHub, Trouble
from watchkeeper_fleet.issues.notification import read
from watchkeeper_fleet.issues.receiver import Receiver
from watchkeeper_fleet.issues.repository import Repository
from watchkeeper_fleet.issues.tracker import Rules, Tracker

LABELS = ("area:alerting", "Pri:{priority}", "Team:{team}")
START = 1_764_036_900.0  # Nov 25 2025, 2:15 UTC
HOUR = 3600.0


class World:
    """The repository, and receivers of it one after the other."""

    def __init__(self) -> None:
        self.api = GitHubIssues()
        self.api.now = lambda: self.now
        self.now = START + 60
        self.rules = Rules(LABELS)
        self.github: GitHub | None = None
        self.restart()

    def close(self) -> None:
        self.github.close()
        self.api.close()

    def restart(self, **rules: Any) -> None:
        """Start anew, as on another host: nothing is known but what GitHub has."""
        if self.github:
            self.github.close()
        self.rules = Rules(**{**self.rules.__dict__, **rules})
        self.github = GitHub(
            self.api.url, lambda: TOKEN, clock=lambda: self.now, sleep=lambda _: None, jitter=lambda: 0.5
        )
        self.tracker = Tracker(Repository(self.github, "o/r", "area:alerting"), self.rules, clock=lambda: self.now)
        self.receiver = Receiver(self.tracker, self.github, clock=lambda: self.now)

    def tell(self, *alerts: dict[str, Any]) -> list[Trouble]:
        """Deal with a notification; return the troubles."""
        return self.tracker.handle(read(body(*alerts)))

    def take(self, *alerts: dict[str, Any]) -> int:
        return self.receiver.take(body(*alerts)).status


def body(*alerts: dict[str, Any]) -> bytes:
    """The body of a request, as Alertmanager 0.25 to 0.33 write it."""
    return json.dumps(
        {
            "receiver": "issues",
            "status": "firing",
            "alerts": alerts,
            "groupLabels": {},
            "commonLabels": {},
            "commonAnnotations": {},
            "externalURL": "http://am.example.com:9093",
            "version": "4",
            "groupKey": "{}:{}",
            "truncatedAlerts": 0,
        }
    ).encode()


def alert(
    number: int = 1, *, firing: bool = True, since: float = START, labels=None, **annotations: str
) -> dict[str, Any]:
    """One alert of a notification."""
    said = {
        "summary": "14 blocking jobs of pytorch/pytorch are red for 3 commits in a row",
        "description": "Detects when many viable/strict blocking jobs on trunk have been failing.",
        "reason": "Number_of_jobs_Failing=14",
        "runbook_url": "https://runbooks.example.com/trunk-badly-broken",
        "dashboard_url": "https://grafana.example.com/d/trunk?viewPanel=panel-4",
        **annotations,
    }
    start = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(since))
    return {
        "status": "firing" if firing else "resolved",
        "labels": {
            "alertname": "TrunkBadlyBroken",
            "priority": "P1",
            "team": "pytorch-dev-infra",
            "repository": "pytorch/pytorch",
            **(labels or {}),
        },
        "annotations": said,
        "startsAt": f"{start}.123456789Z",
        "endsAt": "0001-01-01T00:00:00Z" if firing else f"{start}Z",
        "generatorURL": "http://prometheus.example.com:9090/graph",
        "fingerprint": f"{number:016x}",
    }
