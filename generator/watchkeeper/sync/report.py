"""What a sync does or did, for people (text, Markdown for a comment) and for programs (JSON)."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any

from watchkeeper.findings import printable
from watchkeeper.sync.alert_groups import ALERT_GROUP
from watchkeeper.sync.objects import ACTIONS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from watchkeeper.sync.apply import Outcome
    from watchkeeper.sync.objects import Change
    from watchkeeper.sync.run import Result

__all__ = ["FORMATS", "MARK", "to_json", "to_markdown", "to_text"]

MARK = "<!-- watchkeeper sync -->"  # the first line of the comment, by which a later run finds it
LONGEST = 60_000  # characters: GitHub takes comments of 65,536
_UNDONE = ("failed", "skipped", "stale")
_SIGNS = {
    "created": "+", "changed": "~", "moved": ">", "adopted": "=", "deleted": "-", "conflict": "!", "orphan": "?",
}  # fmt: skip
_SPECIAL = frozenset("\\`*_[]()#|~<>&@!:")  # numbers in place of these are no structure, in Markdown and HTML alike


def to_text(results: Sequence[Result]) -> str:
    """Return lines for a terminal: each object that is not as it should be, what differs, and what came of it."""
    lines: list[str] = []
    for result in results:
        came = _came(result)
        for change in _told(result.changes):
            lines.append(f"{_SIGNS[change.action]} {_named(change)}: {_with(change, came)}")
            lines += [f"    {printable(line)}" for line in change.detail]
        lines.append(f"{_server(result)}: {_counts(result)}")
    return "\n".join(lines) + "\n"


def to_json(results: Sequence[Result]) -> str:
    """Return one object: the servers, and the changes of each, without those objects that stay as they are."""
    return json.dumps({"servers": [_data(result) for result in results]}, indent=2) + "\n"


def to_markdown(results: Sequence[Result]) -> str:
    """Return a comment for a pull request; of one that would be too long, the rest is counted."""
    head = [MARK, "### Watchkeeper sync", ""]
    head += [f"- `{_code(_server(result))}`: {_counts(result)}" for result in results]
    text = "\n".join([*head, ""])
    parts = [part for result in results for part in _parts(result)]
    for number, part in enumerate(parts):
        if len(text) + len(part) > LONGEST:
            return f"{text}\nAnd {len(parts) - number} more: see the log of the run.\n"
        text += part
    return text


FORMATS = {"text": to_text, "json": to_json, "markdown": to_markdown}


def _told(changes: Iterable[Change]) -> list[Change]:
    return [change for change in changes if change.action != "unchanged"]


def _came(result: Result) -> dict[tuple[str, str], Outcome]:
    return {(outcome.change.kind, outcome.change.uid): outcome for outcome in result.outcomes}


def _with(change: Change, came: dict[tuple[str, str], Outcome]) -> str:
    """Return the action, and why it was not done."""
    outcome = came.get((change.kind, change.uid))
    if outcome is None or outcome.result == "done":
        return change.action
    return printable(f"{change.action}: {outcome.result}: {outcome.message}")


def _server(result: Result) -> str:
    """Return the address, with what is brought there where that is not all."""
    only = " (alert rules)" if ALERT_GROUP.name in result.remote.kinds else ""
    return f"{result.remote.url}{only}"


def _counts(result: Result) -> str:
    """Return how many changes there are of each action, `1 created, 2 unchanged`; what was not done counts as that."""
    came = _came(result)
    found = Counter(change.action for change in result.changes)
    for outcome in came.values():
        if outcome.result != "done":
            found[outcome.change.action] -= 1
            found[outcome.result] += 1
    return ", ".join(f"{found[how]} {how}" for how in (*ACTIONS, *_UNDONE) if found[how]) or "nothing there"


def _named(change: Change) -> str:
    """Return what people and programs call an object."""
    name = f' "{change.title}"' if change.title != change.uid else ""
    return printable(f"{change.kind} {change.uid}{name}")


def _data(result: Result) -> dict[str, Any]:
    came = _came(result)
    found = []
    for change in _told(result.changes):
        data: dict[str, Any] = {name: getattr(change, name) for name in ("kind", "action", "uid", "title")}
        data["detail"] = list(change.detail)
        if outcome := came.get((change.kind, change.uid)):
            data |= {"result": outcome.result, "message": outcome.message}
        found.append(data)
    counts = Counter(change.action for change in result.changes)
    return {
        "server": result.remote.url,
        "counts": {action: counts[action] for action in ACTIONS},
        "changes": found,
    }


def _parts(result: Result) -> Iterator[str]:
    came = _came(result)
    for change in _told(result.changes):
        sign = "⚠️ " if change.action == "conflict" else ""
        line = f"{sign}{change.action}: {_escaped(_named(change))}"
        came_ = _with(change, came).removeprefix(change.action).removeprefix(": ")
        line += f": {_escaped(came_)}" if came_ else ""
        if not change.detail:
            yield f"\n<p>{line}</p>\n"
            continue
        detail = "\n".join(printable(text).replace("```", "'''") for text in change.detail)
        yield f"\n<details><summary>{line}</summary>\n\n```text\n{detail}\n```\n</details>\n"


def _escaped(text: str) -> str:
    """Return a text as code that neither Markdown nor HTML reads, and that calls nobody by @."""
    return f"<code>{''.join(f'&#{ord(one)};' if one in _SPECIAL else one for one in text)}</code>"


def _code(text: str) -> str:
    return printable(text).replace("`", "'")
