"""Alerts as Grafana's own alerting has them: a query (A), its last value (B), and a threshold (C)."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

from watchkeeper.findings import Finding
from watchkeeper.names import GRAFANA_UID, milliseconds
from watchkeeper.promql import ParseError, parse
from watchkeeper.promql.threshold import Condition, ThresholdError, condition
from watchkeeper.render.grafana_alerts import ID
from watchkeeper.render.grafana_provisioning import dollars
from watchkeeper.render.grafana_templates import NotForGrafana, rewritten, unbraced

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from watchkeeper.findings import Place
    from watchkeeper.model import Alert
    from watchkeeper.outputs import Made
    from watchkeeper.render.grafana_alerts import Options

_EVALUATORS = {">": "gt", "<": "lt", "==": "eq", "!=": "ne", ">=": "gte", "<=": "lte"}
_SINCE = (11, 6)  # of eq, ne, gte and lte (grafana#99516)
_TICK = 10_000  # milliseconds: Grafana evaluates at multiples of these, and refuses other intervals
_MINUTE = 60_000


class Writer:
    """Makes the rules of a pack; `findings` are what Grafana has no words for."""

    def __init__(self, made: Made, options: Options) -> None:
        self.made = made
        self.options = options
        self.findings: list[Finding] = []
        self.uids: set[str] = set()

    def group(self, definition: Any, document: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        """Yield the group of one rule file, where it has alerts."""
        written = document["groups"][0]
        rules = [
            self.rule(rule, data, written)
            for rule, data in zip(definition.rules, written["rules"], strict=True)
            if "alert" in data
        ]
        if rules:
            yield {
                "orgId": self.options.org,
                "name": dollars(definition.name),
                "folder": dollars(self.options.folder),
                "interval": self.interval(definition.interval or self.options.interval),
                "rules": rules,
            }

    def interval(self, wanted: str) -> str:
        ticks = -(-(milliseconds(wanted) or _MINUTE) // _TICK)
        return f"{ticks * _TICK // 1000}s"

    def rule(self, alert: Alert, data: Mapping[str, Any], group: Mapping[str, Any]) -> dict[str, Any]:
        rule: dict[str, Any] = {
            "uid": self.uid(alert.name, group["name"]),
            "title": dollars(alert.name),
            "condition": "C",
            "data": self.data(alert),
        }
        # A series that is not there does not fire, and one that went away is resolved at once, as in Prometheus.
        rule |= {"noDataState": "OK", "execErrState": "Error", "for": alert.for_ or "0s"}
        rule["missing_series_evals_to_resolve"] = 1
        if alert.keep_firing_for:
            rule["keepFiringFor"] = alert.keep_firing_for
        if alert.name in self.made.panel_of:
            uid, panel = self.made.panel_of[alert.name]
            rule |= {"dashboardUid": uid, "panelId": panel}
        annotations = {
            name: unbraced(self.text(alert, f"annotation {name}", text))
            for name, text in data.get("annotations", {}).items()
        }
        labels = {**group.get("labels", {}), **data.get("labels", {})}
        if annotations:
            rule["annotations"] = annotations
        if labels:
            rule["labels"] = {name: dollars(self.text(alert, f"label {name}", text)) for name, text in labels.items()}
        return rule

    def uid(self, name: str, group: str) -> str:
        uid = name if GRAFANA_UID.fullmatch(name) else ""
        if not uid or uid in self.uids:
            uid = hashlib.sha256(f"{group}\0{name}\0{len(self.uids) if uid else ''}".encode()).hexdigest()[:40]
        self.uids.add(uid)
        return uid

    def data(self, alert: Alert) -> list[dict[str, Any]]:
        found = self.condition(alert)
        expr = found.without(alert.expr) if found else alert.expr
        prometheus = {"type": "prometheus", "uid": self.options.datasource}
        query = {"refId": "A", "datasource": prometheus, "editorMode": "code", "expr": expr}
        reduced = {"refId": "B", "type": "reduce", "datasource": _EXPRESSION, "expression": "A", "reducer": "last"}
        decided: dict[str, Any] = {"refId": "C", "datasource": _EXPRESSION}
        if found:
            evaluator = {"type": _EVALUATORS[found.op], "params": [found.value]}
            decided |= {"type": "threshold", "expression": "B", "conditions": [{"evaluator": evaluator}]}
        else:
            # The expression itself filters: whatever it returns fires, 0 and NaN included.
            decided |= {"type": "math", "expression": "is_null($B) == 0"}
        return [
            _part("A", self.options.datasource, {**query, "instant": True, "range": False}),
            _part("B", "__expr__", reduced),
            _part("C", "__expr__", decided),
        ]

    def condition(self, alert: Alert) -> Condition | None:
        """Return the comparison that decides, None where there is none that this Grafana could make."""
        try:
            found = condition(parse(alert.expr))
        except (ParseError, ThresholdError):
            return None
        finite = abs(found.value) < float("inf")  # JSON has no others; false of NaN too
        known = found.op in ("<", ">") or self.made.settings.targets.grafana >= _SINCE
        return found if finite and known else None

    def text(self, alert: Alert, what: str, text: str) -> str:
        try:
            return rewritten(text)
        except NotForGrafana as error:
            self.findings.append(_finding(alert.name, what, error, alert.place))
            return text


_EXPRESSION = {"type": "__expr__", "uid": "__expr__"}


def _part(ref: str, datasource: str, model: dict[str, Any]) -> dict[str, Any]:
    """Return one step; the range is of no use to an instant query, and has to be there."""
    return {
        "refId": ref,
        "relativeTimeRange": {"from": 600, "to": 0},
        "datasourceUid": datasource,
        "model": model,
    }


def _finding(alert: str, what: str, error: NotForGrafana, place: Place) -> Finding:
    return Finding(
        ID,
        f"{what} of alert {alert} can't be said in Grafana's alerting: {error}",
        place,
        why="Grafana would show the error in place of the text.",
        fix=error.fix,
    )
