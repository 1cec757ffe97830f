"""Monitoring as code: definitions in, rules and dashboards out."""

from watchkeeper._version import __version__

__all__ = ["__version__"]
