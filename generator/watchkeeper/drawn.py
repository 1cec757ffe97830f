"""The values at which a panel draws a line or changes its colour."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from watchkeeper.dashboard_models import dig, items

if TYPE_CHECKING:
    from collections.abc import Iterator

    from watchkeeper.dashboard_models import Json

__all__ = ["drawn"]

_GRAPHS = frozenset({"timeseries", "barchart", "trend"})
_NUMBER = re.compile(r"-?\d{1,20}(?:\.\d{1,20})?")
_LARGEST = 1e300  # an integer of JSON may be larger than any float
_OTHERS = frozenset({"stat", "gauge", "bargauge", "graph", "singlestat"})


def drawn(panel: Json) -> list[float] | None:
    """Return the values; None where the panel draws no thresholds, or where these are no values of the series."""
    viz = panel.get("vizConfig")  # of v2
    kind = (dig(viz, "group") or dig(viz, "kind")) if isinstance(viz, dict) else panel.get("type")
    if not isinstance(kind, str) or kind not in _GRAPHS | _OTHERS:
        return None
    config = dig(viz, "spec", "fieldConfig") if isinstance(viz, dict) else panel.get("fieldConfig")
    listed = [dig(config, "defaults", "thresholds")]
    style = dig(config, "defaults", "custom", "thresholdsStyle", "mode")
    for _, override in items(dig(config, "overrides")):
        for _, one in items(override.get("properties")):
            if one.get("id") == "thresholds":
                listed.append(one.get("value"))
            elif one.get("id") == "custom.thresholdsStyle":
                style = dig(one.get("value"), "mode")
    if any(dig(one, "mode") == "percentage" for one in listed):
        return None
    found = list(_legacy(panel))
    if kind not in _GRAPHS or style not in (None, "off"):
        found += [float(step["value"]) for one in listed for _, step in items(dig(one, "steps")) if _is_number(step)]
    return found


def _is_number(step: Json) -> bool:
    value = step.get("value")
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < _LARGEST


def _legacy(panel: Json) -> Iterator[float]:
    """Yield those of panels of before Grafana 7, and of alerts in panels."""
    given: Any = panel.get("thresholds")
    if isinstance(given, str):  # of a singlestat, "50,80"
        yield from (float(word) for word in given.split(",") if _NUMBER.fullmatch(word.strip()))
    yield from (float(one["value"]) for _, one in items(given) if _is_number(one))
    for _, condition in items(dig(panel, "alert", "conditions")):
        params = dig(condition, "evaluator", "params")
        yield from (float(one) for one in params if _is_number({"value": one})) if isinstance(params, list) else ()
