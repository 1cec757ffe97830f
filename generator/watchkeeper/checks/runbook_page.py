"""Runbook pages: complete, and each some alert's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from watchkeeper.findings import Finding, nearest
from watchkeeper.render.runbooks import PLACEHOLDER, facts
from watchkeeper.runbook import SECTIONS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from watchkeeper.model import Alert
    from watchkeeper.project import Project
    from watchkeeper.runbook import Runbook

ID = "runbook/page"


def check(project: Project) -> Iterator[Finding]:
    """Yield a finding for each section that is missing or empty, each placeholder that stands for nothing."""
    alerts: dict[str, Alert] = {}
    for alert in project.pack.alerts.values():
        alerts.setdefault(alert.runbook, alert)
    for page in project.pack.runbooks or ():
        for problem, why, fix in _problems(page, alerts.get(page.name)):
            yield Finding(ID, f"runbook {page.name}: {problem}", page.place, why=why, fix=fix)


def _problems(page: Runbook, alert: Alert | None) -> Iterator[tuple[str, str, str]]:
    sections = page.sections
    for name in SECTIONS:
        if not sections.get(name):
            yield f'the section "{name}" is missing or empty', "whoever is paged looks for it", f"write ## {name}"
    for name in sections:
        if name not in SECTIONS:
            why = "pages are read in a hurry, so all have the same sections"
            yield (
                f'there is no section "{name}"{nearest(name, SECTIONS)}',
                why,
                f"the sections are {', '.join(SECTIONS)}",
            )
    known = facts(alert) if alert else {}
    for match in PLACEHOLDER.finditer(page.text) if alert else ():
        if match[1] not in known:
            why = "it would stand on the page as it is"
            fix = f"there are {', '.join(known)}; {{threshold}} only where the expression compares with one number"
            yield f"{match[0]} stands for nothing{nearest(match[1], sorted(known))}", why, fix
