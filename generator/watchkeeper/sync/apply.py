"""Makes the changes of a plan at a server: in order, several at once, and so that a second run converges.

Nothing is written blindly. The server locks each object by the version that the plan saw; where the connection ended
after a write was sent, the object is read again and compared.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, replace
from itertools import groupby
from typing import TYPE_CHECKING

from watchkeeper.sync.judge import DASHBOARD, FOLDER
from watchkeeper.sync.objects import Mark, Refused, Stale, Unsure
from watchkeeper.sync.plan import phase

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from watchkeeper.sync.audit import Audit
    from watchkeeper.sync.judge import Kind
    from watchkeeper.sync.objects import Change, Live, Server

__all__ = ["KINDS", "Outcome", "apply"]

KINDS = {kind.name: kind for kind in (FOLDER, DASHBOARD)}
_TRIES = 4  # of one write whose answers are lost
# Reasons of a refusal that all other writes would meet too.
_FOR_ALL = frozenset({"address", "html", "limit", "network", "redirect", "tls", "unauthorized"})


@dataclass(frozen=True)
class Outcome:
    """What came of a change: `done`, `stale` (somebody else wrote since the plan), `failed`, or `skipped`."""

    change: Change
    result: str
    message: str = ""


def apply(
    changes: Iterable[Change],
    server: Server,
    owner: str,
    *,
    kinds: Mapping[str, Kind] = KINDS,
    workers: int = 8,
    audit: Audit | None = None,
    progress: Callable[[Outcome], None] = lambda _outcome: None,
) -> list[Outcome]:
    """Make those changes that are writes, as `plan` has ordered them, and return what came of each.

    Where something failed, nothing is deleted: what was to take its place may be missing. A run after that does it.
    `progress` is told each outcome as it comes.
    """
    writer = _Writer(server, owner, kinds, audit)
    outcomes: list[Outcome] = []
    writes = sorted((change for change in changes if change.writes), key=phase)
    for number, group in groupby(writes, key=phase):
        failed = [outcome.change for outcome in outcomes if outcome.result != "done"]
        for outcome in _run(list(group), number, failed, writer, workers):
            progress(outcome)
            outcomes.append(outcome)
    return outcomes


def _run(changes: list[Change], number: int, failed: list[Change], writer: _Writer, workers: int) -> Iterator[Outcome]:
    """Make the changes of one phase; yield the outcomes as they come."""
    if number > 1 and failed:
        yield from (Outcome(change, "skipped", "nothing is deleted after a failure") for change in changes)
        return
    lost = {change.uid for change in failed if change.kind == FOLDER.name and change.action == "created"}
    if number in (0, 3):
        # Each folder is in one before it, so one by one.
        for change in changes:
            outcome = _unless_lost(change, lost) or writer.write(change)
            if outcome.result != "done" and change.action == "created":
                lost.add(change.uid)
            yield outcome
        return
    todo = []
    for change in changes:
        if skipped := _unless_lost(change, lost):
            yield skipped
        else:
            todo.append(change)
    pool = ThreadPoolExecutor(max_workers=workers)
    try:
        for future in as_completed([pool.submit(writer.write, change) for change in todo]):
            yield future.result()
    finally:
        pool.shutdown(cancel_futures=True)  # on Ctrl-C too: what has begun ends, and nothing more begins


def _unless_lost(change: Change, lost: set[str]) -> Outcome | None:
    """Return that a change is skipped if the folder that it goes into could not be made."""
    if change.wanted is None or change.kind not in (FOLDER.name, DASHBOARD.name):
        return None
    above = change.wanted.parent if change.kind == FOLDER.name else change.wanted.folder
    return Outcome(change, "skipped", f'its folder "{above}" could not be made') if above in lost else None


class _Writer:
    """Makes single changes; called by several threads."""

    def __init__(self, server: Server, owner: str, kinds: Mapping[str, Kind], audit: Audit | None) -> None:
        self._server, self._owner, self._kinds, self._audit = server, owner, kinds, audit
        self._stopped = False

    def write(self, change: Change) -> Outcome:
        """Make a change, and tell the audit of it."""
        if self._stopped:
            return Outcome(change, "skipped", "not tried after a failure that is not of this object")
        kind = self._kinds[change.kind]
        mark = Mark(self._owner, kind.digest(change.wanted) if change.wanted is not None else "")
        before = kind.digest(change.live.object) if change.live else ""
        try:
            version = self._send(kind, change, mark)
        except Refused as error:
            self._stopped = self._stopped or error.reason in _FOR_ALL
            self._tell(change, before, mark.applied, "unsure" if isinstance(error, Unsure) else "refused")
            return Outcome(change, "stale" if isinstance(error, Stale) else "failed", str(error))
        self._tell(change, before, mark.applied, "written")
        if version is not None and kind.adopts:
            self._settle(kind, change, mark, version)
        return Outcome(change, "done")

    def _send(self, kind: Kind, change: Change, mark: Mark) -> object:
        """Write until it is known that it was done; return the version that it made, None where that is not known.

        A write may be repeated, since the server takes it only for the version that was read: one that did arrive
        makes the next one stale.
        """
        for attempt in range(_TRIES):
            try:
                if change.action == "created":
                    return self._server.create(kind.name, change.wanted, mark)
                if change.live is None:
                    raise ValueError(f"{change.action} needs what is live")
                if change.action == "deleted":
                    self._server.delete(kind.name, change.live)
                    return None
                return self._server.update(kind.name, change.wanted, mark, change.live)
            except (Stale, Unsure) as error:  # noqa: PERF203 - a write takes milliseconds
                now = self._server.read(kind.name, change.uid)
                if _is_done(kind, change, mark, now):
                    return now.version if now else None
                if isinstance(error, Stale):
                    raise
                if not _is_same(now, change.live):
                    raise Stale("stale", "somebody else has written it since the plan: run it again") from None
                if attempt == _TRIES - 1:
                    raise
        raise AssertionError("the last attempt returns or raises")

    def _settle(self, kind: Kind, change: Change, mark: Mark, version: object) -> None:
        """Leave the digest of what the server made of the object, if that is another than what it was given.

        Grafana migrates what it is given, and what it makes of it must not be taken for an edit by hand the next time.
        It is certain that it is none while the version is still the one that our write made.
        """
        try:
            now = self._server.read(kind.name, change.uid)
            if now is None or now.version != version:
                return
            stored = kind.digest(now.object)
            if stored not in (mark.applied, now.stored):
                self._server.update(kind.name, change.wanted, replace(mark, stored=stored), now)
                self._tell(change, stored, stored, "written")
        except Refused:
            return  # the write itself is done; at worst the next plan asks whether somebody edited

    def _tell(self, change: Change, before: str, after: str, outcome: str) -> None:
        if self._audit:
            self._audit.record(
                action=change.action, kind=change.kind, uid=change.uid, title=change.title,
                before=before, after=after, outcome=outcome,
            )  # fmt: skip


def _is_done(kind: Kind, change: Change, mark: Mark, now: Live | None) -> bool:
    """Tell whether what is live is what the change was to make: then an answer was lost, or another run was faster."""
    if change.wanted is None or now is None:
        return change.wanted is None and now is None
    is_marked = not kind.adopts or (now.owner, now.applied) == (mark.owner, mark.applied)
    return is_marked and kind.digest(now.object) in (mark.applied, now.stored)


def _is_same(now: Live | None, before: Live | None) -> bool:
    if now is None or before is None:
        return now is before
    return bool(now.version == before.version)
