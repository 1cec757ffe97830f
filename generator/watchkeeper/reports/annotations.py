"""Findings as GitHub's workflow commands, which show them beside the changed lines of a pull request.

https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-commands
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from watchkeeper.findings import printable
from watchkeeper.reports.where import path, region

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from watchkeeper.findings import Finding

_COMMANDS = {"error": "error", "warning": "warning", "note": "notice"}


def to_github(findings: Sequence[Finding], root: str) -> str:
    """Return a command a line for each finding. Paths are relative to root, which is to be the checkout."""
    return "".join(f"{_command(finding, root)}\n" for finding in findings)


def _command(finding: Finding, root: str) -> str:
    texts = [finding.message]
    texts += [f"{word}: {text}" for word, text in (("why", finding.why), ("fix", finding.fix)) if text]
    properties = ",".join(f"{name}={_property(value)}" for name, value in _properties(finding, root))
    return f"::{_COMMANDS[finding.severity]} {properties}::{_data(texts)}"


def _properties(finding: Finding, root: str) -> Iterator[tuple[str, str]]:
    if finding.place:
        yield "file", path(finding.place.file, root)
    at = region(finding)
    if at:
        yield "line", str(at.line)
        if at.end_line:
            yield "endLine", str(at.end_line)
        if at.column and at.end_line in (0, at.line):  # the runner drops columns over several lines, with a complaint
            yield "col", str(at.column)
            if at.end_column:
                yield "endColumn", str(at.end_column)
    yield "title", finding.check


def _data(texts: list[str]) -> str:
    """Escape a message: its lines are ours, and a line break within a text is shown as an escape."""
    return "%0A".join(printable(text).replace("%", "%25") for text in texts)


def _property(text: str) -> str:
    return printable(text).replace("%", "%25").replace(":", "%3A").replace(",", "%2C")
