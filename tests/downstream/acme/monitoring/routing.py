"""Who is told at Acme: a pager for both teams, a channel for what can wait."""

from monitoring.oncall import PLATFORM
from watchkeeper.routing import Inhibition, PagerDuty, Receiver, Route, Routing, Slack, Webhook

PAGER = Receiver("pager", [PagerDuty("/run/secrets/pagerduty")])
PLATFORM_PAGER = Receiver("platform-pager", [PagerDuty("/run/secrets/pagerduty-platform")])
CHANNEL = Receiver("channel", [Slack("#gpus", api_url_file="/run/secrets/slack")])
HEARTBEAT = Receiver("heartbeat", [Webhook("https://heartbeat.acme.example/gpus")])
NOBODY = Receiver("nobody")

ROUTING = Routing(
    Route(
        CHANNEL,
        group_by=("alertname",),
        routes=(
            Route(HEARTBEAT, match={"alertname": "Watchdog"}, group_wait="0s", repeat_interval="5m"),
            Route(NOBODY, match={"severity": "info"}),
            Route(PAGER, match={"severity": "critical"}, routes=(Route(PLATFORM_PAGER, match={"team": PLATFORM}),)),
            Route(match={"severity": "warning"}, repeat_interval="1d"),
        ),
    ),
    receivers=(PAGER, PLATFORM_PAGER, CHANNEL, HEARTBEAT, NOBODY),
    inhibitions=(Inhibition({"alertname": "GPUNodeNotReady"}, {"alertname": "GPULost"}, equal=("cluster", "node")),),
)
