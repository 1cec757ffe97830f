"""What `[tool.watchkeeper.sync]` says: which servers, and as whom."""

from __future__ import annotations

import re
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

from watchkeeper.findings import nearest

if TYPE_CHECKING:
    from collections.abc import Callable

    Fault = Callable[[str, str, str], None]

__all__ = ["Options", "read"]

_OWNER = re.compile(r"[A-Za-z0-9._-]{1,40}")
_VALUE = "settings/value"


@dataclass(frozen=True)
class Options:
    """`owner` is the name under which objects are marked as ours.

    `grafana_url` is the address of Grafana's start page, `ruler_url` that of a ruler's rules up to the namespace.
    Where one is empty nothing is synced there. `ruler_tenant` is sent as X-Scope-OrgID where it is not empty.
    """

    owner: str = ""
    grafana_url: str = ""
    ruler_url: str = ""
    ruler_namespace: str = "watchkeeper"
    ruler_tenant: str = ""


def read(table: object, fault: Fault) -> Options:
    """Return the options. `fault` is told the check, the message and the fix of each fault."""
    if not isinstance(table, dict):
        fault(_VALUE, "sync must be a table", "write [tool.watchkeeper.sync], and below it owner and grafana_url")
        return Options()
    known = [field.name for field in fields(Options)]
    values: dict[str, str] = {}
    for key, value in table.items():
        if key not in known:
            fault("settings/key", f'unknown key "sync.{key}"{nearest(key, known)}', f"the keys are {', '.join(known)}")
        elif not isinstance(value, str) or not value:
            fault(_VALUE, f"sync.{key} must be a text, not {value!r}", "")
        elif key.endswith("_url") and not re.match(r"(?i:https?)://\S+\Z", value):
            fault(_VALUE, f'sync.{key} is not an address: "{value}"', "write https://host/path")
        elif key == "owner" and not _OWNER.fullmatch(value):
            fault(
                _VALUE, f'sync.owner can\'t be "{value}"', "take up to 40 letters, digits, dots, hyphens, underscores"
            )
        elif key == "ruler_tenant" and not re.fullmatch(r"[!-~]+", value):
            fault(_VALUE, f"sync.ruler_tenant can't be {value!r}", "it is the name of one tenant")
        else:
            values[key] = value
    if not table.get("owner"):
        fault(_VALUE, "sync has no owner", 'write owner = "acme", and never change it: it marks what is yours')
    return Options(**values)
