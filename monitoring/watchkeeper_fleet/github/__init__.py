"""A client of GitHub's REST API that keeps to its limits, and tells nobody its token."""

from watchkeeper_fleet.github.client import STATUSES, Answer, GitHub
from watchkeeper_fleet.github.secret import token_from
from watchkeeper_fleet.github.trouble import REASONS, Trouble

__all__ = ["REASONS", "STATUSES", "Answer", "GitHub", "Trouble", "token_from"]
