"""Monitoring as code: definitions in, rules and dashboards out.

Importing this is standard library only and knows nothing of GPUs. Names are loaded when first asked for, so that the
command line and an agent that wants one module don't pay for all.
"""

from typing import TYPE_CHECKING

from watchkeeper._version import __version__

if TYPE_CHECKING:
    from watchkeeper.contract import Counter, Gauge, Histogram, Info, Metric, Series, not_, re, selector
    from watchkeeper.findings import Excerpt, Finding, Place
    from watchkeeper.model import Alert, DefinitionError, Group, Recording, Rule, Severity
    from watchkeeper.pack import Pack, Removed
    from watchkeeper.runbook import Runbook
    from watchkeeper.waivers import Waiver

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
    "Runbook",
    "Series",
    "Severity",
    "Waiver",
    "__version__",
    "not_",
    "re",
    "selector",
]

_HOMES = {
    "contract": ("Counter", "Gauge", "Histogram", "Info", "Metric", "Series", "not_", "re", "selector"),
    "findings": ("Excerpt", "Finding", "Place"),
    "model": ("Alert", "DefinitionError", "Group", "Recording", "Rule", "Severity"),
    "pack": ("Pack", "Removed"),
    "runbook": ("Runbook",),
    "waivers": ("Waiver",),
}


def __getattr__(name: str) -> object:
    """Load a public name from the module that has it (PEP 562)."""
    for module, names in _HOMES.items():
        if name in names:
            import importlib

            value = getattr(importlib.import_module(f"watchkeeper.{module}"), name)
            globals()[name] = value
            return value
    raise AttributeError(f"module 'watchkeeper' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
