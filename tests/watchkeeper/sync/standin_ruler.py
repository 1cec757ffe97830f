"""A ruler on loopback that answers as Mimir's source says: https://github.com/grafana/mimir, pkg/ruler/api.go.

No Mimir was there to ask.
"""

from __future__ import annotations

import contextlib
import re
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import yaml
from standin_server import Reply, Request, Server

if TYPE_CHECKING:
    from collections.abc import Iterator

TOKEN = "ruler-0123456789abcdef"
PREFIX = "/prometheus/config/v1/rules"
TEXT = {"Content-Type": "text/plain; charset=utf-8"}  # of http.Error, which ends with a newline
YAML = {"Content-Type": "application/yaml"}
MOST_RULES = 20  # pkg/util/validation/limits.go: ruler_max_rules_per_rule_group
_UNITS = (("w", 604_800), ("d", 86_400), ("h", 3600), ("m", 60), ("s", 1))


class Ruler:
    """Groups by namespace and name. `writes` counts what changed something; `empty_is_404`: until Mimir 2.4 or so."""

    def __init__(self, *, latency: float = 0.0, empty_is_404: bool = True) -> None:
        self.server = Server(self.answer, latency=latency)
        self.groups: dict[str, dict[str, Any]] = {}
        self.empty_is_404 = empty_is_404
        self.token = TOKEN
        self.tenants: set[str] = set()
        self.writes = 0

    @property
    def url(self) -> str:
        return self.server.url + PREFIX

    @contextlib.contextmanager
    def running(self) -> Iterator[Ruler]:
        with self.server.running():
            yield self

    def answer(self, request: Request) -> Reply:
        with self.server.lock:
            if request.headers.get("authorization") != f"Bearer {self.token}":
                return Reply(401, "no credentials provided\n", TEXT)  # of the gateway before it
            self.tenants.add(request.headers.get("x-scope-orgid", ""))
            match = re.fullmatch(rf"{PREFIX}/([^/]+)(?:/([^/]+))?", request.raw_path)
            if not match:
                return Reply(404, "404 page not found\n", TEXT)  # net/http: NotFound
            namespace, name = (unquote(part) if part else "" for part in match.groups())
            groups = self.groups.get(namespace, {})
            if request.method == "GET" and not name:
                return self._list(namespace, groups)
            if request.method == "GET":
                # GetRuleGroup, with the text of rulestore.ErrGroupNotFound
                group = groups.get(name)
                return Reply(200, yaml.dump(group), YAML) if group else Reply(404, "group does not exist\n", TEXT)
            if request.method == "POST" and not name:
                return self._set(namespace, yaml.safe_load(request.body))
            if request.method == "DELETE" and name:
                if name not in groups:
                    return Reply(404, "group does not exist\n", TEXT)  # DeleteRuleGroup
                del groups[name]
                self.writes += 1
                return accepted()
            return Reply(405, "", TEXT)

    def _list(self, namespace: str, groups: dict[str, Any]) -> Reply:
        if not groups:
            # ListRules, with the text of ErrNoRuleGroups; since grafana/mimir#1844 or so an empty map
            return Reply(404, "no rule groups found\n", TEXT) if self.empty_is_404 else Reply(200, "{}\n", YAML)
        return Reply(200, yaml.dump({namespace: list(groups.values())}), YAML)

    def _set(self, namespace: str, group: Any) -> Reply:
        if not isinstance(group, dict) or not group.get("name"):
            return Reply(400, "unable to decoded rule group\n", TEXT)  # CreateRuleGroup, ErrBadRuleGroup
        rules = group.get("rules") or []
        if len(rules) > MOST_RULES:
            # pkg/ruler/ruler.go: errMaxRulesPerRuleGroupPerUserLimitExceeded
            text = f"per-user rules per rule group limit (limit: {MOST_RULES} actual: {len(rules)}) exceeded\n"
            return Reply(400, text, TEXT)
        self.groups.setdefault(namespace, {})[group["name"]] = stored(group)
        self.writes += 1
        return accepted()


def accepted() -> Reply:
    # respondAccepted
    return Reply(202, {"status": "success", "data": None, "errorType": "", "error": ""})


def stored(group: dict[str, Any]) -> dict[str, Any]:
    """The group as it comes back: rulespb.FromProto, durations as model.Duration writes them, no empty fields."""
    rules = [
        {key: duration(value) if key in ("for", "keep_firing_for") else value for key, value in rule.items() if value}
        for rule in group.get("rules", [])
    ]
    head = {
        key: duration(value) if key in ("interval", "query_offset") else value
        for key, value in group.items()
        if value and key != "rules"
    }
    return {**head, "rules": rules}


def duration(text: str) -> str:
    """model.Duration.String: each unit at most once, from the largest that fits."""
    left = sum(int(number) * dict(_UNITS)[unit] for number, unit in re.findall(r"(\d+)([wdhms])", text))
    said = ""
    for unit, seconds in _UNITS:
        number, rest = divmod(left, seconds)
        # Weeks and days only where nothing is left below them.
        if number and not (rest and unit in "wd"):
            said, left = f"{said}{number}{unit}", rest
    return said or "0s"
