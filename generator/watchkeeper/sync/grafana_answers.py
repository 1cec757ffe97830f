"""What Grafana's refusals mean, the same for both of its APIs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from watchkeeper.findings import printable
from watchkeeper.sync.objects import Refused, Stale

if TYPE_CHECKING:
    from watchkeeper.sync.http import Answer

__all__ = ["forbidden", "said", "stale"]

_LONGEST = 300


def said(answer: Answer) -> str:
    """Return an answer's message as one short line, empty where it has none."""
    found = answer.data.get("message") if isinstance(answer.data, dict) else ""
    return printable(" ".join(found.split()))[:_LONGEST] if isinstance(found, str) else ""


def stale(kind: str, title: str, answer: Answer | None = None) -> Stale:
    """Return that somebody else was faster."""
    reason = said(answer) if answer else ""
    message = f'somebody else has written, made or deleted {kind} "{title}" since it was read: run it again'
    return Stale("stale", f"{message} ({reason})" if reason else message)


def forbidden(kind: str, title: str, answer: Answer) -> Refused:
    """Return why a write is forbidden: to the token, or to all since another tool holds the object."""
    reason = said(answer)
    if "manage" in reason or "provision" in reason:  # "Cannot change resource manager identity": gcx#1324
        return Refused("provisioned", f'{kind} "{title}": {reason}: another tool holds it, take it out there')
    return Refused("forbidden", f'{kind} "{title}": 403: {reason or "no reason is given"}; the token may not do this')
