"""A ruler that takes groups of rules by HTTP: Mimir, Cortex, Grafana Cloud.

https://grafana.com/docs/mimir/latest/references/http-api/#ruler-rules: YAML, a namespace with groups in it. There are
neither versions nor places for notes, so a group is read again just before it is written, and what we applied stands
in a group of its own: an alert that never fires, with the digests of the groups in an annotation. One rule for all, as
Mimir takes 20 rules in a group by default. It is written first, and knows of each group what was and what will be, so
that a run may be cut off anywhere.
"""

from __future__ import annotations

import json
import threading
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from watchkeeper.findings import printable
from watchkeeper.sync.grafana_answers import stale
from watchkeeper.sync.objects import Live, Mark, Refused
from watchkeeper.sync.rule_groups import RULE_GROUP, RuleGroup, digest

if TYPE_CHECKING:
    from collections.abc import Collection

    from watchkeeper.sync.http import Answer, Client

__all__ = ["MARKS", "Ruler"]

MARKS = "watchkeeper-applied"  # the group with our marks
YAML = "application/yaml"
_ALERT = "WatchkeeperApplied"

# By the name of each group the digests that we gave it: the last one, and the one before.
Marks = dict[str, list[str]]


class Ruler:
    """One namespace of a ruler; the client's address is that of the rules, up to the namespace."""

    def __init__(self, client: Client, owner: str, namespace: str, tenant: str = "") -> None:
        self._client = client
        self._owner = owner
        self._namespace = namespace
        self._headers = {"X-Scope-OrgID": tenant} if tenant else {}
        self._lock = threading.Lock()  # all write the one group of marks

    def list(self, kind: str, wanted: Collection[str]) -> list[Live]:  # noqa: ARG002 - as all servers have it
        """Return all groups of the namespace but that of the marks."""
        answer = self._asked("")
        found = _loaded(answer, self._told("")) if answer.status == 200 else {}
        groups = found.get(self._namespace) or []
        if not isinstance(groups, list) or not all(isinstance(one, dict) and one.get("name") for one in groups):
            raise Refused("malformed", f"{self._told('')}: no groups of rules: is it the address of a ruler's rules?")
        by_name = {str(group["name"]): group for group in groups}
        marks = self._marks(by_name.pop(MARKS, None))
        return [self._live(name, group, marks) for name, group in by_name.items()]

    def read(self, kind: str, uid: str) -> Live | None:  # noqa: ARG002 - as above
        """Return one group as it is now."""
        group = self._group(uid)
        return self._live(uid, group, self._marks(self._group(MARKS))) if group is not None else None

    def create(self, kind: str, wanted: Any, mark: Mark) -> object:  # noqa: ARG002 - as above
        """Make a group; Stale where there is one. There is no version to tell."""
        if self._group(wanted.uid) is not None:
            raise stale(RULE_GROUP.name, wanted.title)
        self._write(wanted, mark, "")
        return None

    def update(self, kind: str, wanted: Any, mark: Mark, live: Live) -> object:  # noqa: ARG002 - as above
        """Replace a group; Stale where it is not as it was read, or gone."""
        self._check_same(live)
        self._write(wanted, mark, str(live.version))
        return None

    def delete(self, kind: str, live: Live) -> None:  # noqa: ARG002 - as above
        """Delete a group; Stale where it is not as it was read, or gone."""
        self._check_same(live)
        answer = self._client.request(
            "DELETE", self._path(live.object.uid), headers=self._headers, accept="*/*", expect=(404,)
        )
        if answer.status == 404:
            raise stale(RULE_GROUP.name, live.object.title)
        with self._lock:
            marks = self._marks(self._group(MARKS))
            if marks.pop(live.object.uid, None):
                self._mark(marks)

    def _check_same(self, live: Live) -> None:
        group = self._group(live.object.uid)
        if group is None or digest(RuleGroup(live.object.uid, group)) != live.version:
            raise stale(RULE_GROUP.name, live.object.title)

    def _write(self, wanted: RuleGroup, mark: Mark, before: str) -> None:
        """Write the mark, and then the group."""
        with self._lock:
            marks = self._marks(self._group(MARKS))
            digests = [mark.applied, before] if before and before in marks.get(wanted.uid, []) else [mark.applied]
            if marks.get(wanted.uid) != digests:
                self._mark({**marks, wanted.uid: list(dict.fromkeys(digests))})
        self._post(wanted.data)

    def _live(self, name: str, group: dict[str, Any], marks: Marks) -> Live:
        thing = RuleGroup(name, group)
        now, applied = digest(thing), marks.get(name, [])
        if not applied:
            return Live(thing, version=now)
        return Live(thing, self._owner, now if now in applied else applied[0], version=now)

    def _marks(self, group: dict[str, Any] | None) -> Marks:
        """Return what the group of marks says. Where it says nothing that we understand, nothing is ours."""
        try:
            said = group["rules"][0]["annotations"] if group else {}
            owner, applied = said.get("owner", ""), json.loads(said.get("applied", "{}"))
            found = {str(name): [str(one) for one in digests] for name, digests in applied.items()}
        except (AttributeError, IndexError, KeyError, TypeError, ValueError):
            return {}
        if owner not in ("", self._owner):
            whose = printable(str(owner))[:60]
            message = f'the namespace {self._namespace} is that of "{whose}": set another sync.ruler_namespace'
            raise Refused("exists", f"{self._client.url}: {message}")
        return found

    def _mark(self, marks: Marks) -> None:
        annotations = {"owner": self._owner, "applied": json.dumps(marks, sort_keys=True)}
        rule = {"alert": _ALERT, "expr": "vector(0) > 0", "annotations": annotations}
        self._post({"name": MARKS, "rules": [rule]})

    def _post(self, group: Any) -> None:
        from watchkeeper.render.yaml_text import to_yaml

        headers = {"Content-Type": YAML, **self._headers}
        body = to_yaml(group, "")
        self._client.request("POST", self._path(""), body=body, headers=headers, accept="*/*")

    def _group(self, name: str) -> dict[str, Any] | None:
        answer = self._asked(name)
        return _loaded(answer, self._told(name)) if answer.status == 200 else None

    def _asked(self, name: str) -> Answer:
        """Ask for a group, or for all. Without any, versions differ: 404, or an empty answer."""
        answer = self._client.request(
            "GET", self._path(name), headers=self._headers, accept=f"{YAML}, */*", expect=(404,)
        )
        # pkg/ruler/api.go of Mimir: "no rule groups found", "group does not exist"
        if answer.status == 404 and "group" not in str(answer.data):
            message = "404, and not as a ruler says it: is it the address of its rules, such as .../config/v1/rules?"
            raise Refused("not-found", f"{self._told(name)}: {message}")
        return answer

    def _path(self, name: str) -> str:
        path = f"/{quote(self._namespace, safe='')}"
        return f"{path}/{quote(name, safe='')}" if name else path

    def _told(self, name: str) -> str:
        return f"GET {self._client.url}{self._path(name)}"


def _loaded(answer: Answer, told: str) -> dict[str, Any]:
    """Return what a YAML answer holds, all scalars as texts: what looks like a number or a date is none here."""
    import yaml

    loader = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
    try:
        found = yaml.load(answer.data or "", Loader=loader)  # noqa: S506 - it makes nothing but texts, lists and dicts
    except (yaml.YAMLError, RecursionError):
        raise Refused("malformed", f"{told}: no YAML: is it the address of a ruler's rules?") from None
    if found is None or found == "":
        return {}
    if not isinstance(found, dict):
        raise Refused("malformed", f"{told}: no groups of rules: is it the address of a ruler's rules?")
    return found
