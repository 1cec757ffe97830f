"""The issues of one repository, by way of GitHub's REST API.

They are found by a label and the mark in their body, in the list of issues: GitHub's search lags behind.
"""

from __future__ import annotations

import urllib.parse
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

from watchkeeper_fleet.github import Trouble
from watchkeeper_fleet.issues import marks

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from watchkeeper_fleet.github import GitHub

PAGE = 100
MOST_PAGES = 50
HOUR = 3600.0
# Anyone can write our mark into an issue, and so keep an alert from having one of its own. Ours are written by this
# token's user, or by who has a say in the repository: the token of another user before, or an app.
TRUSTED = frozenset({"OWNER", "MEMBER", "COLLABORATOR"})


@dataclass(frozen=True)
class Issue:
    """An issue of ours, as GitHub last told."""

    number: int
    is_open: bool
    title: str
    body: str
    created: float
    updated: float
    closed: float
    labels: frozenset[str] = frozenset()

    @property
    def fingerprint(self) -> str:
        """The alert's, empty for the summary of a storm."""
        return marks.fingerprint_of(self.body)

    @property
    def is_storm(self) -> bool:
        """Whether it sums up the alerts that have no issue."""
        return marks.STORM in self.body


class Repository:
    """Reads and writes issues. What fails raises Trouble."""

    def __init__(self, github: GitHub, name: str, label: str) -> None:
        self._github = github
        self._path = f"/repos/{name}/issues"
        self._label = label
        # By its query, the validator of a page and what was on it: unchanged, it costs nothing.
        self._pages: dict[str, tuple[str, list[Issue], bool]] = {}
        # What this process wrote: the list may be a moment behind.
        self._written: dict[int, Issue] = {}
        self._user: str | None = None

    def issues(self, closed_since: float) -> list[Issue]:
        """Return our open issues, and those closed since then, the newest first."""
        seen: dict[str, tuple[str, list[Issue], bool]] = {}
        found: dict[int, Issue] = {}
        # By the hour: asked in the same words, an unchanged list costs nothing.
        since = _iso(closed_since // HOUR * HOUR)
        for query in ({"state": "open"}, {"state": "closed", "since": since}):
            for page in range(1, MOST_PAGES + 1):
                issues, more = self._page({**query, "page": str(page)}, seen)
                found.update((issue.number, issue) for issue in issues)
                if not more:
                    break
        self._pages = seen
        for number, issue in list(self._written.items()):
            if number in found and found[number].updated >= issue.updated:
                del self._written[number]
        found.update(self._written)
        return sorted(found.values(), key=lambda issue: -issue.number)

    def _page(
        self, query: Mapping[str, str], seen: dict[str, tuple[str, list[Issue], bool]]
    ) -> tuple[list[Issue], bool]:
        query = {"labels": self._label, "sort": "created", "direction": "desc", "per_page": str(PAGE), **query}
        key = urllib.parse.urlencode(query)
        etag, issues, more = self._pages.get(key, ("", [], False))
        answer = self._github.get(self._path, query, etag=etag)
        if answer.status != 304:
            etag, issues, more = answer.etag, list(_issues(answer.data, self._login())), answer.more
        seen[key] = (etag, issues, more)
        return issues, more

    def _login(self) -> str:
        """Return the name of the token's user; empty for an app, which is none."""
        if self._user is None:
            try:
                self._user = _text(self._github.get("/user").data, "login")
            except Trouble as trouble:
                if trouble.reason not in ("forbidden", "not_found"):
                    raise
                self._user = ""
        return self._user

    def has_event(self, number: int, event: str, since: float) -> bool:
        """Return whether an issue has the comment of an event, written since then."""
        mark = marks.event_mark(event)
        for page in range(1, MOST_PAGES + 1):
            query = {"since": _iso(since), "per_page": str(PAGE), "page": str(page)}
            answer = self._github.get(f"{self._path}/{number}/comments", query)
            if any(mark in _text(comment, "body") for comment in _items(answer.data)):
                return True
            if not answer.more:
                break
        return False

    def open(self, title: str, body: str, labels: Sequence[str]) -> Issue:
        """Open an issue."""
        answer = self._github.post(self._path, {"title": title, "body": body, "labels": list(labels)})
        return self._note(answer.data)

    def comment(self, number: int, body: str) -> None:
        """Write a comment."""
        self._github.post(f"{self._path}/{number}/comments", {"body": body})

    def change(self, number: int, **what: str) -> Issue:
        """Change an issue's title, body or state."""
        return self._note(self._github.patch(f"{self._path}/{number}", what).data)

    def _note(self, data: Any) -> Issue:
        issue = _issue(data)
        if issue is None:
            raise Trouble("malformed", f"{self._path}: an issue of another shape: is that address GitHub's API?")
        self._written[issue.number] = issue
        return issue


def _items(data: Any) -> list[Any]:
    if not isinstance(data, list):
        raise Trouble("malformed", "a list of issues or comments is none: is that address GitHub's API?")
    return data


def _issues(data: Any, login: str) -> Iterator[Issue]:
    for one in _items(data):
        if isinstance(one, dict) and "pull_request" not in one and _is_trusted(one, login):
            issue = _issue(one)
            if issue is not None and (issue.fingerprint or issue.is_storm):
                yield issue


def _is_trusted(data: Mapping[str, Any], login: str) -> bool:
    user = data.get("user")
    is_own = bool(login) and _text(user, "login") == login
    return is_own or _text(user, "type") == "Bot" or data.get("author_association") in TRUSTED


def _issue(data: Any) -> Issue | None:
    if not isinstance(data, dict) or not isinstance(data.get("number"), int):
        return None
    labels = data.get("labels")
    return Issue(
        number=data["number"],
        is_open=data.get("state") == "open",
        title=_text(data, "title"),
        body=_text(data, "body"),
        created=_unix(_text(data, "created_at")),
        updated=_unix(_text(data, "updated_at")),
        closed=_unix(_text(data, "closed_at")),
        labels=frozenset(_text(label, "name") for label in labels) if isinstance(labels, list) else frozenset(),
    )


def _text(data: Any, name: str) -> str:
    value = data.get(name) if isinstance(data, dict) else None
    return value if isinstance(value, str) else ""


def _iso(at: float) -> str:
    return datetime.fromtimestamp(max(at, 0.0), timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def _unix(text: str) -> float:
    try:
        return datetime.strptime(text, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=timezone.utc).timestamp()
    except ValueError:
        return 0.0
