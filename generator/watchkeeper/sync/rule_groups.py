"""Groups of rules as they are compared: what a server leaves out or writes otherwise is no difference."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from watchkeeper.findings import printable
from watchkeeper.names import milliseconds
from watchkeeper.sync.diff import LINES, values
from watchkeeper.sync.judge import Kind

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["RULE_GROUP", "SCHEME", "RuleGroup", "differences", "digest", "duration_text", "simplified"]

JSON = dict[str, Any]

SCHEME = "1"  # of digests, as in `canonical`
_DURATIONS = frozenset({"interval", "query_offset", "for", "keep_firing_for"})
_NOTHING = ("", "0", "false", "null", "~")


@dataclass(frozen=True)
class RuleGroup:
    """A group, as one of a rule file."""

    uid: str  # its name
    data: Mapping[str, Any]

    @property
    def title(self) -> str:
        """Its name, by which people and servers know it."""
        return self.uid


def digest(group: RuleGroup) -> str:
    """Return what changes when somebody edits the group."""
    text = json.dumps(simplified(group.data), sort_keys=True)
    return f"{SCHEME}-{hashlib.sha256(text.encode()).hexdigest()}"


def differences(old: RuleGroup, new: RuleGroup) -> tuple[str, ...]:
    """Return what differs in the new one, a line each, by the names of the rules."""
    before, after = _by_rule(old.data), _by_rule(new.data)
    lines = list(values(before, after))
    if not lines and list(before) != list(after):
        lines.append("rules: in another order")
    if len(lines) > LINES:
        lines[LINES - 1 :] = [f"and {len(lines) - LINES + 1} more differences"]
    return tuple(printable(line) for line in lines)


def simplified(data: Mapping[str, Any]) -> JSON:
    """Return a group with texts for scalars, durations all in one form, and nothing that is as by default."""
    found = {}
    for name, value in data.items():
        kept = [simplified(rule) if isinstance(rule, dict) else rule for rule in value] if name == "rules" else value
        if name in ("labels", "annotations") and isinstance(kept, dict):
            kept = {str(key): _text(inner) for key, inner in kept.items()}
        elif name in _DURATIONS and (length := milliseconds(_text(kept))) is not None:
            kept = duration_text(length)
        elif not isinstance(kept, (dict, list)):
            kept = _text(kept).strip()
        if kept and kept not in _NOTHING:
            found[name] = kept
    return found


def _text(value: object) -> str:
    """Return a scalar as YAML has it."""
    return "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def duration_text(length: int) -> str:
    """Return milliseconds as people write them: `1h30m`."""
    said = ""
    for unit, size in (("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1000), ("ms", 1)):
        number, length = divmod(length, size)
        said += f"{number}{unit}" if number else ""
    return said


def _by_rule(data: Mapping[str, Any]) -> JSON:
    """Return the group's own members, and its rules by what they are called."""
    found = simplified(data)
    for rule in found.pop("rules", []):
        kind = "alert" if "alert" in rule else "record"
        name = f'{kind} "{rule.get(kind, "")}"'
        number = 2
        while (said := name if name not in found else f"{name} ({number})") in found:
            number += 1
        found[said] = {key: value for key, value in rule.items() if key != kind}
    return found


RULE_GROUP = Kind("rule group", digest, differences)
