"""A team's own rules for rules: the table `policy` of `[tool.watchkeeper]`.

All regular expressions are RE2's and match as a whole, as those of label matchers do.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from watchkeeper.findings import nearest
from watchkeeper.names import milliseconds

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Fault = Callable[[str, str, str], None]

__all__ = ["Limits", "Policy", "read"]

_VALUE = "settings/value"
_TEXTS = ("label_names", "label_values", "annotation_names", "annotation_values")
_REGEXP = "write a regular expression in quotes, which matches as a whole"


@dataclass(frozen=True)
class Limits:
    """The least and the most that a duration may be, as they are written; empty where there is no limit."""

    min: str = ""
    max: str = ""

    def __str__(self) -> str:
        """Return `1m or more, 1h or less`, without what has no limit."""
        told = (f"{self.min} or more" if self.min else "", f"{self.max} or less" if self.max else "")
        return ", ".join(part for part in told if part)


@dataclass(frozen=True)
class Policy:
    """What a team asks of its rules. All of it is empty where nothing is asked.

    `alert_labels`, `recording_labels` and `annotations` are what each rule has to have, with regular expressions for
    the values. `aggregations_keep` are labels that no aggregation may drop, `aggregations_strip` those that each must.
    `alert_names` and `recording_names` are regular expressions, those of `reject` by what they are for. `report` are
    comments by the regular expression of the names that they are told at.
    """

    alert_labels: dict[str, str] = field(default_factory=dict)
    recording_labels: dict[str, str] = field(default_factory=dict)
    annotations: dict[str, str] = field(default_factory=dict)
    aggregations_keep: tuple[str, ...] = ()
    aggregations_strip: tuple[str, ...] = ()
    for_: Limits = field(default_factory=Limits)
    keep_firing_for: Limits = field(default_factory=Limits)
    alert_names: str = ""
    recording_names: str = ""
    reject: dict[str, str] = field(default_factory=dict)
    report: dict[str, str] = field(default_factory=dict)


def read(table: object, fault: Fault) -> Policy:
    """Return the policy that a table says. `fault` is told the check, the message and the fix of each fault in it."""
    if not isinstance(table, dict):
        fault(
            _VALUE,
            "policy must be a table",
            'write [tool.watchkeeper.policy], and below it annotations = {summary = ".+"}',
        )
        return Policy()
    values: dict[str, Any] = {}
    for key, value in table.items():
        if key not in _READERS:
            _unknown(key, list(_READERS), "policy", fault)
        else:
            values["for_" if key == "for" else key] = _READERS[key](f"policy.{key}", value, fault)
    return Policy(**values)


def _unknown(key: str, known: Sequence[str], where: str, fault: Fault) -> None:
    fault("settings/key", f'unknown key "{key}" of {where}{nearest(key, known)}', f"the keys are {', '.join(known)}")


def _required(name: str, value: object, fault: Fault) -> dict[str, str]:
    return {key: _pattern(f"{name}.{key}", one, fault) for key, one in _table(name, value, '{team = ".+"}', fault)}


def _rejected(name: str, value: object, fault: Fault) -> dict[str, str]:
    found = {}
    for key, one in _table(name, value, '{label_values = ".*password.*"}', fault):
        if key in _TEXTS:
            found[key] = _pattern(f"{name}.{key}", one, fault)
        else:
            _unknown(key, _TEXTS, name, fault)
    return found


def _reported(name: str, value: object, fault: Fault) -> dict[str, str]:
    found = {}
    for key, one in _table(name, value, '{Watchdog = "ask the SREs first"}', fault):
        _pattern(f"the name {key!r} of {name}", key, fault)
        if isinstance(one, str) and one.strip():
            found[key] = one
        else:
            fault(
                _VALUE, f"{name}.{key} must be a comment, not {one!r}", "write in quotes what is to be said of the rule"
            )
    return found


def _limits(name: str, value: object, fault: Fault) -> Limits:
    found: dict[str, str] = {}
    for key, one in _table(name, value, '{min = "1m", max = "1h"}', fault):
        if key not in {"min", "max"}:
            _unknown(key, ("min", "max"), name, fault)
        elif not isinstance(one, str) or milliseconds(one) is None:
            fault(_VALUE, f"{name}.{key} is no duration: {one!r}", f'write {key} = "5m", in quotes')
        else:
            found[key] = one
    limits = Limits(**found)
    if limits.min and limits.max and (milliseconds(limits.min) or 0) > (milliseconds(limits.max) or 0):
        fault(
            _VALUE, f"{name}: min is {limits.min}, more than max, which is {limits.max}", "write the shorter one as min"
        )
    return limits


def _table(name: str, value: object, example: str, fault: Fault) -> list[tuple[str, object]]:
    if isinstance(value, dict):
        return list(value.items())
    fault(_VALUE, f"{name} must be a table, not {value!r}", f"write {name.partition('.')[2]} = {example}")
    return []


def _labels(name: str, value: object, fault: Fault) -> tuple[str, ...]:
    if isinstance(value, list) and all(isinstance(label, str) and label for label in value):
        return tuple(value)
    fault(_VALUE, f"{name} must be a list of labels", f'write {name.partition(".")[2]} = ["job"]')
    return ()


def _pattern(name: str, value: object, fault: Fault) -> str:
    from watchkeeper.promql.regex import RegexError, check

    if not isinstance(value, str) or not value:
        fault(_VALUE, f"{name} must be a regular expression, not {value!r}", _REGEXP)
        return ""
    try:
        check(value)
    except RegexError as error:
        fault(_VALUE, f"{name} is no regular expression: {error}", _REGEXP)
    return value


_READERS: dict[str, Callable[[str, object, Fault], Any]] = {
    "alert_labels": _required,
    "recording_labels": _required,
    "annotations": _required,
    "aggregations_keep": _labels,
    "aggregations_strip": _labels,
    "for": _limits,
    "keep_firing_for": _limits,
    "alert_names": _pattern,
    "recording_names": _pattern,
    "reject": _rejected,
    "report": _reported,
}
