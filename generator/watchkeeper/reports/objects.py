"""Findings as JSON: one array of objects, whose keys docs/reports.md explains."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from watchkeeper.reports import pages
from watchkeeper.reports.where import Region, path, region

if TYPE_CHECKING:
    from collections.abc import Sequence

    from watchkeeper.findings import Finding
    from watchkeeper.waivers import Waived, Waiver


def to_json(findings: Sequence[Finding], root: str, waived: Sequence[Waived] = (), *, docs: str = pages.PAGES) -> str:
    """Return an array with an object for each finding, then for each that was waived. Paths are relative to root."""
    objects = [_object(finding, root, docs, None) for finding in findings]
    objects += [_object(finding, root, docs, waiver) for finding, waiver in waived]
    return dump(objects)


def dump(value: Any) -> str:
    """Return a value as JSON that any reader takes: some refuse lone surrogates, which odd file names have."""
    return json.dumps(value, indent=2, ensure_ascii=False).encode(errors="replace").decode() + "\n"


def _object(finding: Finding, root: str, docs: str, waiver: Waiver | None) -> dict[str, Any]:
    at = region(finding) or Region(0)
    return {
        "check": finding.check,
        "severity": finding.severity,
        "file": path(finding.place.file, root) if finding.place else None,
        "line": at.line or None,
        "column": at.column or None,
        "end_line": at.end_line or None,
        "end_column": at.end_column or None,
        "message": finding.message,
        "why": finding.why,
        "fix": finding.fix,
        "page": pages.page(finding.check, docs) or None,
        "waived": {"reason": waiver.reason, "until": waiver.until or None} if waiver else None,
    }
