"""`watchkeeper issue-receiver` as a real process."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

# Not a package, so that a test finds its helper as a script does.
sys.path.insert(0, str(Path(__file__).parents[1]))

from daemons import VARIABLE, WATCHKEEPER, daemon, environment
from github_issues import TOKEN

if TYPE_CHECKING:
    import subprocess
    from contextlib import AbstractContextManager

    from github_issues import GitHubIssues

__all__ = ["VARIABLE", "WATCHKEEPER", "environment", "receiving"]


def receiving(
    api: GitHubIssues, *arguments: object, **variables: str
) -> AbstractContextManager[tuple[subprocess.Popen[str], str, list[str]]]:
    """Run it until the block ends; give the process, its URL, and a list that fills with the lines that it writes."""
    return daemon("issue-receiver", api.url, "o/r", *arguments, **(variables or {VARIABLE: TOKEN}))
