"""The summary of a storm: one issue with a line for each alert that has no issue of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from watchkeeper_fleet.issues import markdown, marks

if TYPE_CHECKING:
    from collections.abc import Sequence

    from watchkeeper_fleet.issues.notification import Alert
    from watchkeeper_fleet.issues.repository import Issue, Repository
    from watchkeeper_fleet.issues.tracker import Rules

# GitHub takes 65,536 characters; more alerts are in Alertmanager, and each that is told again gets its turn.
MOST = 60_000
WIDTH = 120
_WHY = (
    "More alerts fire than issues may be opened in an hour. These have none; when an alert is told again, it gets one "
    "as soon as there is room, and leaves this list."
)


class Storm:
    """The open summary among the issues, if there is one, and what is to become of it."""

    def __init__(self, issues: Sequence[Issue]) -> None:
        self._issue = next((issue for issue in issues if issue.is_storm and issue.is_open), None)
        self._before = marks.held_of(self._issue.body) if self._issue else {}
        self._lines = dict(self._before)

    def hold(self, alert: Alert, external_url: str) -> bool:
        """Note an alert; return whether it is new here."""
        if alert.fingerprint in self._lines:
            return False
        text = markdown.plain(markdown.title(alert)[:WIDTH])
        view = markdown.view(external_url, {"alertname": alert.labels.get("alertname", "")})
        line = f"- {text} ({markdown.link(view)})"
        if sum(map(len, self._lines.values())) + 60 * len(self._lines) + len(line) > MOST:
            return False
        self._lines[alert.fingerprint] = line
        return True

    def release(self, fingerprint: str) -> None:
        """Forget an alert: it is resolved, or has an issue now."""
        self._lines.pop(fingerprint, None)

    def write(self, repository: Repository, rules: Rules) -> dict[str, int]:
        """Bring the summary up to date; return what was done."""
        if self._lines == self._before:
            return {}
        title = f"Alert storm: {len(self._lines)} alerts without an issue of their own"
        if self._issue is None:
            constant = [label for label in rules.labels if "{" not in label]
            repository.open(title, self._body(), constant)
            return {"opened": 1}
        if self._lines:
            repository.change(self._issue.number, title=title, body=self._body())
            return {}
        repository.change(self._issue.number, body=self._body(), state="closed")
        return {"closed": 1}

    def _body(self) -> str:
        lines = [marks.held_line(fingerprint, text) for fingerprint, text in self._lines.items()]
        return "\n".join(
            (
                _WHY,
                "",
                *(lines or ["All of them are resolved, or have an issue of their own."]),
                "",
                marks.STORM,
            )
        )
