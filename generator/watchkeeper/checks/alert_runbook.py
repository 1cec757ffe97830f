"""An alert needs a runbook: what to do, for someone who was asleep a minute ago.

A page that is kept elsewhere is named by the annotation `runbook_url`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from watchkeeper.findings import Finding, nearest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from watchkeeper.project import Project

ID = "alert/runbook"


def check(project: Project) -> Iterator[Finding]:
    """Yield a finding for each alert without a runbook, or with one that is no page of the pack."""
    pages = None if project.pack.runbooks is None else {page.name for page in project.pack.runbooks}
    for alert in project.pack.alerts.values():
        if not alert.runbook:
            if alert.annotations.get("runbook_url", "").strip():
                continue
            why = "whoever is paged finds no word of what to do"
            fix = 'write the page and give runbook="its-name", or say where it is in annotations={"runbook_url": ...}'
            yield Finding(ID, f"alert {alert.name} has no runbook", alert.place, why=why, fix=fix)
        elif not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", alert.runbook):
            what = f'alert {alert.name}: "{alert.runbook}" is no name of a runbook page'
            yield Finding(
                ID,
                what,
                alert.place,
                why="it becomes part of an address",
                fix="letters, digits, dots, dashes and underscores",
            )
        elif pages is not None and alert.runbook not in pages:
            what = (
                f'alert {alert.name}: there is no runbook page "{alert.runbook}"{nearest(alert.runbook, sorted(pages))}'
            )
            fix = f"write {alert.runbook}.md among the pack's runbooks"
            yield Finding(ID, what, alert.place, why="the page's link would lead nowhere", fix=fix)
