"""The value of an alert in one of its labels, which makes another alert each time it changes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from watchkeeper.checks._templates import LABEL, templates

if TYPE_CHECKING:
    from collections.abc import Iterator

    from watchkeeper.findings import Finding
    from watchkeeper.project import Project

ID = "template/value"

_CONDITION = re.compile(r"\{\{-?\s*(?:else\s+)?if\b[^}]*\Z")
_WHY = "an alert is its labels: with each new value it is another one, `for` starts again, and the old one resolves"


def check(project: Project) -> Iterator[Finding]:
    """Yield a finding for each label that is made of the value, or of what a query gives."""
    for one in templates(project.groups):
        for use in one.uses if one.kind == LABEL else ():
            if use.kind == "value":
                if _CONDITION.search(one.text.value, 0, use.position):
                    what = "the label depends on the value"
                    why = "a style point: when it changes, the alert is another one, and `for` starts again"
                    fix = "write two alerts with a threshold each, and each keeps its state"
                    severity = "note"
                else:
                    what, why, severity = "the value is in a label", _WHY, "error"
                    fix = "put it into an annotation"
            elif use.kind == "query":
                what, severity = "a query makes the label", "warning"
                why = "its answer changes, and with it the alert: `for` starts again, and the old one resolves"
                fix = "put it into an annotation, or join the label to the expression with group_left"
            else:
                continue
            yield one.finding(ID, what, use.position, use.end, why=why, fix=fix, severity=severity)
