"""A project: a pack, or files, as checks look at it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

    from watchkeeper.model import Group as GroupDefinition
    from watchkeeper.pack import Pack
    from watchkeeper.proof.catalogue import Catalogue
    from watchkeeper.proof.routing import Config
    from watchkeeper.read.dashboards import Dashboard
    from watchkeeper.render.grafana import Rendered
    from watchkeeper.settings import Settings
    from watchkeeper.subject import Expression, Group


@dataclass(frozen=True)
class Project:
    """A pack, its settings, and what they become; or a part of it, for the checks that look at one part at a time.

    `groups` are the rule files as checks see them, and `documents` as data. `dashboards` are those of definitions,
    `boards` those of files.
    """

    pack: Pack
    settings: Settings
    catalogue: Catalogue
    dashboards: tuple[Rendered, ...] = ()
    expressions: tuple[Expression, ...] = ()
    groups: tuple[Group, ...] = ()
    documents: tuple[tuple[GroupDefinition, dict[str, Any]], ...] = ()
    files: dict[str, str] = field(default_factory=dict)  # relative path to text
    alertmanagers: tuple[Config, ...] = ()
    boards: tuple[Dashboard, ...] = ()


def panels_of(pack: Pack, dashboards: Iterable[Rendered]) -> dict[str, list[tuple[str, str, int]]]:
    """Return, for each alert, the panels that name it: dashboard uid, panel key and panel id.

    Where the alert says which, only that one.
    """
    alerts = pack.alerts
    found: dict[str, list[tuple[str, str, int]]] = {name: [] for name in alerts}
    for dashboard in dashboards:
        for panel in dashboard.panels:
            for name in panel.alerts:
                if name in found and alerts[name].panel in ("", f"{dashboard.uid}/{panel.key}"):
                    found[name].append((dashboard.uid, panel.key, panel.id))
    return found
