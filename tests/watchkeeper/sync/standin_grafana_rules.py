"""The provisioning API for alert rules of the Grafana on loopback: pkg/services/ngalert/api/api_provisioning.go."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from standin_server import Reply, Request

if TYPE_CHECKING:
    from standin_grafana import Grafana

RIGHTS = {"alert.provisioning:read", "alert.provisioning:write"}
GROUP = "/api/v1/provisioning/folder/([^/]+)/rule-groups/([^/]+)"


class AlertRules:
    """Groups by folder and name, with the rules as the API gives them."""

    def __init__(self, grafana: Grafana) -> None:
        self.grafana = grafana
        self.groups: dict[tuple[str, str], dict[str, Any]] = {}
        self.writes = 0
        grafana.rights |= RIGHTS
        grafana.routes += [
            ("GET", "/api/v1/provisioning/alert-rules", self._list),
            ("GET", GROUP, self._get),
            ("PUT", GROUP, self._put),
            ("DELETE", GROUP, self._delete),
        ]

    def _list(self, _request: Request) -> Reply:
        if denied := self.grafana.denied("alert.provisioning:read"):
            return denied
        return Reply(200, [rule for group in self.groups.values() for rule in group["rules"]])  # RouteGetAlertRules

    def _get(self, request: Request) -> Reply:
        group = self.groups.get(_place(request))
        # GetRuleGroup: ErrAlertRuleGroupNotFound
        return Reply(200, group) if group else Reply(404, {"message": "rule group not found"})

    def _put(self, request: Request) -> Reply:
        if denied := self.grafana.denied("alert.provisioning:write"):
            return denied
        folder, name = _place(request)
        if folder not in self.grafana.folders:
            return Reply(400, {"message": "folder does not exist"})
        old = self.groups.get((folder, name), {"rules": []})
        if any(rule["provenance"] == "file" for rule in old["rules"] if "provenance" in rule):
            # ReplaceRuleGroup: canUpdateProvenanceInRuleGroup
            return Reply(409, {"message": "cannot update with provided provenance '', needs 'file'"})
        uids = {rule["uid"] for rule in request.json["rules"]}
        for group in self.groups.values():  # a rule of this uid moves: store.CalculateChanges looks for it everywhere
            group["rules"] = [rule for rule in group["rules"] if rule["uid"] not in uids]
        self.writes += 1
        rules = [self._stored(rule, folder, name, request) for rule in request.json["rules"]]
        self.groups[folder, name] = {
            "title": name, "folderUid": folder, "interval": request.json["interval"], "rules": rules,
        }  # fmt: skip
        self.groups = {key: group for key, group in self.groups.items() if group["rules"]}
        return Reply(200, request.json)  # RoutePutAlertRuleGroup answers what it was given

    def _stored(self, rule: dict[str, Any], folder: str, name: str, request: Request) -> dict[str, Any]:
        # ProvisionedAlertRuleFromAlertRule; models.AlertQuery.PreSave for the members of the model
        data = [{**one, "model": {"intervalMs": 1000, "maxDataPoints": 43200, **one["model"]}} for one in rule["data"]]
        made = {
            "id": self.writes, "keep_firing_for": "0s", "isPaused": False, "notification_settings": None,
            "record": None, **rule, "data": [{"queryType": "", **one} for one in data], "orgID": 1, "folderUID": folder,
            "ruleGroup": name, "updated": f"2026-01-01T00:00:{self.writes:02}Z",
        }  # fmt: skip
        made["for"] = made["for"].replace("300s", "5m")  # model.Duration
        return made if "x-disable-provenance" in request.headers else {**made, "provenance": "api"}

    def _delete(self, request: Request) -> Reply:
        if denied := self.grafana.denied("alert.provisioning:write"):
            return denied
        if self.groups.pop(_place(request), None) is None:
            return Reply(404, {"message": "rule group not found"})
        self.writes += 1
        return Reply(204)


def _place(request: Request) -> tuple[str, str]:
    folder, name = request.parts
    return unquote(folder), unquote(name)
