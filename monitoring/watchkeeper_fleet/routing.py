"""Who is told: pages by PagerDuty, the rest in Slack, in tickets and by mail, trunk in issues, a heartbeat outside.

Addresses and channels are an example's: a repository of your own has another with `PACK.with_routing(...)`. What is
grouped by is what all alerts of the route carry, and what an inhibition holds equal is on both of its sides.
"""

from watchkeeper import re
from watchkeeper.routing import (
    Email,
    Global,
    Inhibition,
    PagerDuty,
    Period,
    Receiver,
    Route,
    Routing,
    Slack,
    TimeInterval,
    Webhook,
)

SECRETS = "/etc/alertmanager/secrets"

# What each team's alerts all carry; those of the watchers may come from no cluster at all.
GROUP_BY = {
    "gpu-platform": ("alertname", "cluster"),
    "inference-sre": ("alertname", "cluster"),
    "monitoring": ("alertname",),
    "pytorch-dev-infra": ("alertname", "repository", "branch"),
}
# By team, as its receivers are called.
SHORT = {team: team.removesuffix("-sre").removeprefix("pytorch-") for team in GROUP_BY}

PAGERS = {
    team: Receiver(f"pagerduty-{name}", [PagerDuty(f"{SECRETS}/pagerduty-{name}")]) for team, name in SHORT.items()
}
CHANNELS = {team: Receiver(f"slack-{name}", [Slack(f"#alerts-{name}")]) for team, name in SHORT.items()}
TICKETS = Receiver(
    "tickets",
    [Webhook("https://tickets.example.com/hooks/alertmanager", credentials_file=f"{SECRETS}/tickets-token")],
)
DIGEST = Receiver("email-daily", [Email("gpu-oncall@example.com", send_resolved=False)])
# `watchkeeper issue-receiver`, on the same host.
ISSUES = Receiver("issues", [Webhook("http://127.0.0.1:29402/alerts")])
# It calls someone when nothing arrives any more.
HEARTBEAT = Receiver(
    "heartbeat",
    [Webhook("https://heartbeat.example.com/alertmanager", credentials_file=f"{SECRETS}/heartbeat-token")],
)
NOBODY = Receiver("nobody")

BUSINESS_HOURS = TimeInterval(
    "business-hours",
    [Period(times=("09:00-17:00",), weekdays=("monday:friday",), location="America/Los_Angeles")],
)


def page(team: str) -> Route:
    """Return the route of a team's pages."""
    # Every minute of a stall is a GPU that is paid for and idle, and one page for each alert is no flood.
    stall = Route(match={"alertname": "GPUStallRatioHigh"}, group_wait="0s")
    return Route(
        PAGERS[team],
        match={"team": team},
        group_by=GROUP_BY[team],
        routes=(stall,) if team == "inference-sre" else (),
    )


ROUTING = Routing(
    # What no route below takes has a severity or a team that nobody knows: whoever runs the monitoring looks at it.
    Route(
        CHANNELS["monitoring"],
        group_by=("alertname",),
        group_wait="30s",
        group_interval="5m",
        repeat_interval="4h",
        routes=(
            # Of severity info, as it wakes nobody by itself.
            Route(
                HEARTBEAT,
                match={"alertname": "Watchdog"},
                group_wait="0s",
                group_interval="1m",
                repeat_interval="1m",
            ),
            Route(NOBODY, match={"severity": "info"}),
            Route(
                ISSUES,
                match={"alertname": re("TrunkBroken|TrunkBadlyBroken")},
                group_by=GROUP_BY["pytorch-dev-infra"],
                continue_=True,
            ),
            Route(
                PAGERS["monitoring"],
                match={"severity": "critical"},
                routes=tuple(page(team) for team in GROUP_BY),
            ),
            Route(
                TICKETS,
                match={"severity": "warning"},
                active_during=(BUSINESS_HOURS,),
                repeat_interval="5d",
                continue_=True,
            ),
            Route(
                DIGEST,
                match={"severity": "warning"},
                group_by=("team",),
                group_wait="5m",
                group_interval="1d",
                repeat_interval="1d",
                continue_=True,
            ),
            Route(
                match={"severity": "warning"},
                repeat_interval="12h",
                routes=tuple(
                    Route(CHANNELS[team], match={"team": team}, group_by=labels) for team, labels in GROUP_BY.items()
                ),
            ),
        ),
    ),
    receivers=(*PAGERS.values(), *CHANNELS.values(), TICKETS, DIGEST, ISSUES, HEARTBEAT, NOBODY),
    inhibitions=(
        # A node that is down takes its GPUs, its processes and its exporter with it.
        Inhibition(
            source={"alertname": "GPUNodeNotReady"},
            target={"gpu": re(".+")},
            equal=("cluster", "node"),
        ),
        Inhibition(
            source={"alertname": "GPUNodeNotReady"},
            target={"alertname": re("ExporterDown|GPULost|InferenceStuck|TorchProcessLost|ZombieRank")},
            equal=("cluster", "node"),
        ),
        # The second is the first at its worst.
        Inhibition(
            source={"alertname": "TrunkBadlyBroken"},
            target={"alertname": "TrunkBroken"},
            equal=("repository", "branch"),
        ),
        # Retries are what comes before the error.
        Inhibition(
            source={"alertname": "GPUOutOfMemory"},
            target={"alertname": "GPUAllocatorRetrying"},
            equal=("cluster", "instance", "gpu"),
        ),
    ),
    time_intervals=(BUSINESS_HOURS,),
    global_=Global(
        smtp_smarthost="mail.example.com:587",
        smtp_from="alertmanager@example.com",
        smtp_auth_username="alertmanager@example.com",
        smtp_auth_password_file=f"{SECRETS}/smtp-password",
        slack_api_url_file=f"{SECRETS}/slack-webhook",
    ),
)
