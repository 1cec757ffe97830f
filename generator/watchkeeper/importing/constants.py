"""Names of module constants for rules and groups: `GPUFull` is GPU_FULL, `job:up:sum` is JOB_UP_SUM."""

from __future__ import annotations

import re

_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_OTHER = re.compile(r"[^A-Za-z0-9]+")
_LONGEST = 60


class Constants:
    """The constants of one module, each name given once."""

    def __init__(self, *reserved: str) -> None:
        self._taken = set(reserved)
        self._next: dict[str, int] = {}

    def take(self, name: str, kind: str, suffix: str = "") -> str:
        """Return the constant of a rule's or group's name; `kind`, such as `ALERT`, leads where a letter has to."""
        words = constant(name)
        if not words or words[0].isdigit():
            words = f"{kind}_{words}".rstrip("_")
        base = words + suffix
        number = self._next.get(base, 1)
        found = base if number == 1 else f"{base}_{number}"
        while found in self._taken:
            number += 1
            found = f"{base}_{number}"
        self._next[base] = number + 1
        self._taken.add(found)
        return found


def constant(name: str) -> str:
    """Return the words of a name in capitals, of letters, digits and underscores: empty where there are none."""
    return _OTHER.sub("_", _CAMEL.sub("_", name)).strip("_").upper()[:_LONGEST].rstrip("_")


def module_name(stem: str) -> str:
    """Return the name of a module for a file's or a folder's name: `node-exporter.rules` is node_exporter_rules."""
    import keyword

    words = _OTHER.sub("_", stem).strip("_").lower() or "rules"
    return f"rules_{words}" if words[0].isdigit() or keyword.iskeyword(words) else words
