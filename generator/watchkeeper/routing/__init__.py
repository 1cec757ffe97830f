"""Who is told of an alert: receivers, routes, inhibitions and time intervals of Alertmanager, as definitions.

    from watchkeeper.routing import PagerDuty, Receiver, Route, Routing

    PAGER = Receiver("pagerduty", [PagerDuty("/etc/alertmanager/secrets/pagerduty")])
    ROUTING = Routing(Route(PAGER, group_by=["alertname"]), receivers=[PAGER])

Plain values as alerts are: frozen, equal by value, with the place of the call that made them, and checked later, all at
once. A secret can't be written here: fields that end in `_file` name the file on Alertmanager's host that holds it.
"""

from watchkeeper.routing.definitions import (
    Global,
    Inhibition,
    LabelMatcher,
    Period,
    Route,
    Routing,
    TimeInterval,
)
from watchkeeper.routing.receivers import Email, PagerDuty, Receiver, Slack, Webhook

__all__ = [
    "Email",
    "Global",
    "Inhibition",
    "LabelMatcher",
    "PagerDuty",
    "Period",
    "Receiver",
    "Route",
    "Routing",
    "Slack",
    "TimeInterval",
    "Webhook",
]
