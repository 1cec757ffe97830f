"""Findings as SARIF 2.1.0, which code scanners and editors read.

https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any

from watchkeeper._version import __version__
from watchkeeper.reports import pages
from watchkeeper.reports.objects import dump
from watchkeeper.reports.where import path, region

if TYPE_CHECKING:
    from collections.abc import Sequence

    from watchkeeper.findings import Finding
    from watchkeeper.waivers import Waived, Waiver

_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_BASE = "%SRCROOT%"  # the name that GitHub knows for the checkout


def to_sarif(findings: Sequence[Finding], root: str, waived: Sequence[Waived] = (), *, docs: str = pages.PAGES) -> str:
    """Return a log of one run; the waived ones are in it as suppressed. Paths are relative to root.

    Where `docs` is an address, each rule has that of its page.
    """
    ids = sorted({finding.check for finding in findings} | {finding.check for finding, _ in waived})
    seen: dict[str, int] = {}
    both = [*((finding, None) for finding in findings), *waived]
    driver = {"name": "watchkeeper", "version": __version__, "rules": [_rule(check, docs) for check in ids]}
    run = {
        "tool": {"driver": driver},
        "originalUriBaseIds": {_BASE: {"uri": _uri(root.rstrip("/") + "/")}},
        "columnKind": "utf16CodeUnits",
        "results": [_result(finding, waiver, root, ids.index(finding.check), seen) for finding, waiver in both],
    }
    return dump({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]})


def _rule(check: str, docs: str) -> dict[str, Any]:
    text, page = {"text": pages.about(check)}, pages.page(check, docs)
    help_ = {"text": f"See {page}." if page else "See the message."}
    rule = {"id": check, "shortDescription": text, "fullDescription": text, "help": help_}  # GitHub wants all three
    return {**rule, "helpUri": page} if page.startswith(("http://", "https://")) else rule


def _result(finding: Finding, waiver: Waiver | None, root: str, rule: int, seen: dict[str, int]) -> dict[str, Any]:
    texts = [finding.message]
    texts += [f"{word}: {text}" for word, text in (("why", finding.why), ("fix", finding.fix)) if text]
    suppression = {"kind": "inSource", "justification": waiver.reason} if waiver else None
    return {
        "ruleId": finding.check,
        "ruleIndex": rule,
        "level": finding.severity,
        "message": {"text": "\n".join(texts)},
        "locations": [{"physicalLocation": _location(finding, root)}] if finding.place else [],
        "partialFingerprints": {"watchkeeper/v1": _fingerprint(finding, root, seen)},
        "suppressions": [suppression] if suppression else [],
    }


def _location(finding: Finding, root: str) -> dict[str, Any]:
    file = path(finding.place.file if finding.place else "", root)
    artifact = {"uri": _uri(file)} if os.path.isabs(file) else {"uri": _uri(file), "uriBaseId": _BASE}  # noqa: PTH117 - pathlib costs 10 ms
    at = region(finding)
    if not at:
        return {"artifactLocation": artifact}
    span = {"startLine": at.line}
    if at.column:
        span["startColumn"] = 1 + _units(at.before) if at.end_line else at.column
    if at.end_line:
        last = at.inside.rpartition("\n")[2]
        start = span["startColumn"] if at.end_line == at.line else 1
        span |= {"endLine": at.end_line, "endColumn": start + _units(last)}
    return {"artifactLocation": artifact, "region": span}


def _fingerprint(finding: Finding, root: str, seen: dict[str, int]) -> str:
    """Return what stays when lines move: which check it is, about which words, for the how manieth time."""
    from hashlib import sha256

    excerpt = finding.excerpt
    parts = (
        finding.check,
        path(finding.place.file, root) if finding.place else "",
        re.sub(r":[0-9]+\b", "", finding.message),  # the line of another rule
        excerpt.text[excerpt.start : excerpt.end] if excerpt else "",
    )
    digest = sha256("\0".join(parts).encode(errors="surrogatepass")).hexdigest()[:32]
    seen[digest] = seen.get(digest, 0) + 1
    return f"{digest}:{seen[digest]}"


def _uri(file: str) -> str:
    """Return a path as an address, its bytes %-encoded; a relative one stays relative."""
    from urllib.parse import quote

    quoted = quote(os.fsencode(file), safe="/")
    return f"file://{quoted}" if quoted.startswith("/") else quoted


def _units(text: str) -> int:
    """Count UTF-16 code units."""
    return len(text.encode("utf-16-le", errors="surrogatepass")) // 2
