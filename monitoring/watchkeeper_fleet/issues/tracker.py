"""What is done with an alert: an issue opened, commented, closed, reopened, or nothing.

Each write is looked up before it is made, so that a notification may come twice, and break off at any point.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter
from dataclasses import dataclass
from datetime import timezone
from typing import TYPE_CHECKING

from watchkeeper_fleet.github import Trouble
from watchkeeper_fleet.issues import markdown, marks
from watchkeeper_fleet.issues.marks import Told
from watchkeeper_fleet.issues.repository import HOUR
from watchkeeper_fleet.issues.storm import Storm

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import tzinfo

    from watchkeeper_fleet.issues.notification import Alert, Notification
    from watchkeeper_fleet.issues.repository import Issue, Repository

_LOG = logging.getLogger(__name__)
ACTIONS = ("closed", "commented", "held", "opened", "reopened")
# An alert that says the same is told again after this: less than Alertmanager's own repeat_interval of 4 hours, so that
# each of its repeats is a comment.
REPEAT = 3.5 * HOUR
CLOCKS = 300.0  # by which two clocks may differ
BUSY = 30.0  # seconds that a notification waits for the one before


class Busy(Exception):  # noqa: N818 - an outcome
    """Another notification is being dealt with, and has been for long."""


@dataclass(frozen=True)
class Rules:
    """How alerts become issues. Labels are templates: `Team:{team}` has the label of the alert in it."""

    labels: tuple[str, ...]
    most: int = 10
    reopen: float = 24 * HOUR
    zone: tzinfo = timezone.utc


class Tracker:
    """Keeps the issues of a repository in step with alerts."""

    def __init__(self, repository: Repository, rules: Rules, *, clock: Callable[[], float] = time.time) -> None:
        self._repository = repository
        self._rules = rules
        self._clock = clock
        self._lock = threading.Lock()
        self._is_warned = False
        self.actions: Counter[str] = Counter(dict.fromkeys(ACTIONS, 0))

    def handle(self, notification: Notification) -> list[Trouble]:
        """Deal with all alerts of a notification; return what failed. Busy where it can't begin."""
        if not self._lock.acquire(timeout=BUSY):
            raise Busy
        try:
            return self._handle(notification)
        finally:
            self._lock.release()

    def _handle(self, notification: Notification) -> list[Trouble]:
        now = self._clock()
        try:
            # Those opened in the last hour count, closed or not.
            issues = self._repository.issues(now - max(self._rules.reopen, HOUR) - CLOCKS)
        except Trouble as trouble:
            return [trouble]
        storm = Storm(issues)
        # Of several, the newest of those that are open, and else of all.
        known = {issue.fingerprint: issue for issue in sorted(issues, key=lambda one: (one.is_open, one.number))}
        room = self._rules.most - sum(1 for one in issues if one.fingerprint and one.created > now - HOUR)
        refused: list[Trouble] = []
        for alert in notification.alerts:
            issue = known.get(alert.fingerprint)
            try:
                room -= self._one(alert, issue, notification.external_url, storm, room=room > 0)
            except Trouble as trouble:
                refused.append(trouble)
                if trouble.reason != "refused":
                    return refused  # so would the next request fail; Alertmanager tells of all alerts again
        try:
            self.actions.update(storm.write(self._repository, self._rules))
        except Trouble as trouble:
            refused.append(trouble)
        return refused

    def _one(self, alert: Alert, issue: Issue | None, url: str, storm: Storm, *, room: bool) -> bool:
        """Deal with one alert; return whether an issue was opened."""
        if not alert.is_firing:
            storm.release(alert.fingerprint)
            if issue is not None and issue.is_open:
                self._resolve(alert, issue, url)
            return False
        if issue is None or (not issue.is_open and issue.closed < self._clock() - self._rules.reopen):
            if not room:
                if storm.hold(alert, url):
                    self.actions["held"] += 1
                return False
            self._open(alert, url)
            storm.release(alert.fingerprint)
            return True
        told = marks.told_of(issue.body)
        if not issue.is_open:
            if told is None or told.since < alert.since:
                self._tell(alert, issue, url, "Fires Again", state="open")
                self.actions["reopened"] += 1
            # Else somebody closed it while the alert fires, or it was resolved and this is an old message.
        elif told is None or told.digest != marks.content(alert) or self._clock() - told.at > REPEAT:
            self._tell(alert, issue, url, "Alert Update")
        return False

    def _open(self, alert: Alert, url: str) -> None:
        labels = labels_of(self._rules.labels, alert.labels)
        issue = self._repository.open(markdown.title(alert), self._body(alert, url), labels)
        self.actions["opened"] += 1
        if not issue.labels and not self._is_warned:
            self._is_warned = True
            _LOG.error("the token may not set labels: issues are not found again after a restart; give it that right")

    def _resolve(self, alert: Alert, issue: Issue, url: str) -> None:
        told = marks.told_of(issue.body)
        if told is not None and alert.since < told.since:
            return  # of an episode before the one that the issue is about
        self._tell(alert, issue, url, "Alert Resolved", state="closed")
        self.actions["closed"] += 1

    def _tell(self, alert: Alert, issue: Issue, url: str, heading: str, **state: str) -> None:
        """Write a comment, if it is not there, then bring the issue up to date, which ends the matter."""
        told = marks.told_of(issue.body)
        event = marks.digest(heading, marks.content(alert), told.mark if told else "")
        since = (told.at if told else issue.created) - CLOCKS
        if not self._repository.has_event(issue.number, event, since):
            block = markdown.block(alert, url, self._rules.zone)
            self._repository.comment(issue.number, f"**{heading}**\n\n{block}\n\n{marks.event_mark(event)}\n")
            self.actions["commented"] += 1
        body = self._body(alert, url) + marks.below(issue.body)
        self._repository.change(issue.number, title=markdown.title(alert), body=body, **state)

    def _body(self, alert: Alert, url: str) -> str:
        told = Told(alert.since, int(self._clock()), marks.content(alert))
        return "\n".join(
            (
                "**Alert Details**",
                "",
                markdown.block(alert, url, self._rules.zone),
                "",
                "Kept up to date by `watchkeeper issue-receiver`; what you write below stays.",
                told.mark,
                marks.fingerprint_mark(alert.fingerprint),
            )
        )


def labels_of(templates: tuple[str, ...], labels: Mapping[str, str]) -> list[str]:
    """Return the labels of an issue: those whose `{name}` the alert has."""
    found: list[str] = []
    for template in templates:
        before, brace, rest = template.partition("{")
        name, _, after = rest.partition("}")
        if brace and not labels.get(name):
            continue
        text = " ".join(f"{before}{labels[name]}{after}".split()) if brace else template
        found.append(text[:50])  # GitHub takes no more
    return list(dict.fromkeys(found))
