"""Rules over time: groups of recording rules and alerts evaluated as Prometheus evaluates them.

    from watchkeeper.engine import Data, Engine, Series
    from watchkeeper.ruler import Ruler, groups_of
    groups = groups_of({"groups": [{"name": "g", "rules": [{"alert": "Down", "expr": "up == 0", "for": "2m"}]}]})
    history = Ruler(groups, engine=Engine()).run(data, start=0, end=600, step=15)
    history.alerts("Down")[0].firing          # [(120.0, 600.0)]

Names are loaded when first asked for, and NumPy only where there is much data.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from watchkeeper.ruler.history import AlertSeries, History, RunError
    from watchkeeper.ruler.rules import Fault, Rule, RuleError, RuleGroup, groups_of
    from watchkeeper.ruler.run import Ruler

__all__ = ["AlertSeries", "Fault", "History", "Rule", "RuleError", "RuleGroup", "Ruler", "RunError", "groups_of"]

_HOMES = {
    "history": ("AlertSeries", "History", "RunError"),
    "rules": ("Fault", "Rule", "RuleError", "RuleGroup", "groups_of"),
    "run": ("Ruler",),
}


def __getattr__(name: str) -> object:
    """Load a public name from the module that has it (PEP 562)."""
    for module, names in _HOMES.items():
        if name in names:
            import importlib

            value = getattr(importlib.import_module(f"watchkeeper.ruler.{module}"), name)
            globals()[name] = value
            return value
    raise AttributeError(f"module 'watchkeeper.ruler' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
