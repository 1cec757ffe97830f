"""Monitoring as code: definitions in, rules and dashboards out.

Importing this is standard library only and knows nothing of GPUs.
"""

from watchkeeper._version import __version__
from watchkeeper.contract import Counter, Gauge, Histogram, Info, Metric, Series, not_, re, selector
from watchkeeper.findings import Excerpt, Finding, Place
from watchkeeper.model import Alert, DefinitionError, Group, Recording, Rule, Severity
from watchkeeper.pack import Pack, Removed

__all__ = [
    "Alert",
    "Counter",
    "DefinitionError",
    "Excerpt",
    "Finding",
    "Gauge",
    "Group",
    "Histogram",
    "Info",
    "Metric",
    "Pack",
    "Place",
    "Recording",
    "Removed",
    "Rule",
    "Series",
    "Severity",
    "__version__",
    "not_",
    "re",
    "selector",
]
