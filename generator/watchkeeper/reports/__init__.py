"""Findings for machines: JSON, GitHub's annotations and SARIF. Pure: findings in, text out."""

from watchkeeper.reports.annotations import to_github
from watchkeeper.reports.objects import to_json
from watchkeeper.reports.sarif import to_sarif

__all__ = ["to_github", "to_json", "to_sarif"]
