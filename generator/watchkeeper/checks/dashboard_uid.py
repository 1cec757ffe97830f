"""Dashboards without a uid that Grafana accepts, or two with the same."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from watchkeeper.findings import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from watchkeeper.findings import Place
    from watchkeeper.project import Project

ID = "dashboard/uid"

_LONGEST = 40  # pkg/services/dashboards/errors.go in Grafana
_WHY = "Grafana refuses such a dashboard, and links to it and its panels lead nowhere"


def check(project: Project) -> Iterator[Finding]:
    """Yield a finding for each uid that is missing, invalid or taken."""
    taken: dict[str, Place] = {}
    for dashboard in project.dashboards:
        uid = dashboard.uid
        if not uid:
            fix = f'give it one that stays, such as uid="{_suggest(dashboard.title)}"'
            yield Finding(ID, f'dashboard "{dashboard.title}" has no uid', dashboard.place, why=_WHY, fix=fix)
            continue
        if len(uid) > _LONGEST:
            what = f'the uid "{uid}" has {len(uid)} characters, {_LONGEST} are allowed'
            yield Finding(ID, what, dashboard.place, why=_WHY, fix=f'shorten it, such as "{_suggest(uid)}"')
        if wrong := sorted(set(re.sub(r"[A-Za-z0-9_-]", "", uid))):
            what = f'the uid "{uid}" has {" ".join(map(repr, wrong))} in it'
            yield Finding(ID, what, dashboard.place, why=_WHY, fix=f'use letters, digits, _ and -: "{_suggest(uid)}"')
        # The case is folded, since Grafana on MySQL, and some file systems, take two that differ in it alone for one.
        if (folded := uid.casefold()) in taken:
            what = f'the uid "{uid}" is already that of the dashboard at {taken[folded]}'
            why = "one would overwrite the other; with file provisioning, Grafana stops updating both"
            yield Finding(ID, what, dashboard.place, why=why, fix="give one of them another uid")
        taken.setdefault(uid.casefold(), dashboard.place)


def _suggest(text: str) -> str:
    from watchkeeper.render.grafana.panels import slugify

    ascii_only = slugify(text).encode("ascii", "ignore").decode()
    return re.sub("-+", "-", ascii_only)[:_LONGEST].strip("-") or "my-dashboard"
