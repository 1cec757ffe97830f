"""Groups of Grafana's own alert rules: made of the file that Grafana would provision, and compared.

The API has other names than the file for some members, as in Grafana's
pkg/services/ngalert/api/tooling/definitions.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from watchkeeper.findings import printable
from watchkeeper.names import milliseconds
from watchkeeper.sync.diff import LINES, values
from watchkeeper.sync.judge import Kind
from watchkeeper.sync.rule_groups import duration_text

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["ALERT_GROUP", "MARK", "SCHEME", "AlertGroup", "digest", "from_file", "simplified"]

JSON = dict[str, Any]

# An annotation with our mark, in each rule. Grafana keeps those with two underscores at both ends out of notifications.
MARK = "__watchkeeper__"
SCHEME = "1"  # of digests, as in `canonical`
_MISSING_SERIES = (12, 0)  # the first version that can say when a series that went away is resolved

_RENAMED = {"keepFiringFor": "keep_firing_for", "missing_series_evals_to_resolve": "missingSeriesEvalsToResolve"}
# Members of a rule that are never compared: where it is, and what the server numbers.
_IGNORED = frozenset({"id", "orgID", "folderUID", "ruleGroup", "updated", "provenance"})
# What PreSave in pkg/services/ngalert/models/alert_query.go adds to each query.
_QUERY_DEFAULTS = {"intervalMs": 1000, "maxDataPoints": 43200}


@dataclass(frozen=True)
class AlertGroup:
    """A group in the form of the API. `uid` is the folder's, a slash, and the name."""

    uid: str
    data: Mapping[str, Any]

    @property
    def title(self) -> str:
        """Its name, which may be another group's in another folder."""
        return self.uid.partition("/")[2]


def from_file(document: Mapping[str, Any], folder: str, target: tuple[int, int]) -> list[AlertGroup]:
    """Return the groups of a file of `render.grafana_alerts`, for the folder of that uid."""
    found = []
    for group in document.get("groups", []):
        name = _plain(group["name"])
        place = {"orgID": group["orgId"], "folderUID": folder, "ruleGroup": name}
        rules = [{**_rule(rule, target), **place} for rule in group["rules"]]
        interval = (milliseconds(group["interval"]) or 0) // 1000
        data = {"title": name, "folderUid": folder, "interval": interval, "rules": rules}
        found.append(AlertGroup(f"{folder}/{name}", data))
    return found


def _rule(rule: Mapping[str, Any], target: tuple[int, int]) -> JSON:
    made = {_RENAMED.get(name, name): value for name, value in rule.items()}
    made["title"] = _plain(made["title"])
    made["labels"] = {name: _plain(value) for name, value in made.get("labels", {}).items()}
    annotations = dict(made.get("annotations", {}))
    if "dashboardUid" in made:
        annotations |= {"__dashboardUid__": made.pop("dashboardUid"), "__panelId__": str(made.pop("panelId"))}
    if target < _MISSING_SERIES:
        made.pop("missingSeriesEvalsToResolve", None)
    return {**made, "annotations": annotations}


def _plain(text: str) -> str:
    """Return a text without what keeps it out of the environment's way: only files are filled in from there."""
    return text.replace("$$", "$")


def digest(group: AlertGroup) -> str:
    """Return what changes when somebody edits the group. The uid is in it, so that a copy's mark is not its own."""
    text = json.dumps([group.uid, simplified(group.data)], sort_keys=True)
    return f"{SCHEME}-{hashlib.sha256(text.encode()).hexdigest()}"


def simplified(data: Mapping[str, Any]) -> JSON:
    """Return the interval, and the rules by what they are called, without what is as by default."""
    found: JSON = {"interval": data.get("interval")}
    for number, rule in enumerate(data.get("rules") or []):
        name = f'rule "{rule.get("title")}"'
        found[name if name not in found else f"{name} ({number})"] = {"place": number, **_simple_rule(rule)}
    return found


def _simple_rule(rule: Mapping[str, Any]) -> JSON:
    found = {name: value for name, value in rule.items() if name not in _IGNORED}
    found["annotations"] = {name: text for name, text in (found.get("annotations") or {}).items() if name != MARK}
    for name in ("for", "keep_firing_for"):
        found[name] = duration_text(milliseconds(str(found.get(name) or "0s")) or 0)
    for query in found.pop("data", None) or []:
        found[f'query "{query.get("refId")}"'] = _simple_query(query)
    return {name: value for name, value in found.items() if value or name == "place"}


def _simple_query(query: Mapping[str, Any]) -> JSON:
    found = {name: value for name, value in query.items() if value and name != "refId"}
    if found.get("datasourceUid") == "__expr__":
        found.pop("relativeTimeRange", None)  # expressions have no time of their own
    model = found.get("model")
    if isinstance(model, dict):
        found["model"] = {name: value for name, value in model.items() if _QUERY_DEFAULTS.get(name) != value}
    return found


def _differences(old: AlertGroup, new: AlertGroup) -> tuple[str, ...]:
    lines = list(values(simplified(old.data), simplified(new.data)))
    if len(lines) > LINES:
        lines[LINES - 1 :] = [f"and {len(lines) - LINES + 1} more differences"]
    return tuple(printable(line) for line in lines)


ALERT_GROUP = Kind("alert group", digest, _differences)
