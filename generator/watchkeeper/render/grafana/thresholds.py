"""Thresholds: those of the author made valid, else drawn from the alerts that the panel names."""

from __future__ import annotations

from math import inf, isfinite, nextafter
from typing import TYPE_CHECKING, Any

from watchkeeper.render.grafana.context import items, sub

if TYPE_CHECKING:
    from collections.abc import Iterable

    from watchkeeper.model import Alert
    from watchkeeper.render.grafana.context import JSON

GOOD = "green"
# By severity, the mildest first: where alerts overlap, the most severe one gives the colour.
COLOURS = {"info": "blue", "warning": "orange", "critical": "red"}
_RANK = {severity: rank for rank, severity in enumerate(COLOURS)}

# What grafanalib gives every gauge that says nothing: not the author's, and 80 of what?
_OF_GRAFANALIB = [("green", None), ("red", 80.0)]


def normalise(defaults: JSON, alerts: Iterable[Alert], *, only_explicit: bool) -> bool:
    """Set the thresholds of a panel's field defaults; return True where they come from alerts.

    `only_explicit` says that grafanalib's default steps are not to be taken for the author's.
    """
    thresholds = sub(defaults, "thresholds")
    steps = _steps(thresholds)
    if only_explicit and [(step.get("color"), step.get("value")) for step in steps] == _OF_GRAFANALIB:
        steps = []
    drawn = False
    if not steps and (steps := from_alerts(alerts)):
        drawn = True
    if thresholds.get("mode") not in ("absolute", "percentage") and "mode" in thresholds:
        return drawn  # for the schema to tell
    thresholds["mode"] = "absolute" if drawn else thresholds.get("mode", "absolute")
    thresholds["steps"] = steps or [{"color": GOOD, "value": None}]
    return drawn


def _steps(thresholds: JSON) -> list[JSON]:
    """Return the author's steps in rising order, the first of them the base."""
    steps = [{key: step[key] for key in step if key in _STEP} for step in items(thresholds, "steps")]
    for step in steps:
        if step.get("value") in ("null", ""):  # grafanalib writes the string
            step["value"] = None
    numbers = all(_is_number(step.get("value", 0)) or step.get("value") is None for step in steps)
    if steps and numbers:
        steps.sort(key=lambda step: float("-inf") if step.get("value") is None else step["value"])
        steps[0]["value"] = None
    return steps


_STEP = frozenset({"color", "value", "valueExpr"})


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def as_lines(thresholds: JSON) -> None:
    """Have the line of a "less than" drawn in the colour of what is below it.

    Grafana takes each line's colour from what is above it, but for lines at or below a transparent step.
    """
    for step in items(thresholds, "steps")[1:]:
        if step["color"] == GOOD:
            step["color"] = "transparent"


def _just_above(value: float) -> float:
    """Return the least number above a whole one: a count of 0 is not above 0. Others are met only by accident."""
    if not value.is_integer():
        return value
    return nextafter(value, inf) if value else 1e-9


def from_alerts(alerts: Iterable[Alert]) -> list[JSON]:
    """Return steps that change where an alert's own threshold is, coloured by severity; none without a threshold.

    An alert without one literal to compare with, or that compares for equality, has no line to draw.
    """
    above: list[tuple[float, int]] = []  # fires from the value upwards
    below: list[tuple[float, int]] = []  # fires under the value
    for alert in alerts:
        try:
            threshold = alert.threshold
        except ValueError:  # told by the checks on rules
            continue
        if not isfinite(threshold.value):
            continue
        rank = _RANK.get(str(alert.severity), 1)
        # Grafana's steps begin at their value; `> 0` and `<= 0` change just above it.
        value = _just_above(threshold.value) if threshold.op in (">", "<=") else threshold.value
        if threshold.op in (">", ">="):
            above.append((value, rank))
        elif threshold.op in ("<", "<="):
            below.append((value, rank))
    colours = (*COLOURS.values(),)
    steps: list[JSON] = []
    for start in (None, *sorted({value for value, _ in above + below})):
        # From `start` to the next boundary, these fire.
        ranks = [rank for value, rank in above if start is not None and start >= value]
        ranks += [rank for value, rank in below if start is None or start < value]
        colour = colours[max(ranks)] if ranks else GOOD
        if not steps or steps[-1]["color"] != colour:
            steps.append({"color": colour, "value": start})
    return steps if len(steps) > 1 else []
