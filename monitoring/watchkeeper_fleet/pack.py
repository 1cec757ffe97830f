"""PACK: everything that we watch, for others to extend.

A repository of your own starts from it: `PACK = FLEET.without(...).replace(...).add(...)`.
"""

from watchkeeper import Pack
from watchkeeper_fleet.metrics import TARGET_LABELS

PACK = Pack.discover(
    "watchkeeper_fleet.metrics",
    "watchkeeper_fleet.alerts",
    "watchkeeper_fleet.dashboards",
    "watchkeeper_fleet.routing",
    target_labels=TARGET_LABELS,
    runbooks="watchkeeper_fleet.runbooks",
)
