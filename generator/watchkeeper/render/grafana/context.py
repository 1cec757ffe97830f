"""What every part of the normaliser is given, and careful access to values of which nothing is known."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from watchkeeper.findings import Finding, Place

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from watchkeeper.model import Alert

JSON = dict[str, Any]

# The key under which helpers and authors leave a panel's `key`, `alerts` and `place` in the JSON itself.
META = "watchkeeper"


@dataclass
class Context:
    """One run over one dashboard.

    `sources` are its data source variables, name to plugin type; `defaulted` says that something of it named no source;
    `keys` are those of the panels so far. `removed` are alerts that were taken out of the pack on purpose.
    """

    place: Place
    alerts: Mapping[str, Alert]
    runbook_url: Callable[[str], str]
    grafana: tuple[int, int]
    removed: frozenset[str] = frozenset()
    findings: list[Finding] = field(default_factory=list)
    sources: dict[str, str] = field(default_factory=dict)
    defaulted: bool = False
    keys: set[str] = field(default_factory=set)

    def find(self, check: str, message: str, *, why: str, fix: str, place: Place | None = None) -> None:
        """Note an error."""
        self.findings.append(Finding(check, message, place or self.place, why=why, fix=fix))


def sub(parent: JSON, key: str) -> JSON:
    """Return the object at key, made where there is none. What is no object stays, for the schema to tell."""
    value = parent.get(key)
    if type(value) is dict:
        return value
    made: JSON = {}
    if value is None or value == []:  # grafanalib writes `options: []`
        parent[key] = made
    return made


def items(parent: JSON, key: str) -> list[JSON]:
    """Return the objects in the list at key, none where it is no list."""
    value = parent.get(key)
    return [item for item in value if type(item) is dict] if type(value) is list else []


def drop(parent: JSON, names: frozenset[str]) -> None:
    """Delete the members that are named."""
    for name in parent.keys() & names:
        del parent[name]


def fill(parent: JSON, defaults: JSON) -> None:
    """Add what is missing. Containers among the defaults are copied, so that no two panels share one."""
    for key, value in defaults.items():
        if key not in parent:
            kind = type(value)
            parent[key] = dict(value) if kind is dict else list(value) if kind is list else value


def text(value: Any) -> str:
    """Return value if it is text, else an empty string."""
    return value if type(value) is str else ""


def place_of(meta: JSON, default: Place) -> Place:
    """Return the place that a helper noted as `file:line`."""
    file, _, line = text(meta.get("place")).rpartition(":")
    return Place(file, int(line)) if file and line.isdecimal() else default
