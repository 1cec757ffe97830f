"""Grafana's provisioning API for its own alert rules: a PUT replaces a group as a whole, so that deletes converge.

It has no lock for groups: one is read again just before it is written. Our mark is an annotation of each rule. Rules
are written as people's own (X-Disable-Provenance), or Grafana would lock them for people.
https://grafana.com/docs/grafana/latest/developers/http_api/alerting_provisioning/
"""

from __future__ import annotations

import hashlib
import json
import re
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from watchkeeper.findings import printable
from watchkeeper.sync.alert_groups import ALERT_GROUP, MARK, AlertGroup, digest
from watchkeeper.sync.grafana import missing
from watchkeeper.sync.grafana_answers import said, stale
from watchkeeper.sync.grafana_history import WORKERS
from watchkeeper.sync.objects import Live, Mark, Refused

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from watchkeeper.sync.http import Client

__all__ = ["READS", "WRITES", "GrafanaRules", "connect"]

RULES = "/api/v1/provisioning/alert-rules"
# Each may be allowed by one of several actions of Grafana's role-based access control.
READS = ("alert.provisioning:read", "alert.rules.provisioning:read")
WRITES = ("alert.provisioning:write", "alert.rules.provisioning:write")
_HEADERS = {"X-Disable-Provenance": "true"}
_MARK = re.compile(r"(\S+) (.+) (\S+)")


def connect(client: Client, owner: str, *, writes: bool) -> GrafanaRules:
    """Return the adapter. Refused where the token may not do what is needed."""
    for actions in (READS, WRITES) if writes else (READS,):
        if len(missing(client, actions)) == len(actions):
            message = f"the token lacks {actions[0]}: give it to its service account"
            raise Refused("rights", f"{client.url}: {message}")
    return GrafanaRules(client, owner)


class GrafanaRules:
    """The alert rules of one Grafana."""

    def __init__(self, client: Client, owner: str) -> None:
        self._client = client
        self._owner = owner
        self._taken: dict[str, str] = {}  # rules in groups that we may take none out of, and these groups

    def list(self, kind: str, wanted: Collection[str]) -> list[Live]:
        """Return all groups; those that are wanted or ours in full, with a request for each."""
        answer = self._client.request("GET", RULES)
        if not isinstance(answer.data, list):
            raise self._strange(RULES)
        held: dict[str, list[Mapping[str, Any]]] = {}
        for rule in answer.data:
            if isinstance(rule, dict):
                held.setdefault(f"{rule.get('folderUID')}/{rule.get('ruleGroup')}", []).append(rule)
        whole = [uid for uid, rules in held.items() if uid in wanted or self._mark(uid, rules).owner == self._owner]
        found = {uid: Live(AlertGroup(uid, {})) for uid in held.keys() - set(whole)}
        with ThreadPoolExecutor(max_workers=WORKERS) as pool:
            found |= {live.object.uid: live for live in pool.map(lambda uid: self.read(kind, uid), whole) if live}
        self._taken = {
            str(rule.get("uid")): uid
            for uid, rules in held.items()
            if uid in found and not self._is_as_applied(found[uid])
            for rule in rules
        }
        return list(found.values())

    def read(self, kind: str, uid: str) -> Live | None:  # noqa: ARG002 - as all servers have it
        """Return one group as it is now."""
        answer = self._client.request("GET", _path(uid), expect=(404,))
        if answer.status == 404:
            return None
        rules = answer.data.get("rules") if isinstance(answer.data, dict) else None
        if not isinstance(rules, list) or not all(isinstance(rule, dict) for rule in rules):
            raise self._strange(_path(uid))
        if not rules:
            return None  # as some versions answer
        mark = self._mark(uid, rules)
        held = {rule.get("provenance") or "" for rule in rules}
        others = ", ".join(sorted(printable(str(one))[:40] for one in held - {"", "api", "file"}))
        return Live(
            AlertGroup(uid, answer.data),
            mark.owner,
            mark.applied,
            version=hashlib.sha256(json.dumps(answer.data, sort_keys=True).encode()).hexdigest(),
            provisioned="file" in held,
            manager=others,
        )

    def create(self, kind: str, wanted: Any, mark: Mark) -> object:
        """Make a group; Stale where there is one. There is no version to tell."""
        if self.read(kind, wanted.uid) is not None:
            raise stale(ALERT_GROUP.name, wanted.title)
        self._put(wanted, mark)
        return None

    def update(self, kind: str, wanted: Any, mark: Mark, live: Live) -> object:
        """Replace a group; Stale where it is not as it was read, or gone."""
        self._check_same(kind, live)
        self._put(wanted, mark)
        return None

    def delete(self, kind: str, live: Live) -> None:
        """Delete a group; Stale where it is not as it was read, or gone."""
        self._check_same(kind, live)
        answer = self._client.request("DELETE", _path(live.object.uid), headers=_HEADERS, expect=(404,))
        if answer.status == 404:
            raise stale(ALERT_GROUP.name, live.object.title)

    def obstacle(self, wanted: AlertGroup) -> str:
        """Return why a group can't be written: Grafana would take a rule out of another group that holds its uid."""
        for rule in wanted.data["rules"]:
            if (holder := self._taken.get(rule["uid"], wanted.uid)) != wanted.uid:
                said_ = f"rule {rule['uid']} is in {holder}, which is not as we applied it"
                return f"{said_}: rename it here, or delete it there"
        return ""

    def _check_same(self, kind: str, live: Live) -> None:
        now = self.read(kind, live.object.uid)
        if now is None or now.version != live.version:
            raise stale(ALERT_GROUP.name, live.object.title)

    def _put(self, wanted: AlertGroup, mark: Mark) -> None:
        said_ = f"{mark.owner} {wanted.uid} {mark.applied}"
        rules = [{**rule, "annotations": {**rule["annotations"], MARK: said_}} for rule in wanted.data["rules"]]
        body = {**wanted.data, "rules": rules}
        answer = self._client.request("PUT", _path(wanted.uid), body=body, headers=_HEADERS, expect=(404, 409))
        if answer.status == 409:
            raise stale(ALERT_GROUP.name, wanted.title, answer)
        if answer.status == 404:
            message = said(answer) or "no reason is given"
            raise Refused("not-found", f'alert group "{wanted.title}": 404: {message}; is its folder there?')

    def _mark(self, uid: str, rules: Collection[Mapping[str, Any]]) -> Mark:
        """Return the mark of the group; that of a rule which was copied or moved here is none."""
        marks = [mark for mark in _marks(uid, rules) if mark.owner == self._owner] or list(_marks(uid, rules))
        return marks[0] if marks else Mark("")

    def _is_as_applied(self, live: Live) -> bool:
        return live.owner == self._owner and bool(live.object.data) and digest(live.object) == live.applied

    def _strange(self, path: str) -> Refused:
        return Refused("malformed", f"GET {self._client.url}{path}: not what Grafana answers: is something in between?")


def _marks(uid: str, rules: Collection[Mapping[str, Any]]) -> Iterator[Mark]:
    for rule in rules:
        annotations = rule.get("annotations")
        text = annotations.get(MARK) if isinstance(annotations, dict) else None
        match = _MARK.fullmatch(text) if isinstance(text, str) else None
        if match and match[2] == uid:
            yield Mark(match[1], match[3])


def _path(uid: str) -> str:
    folder, _, name = uid.partition("/")
    return f"/api/v1/provisioning/folder/{quote(folder, safe='')}/rule-groups/{quote(name, safe='')}"
