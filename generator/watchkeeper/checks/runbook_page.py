"""Runbook pages: complete, and each some alert's."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from watchkeeper.findings import Finding, nearest
from watchkeeper.render.runbooks import NAMES, facts
from watchkeeper.runbook import SECTIONS, lines

if TYPE_CHECKING:
    from collections.abc import Iterator

    from watchkeeper.model import Alert
    from watchkeeper.project import Project
    from watchkeeper.runbook import Runbook

ID = "runbook/page"

_BRACES = re.compile(r"(?<![$\\{])\{(\w+)\}(?!\})")
_SPAN = re.compile(r"(`+)(?!`).*?(?<!`)\1(?!`)", re.DOTALL)


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
    for match in _BRACES.finditer(_prose(page.text)) if alert else ():
        name = match[1]
        hint = nearest(name, NAMES)
        if name in known or not (hint or name in NAMES):
            continue
        what = f"{match[0]} stands for nothing{'' if name in NAMES else hint}"
        fix = (
            f"there are {', '.join(f'{{{one}}}' for one in known)}; "
            "{threshold} only where the expression compares with one number, {keep} only with keep_firing_for; "
            f"for braces as they are, write \\{match[0]}"
        )
        yield what, "it would stand on the page as it is", fix


def _prose(text: str) -> str:
    """Return what is no code: what a shell or awk makes of braces is theirs."""
    outside = [line for line, is_code in lines(text) if not is_code and not line.startswith(("    ", "\t"))]
    return _SPAN.sub("", "\n".join(outside))
