"""`watchkeeper issue-receiver`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import click

from watchkeeper_fleet.exporter.options import (
    address,
    api_url_option,
    check_repository,
    listen_option,
    serving,
    web_config_option,
)

if TYPE_CHECKING:
    from pathlib import Path

PORT = 29402
LABELS = ("area:alerting", "Pri:{priority}", "Team:{team}")


def _labels(_: click.Context, param: click.Parameter, values: tuple[str, ...]) -> tuple[str, ...]:
    for value in values:
        if not re.fullmatch(r"[^{},]*(\{[A-Za-z_][A-Za-z0-9_]*\}[^{},]*)?", value) or not value.strip():
            raise click.BadParameter(f"{value} is no label such as area:alerting or Team:{{team}}", param=param)
    if all("{" in value for value in values):
        raise click.BadParameter("one has to be the same for all alerts: issues are found by it", param=param)
    return values


@click.command(
    "issue-receiver",
    epilog="""\b
In Alertmanager's configuration:
  receivers: [{name: issues, webhook_configs: [{url: "http://127.0.0.1:29402/alerts", send_resolved: true}]}]

\b
The token: WATCHKEEPER_GITHUB_TOKEN, or WATCHKEEPER_GITHUB_TOKEN_FILE, which names a file that holds it. It has to read
and write issues of the repository, nothing else.

\b
Signals: SIGTERM ends it; SIGHUP reads the web configuration again.

Exit status: 0 stopped, 1 it can't serve, 2 wrong usage.""",
)
@listen_option(PORT)
@click.option("--repo", required=True, metavar="OWNER/NAME", help="Where issues are opened.")
@click.option(
    "--label",
    "labels",
    multiple=True,
    default=LABELS,
    show_default=True,
    callback=_labels,
    metavar="LABEL",
    help="Of each issue; {name} stands for a label of the alert. May be given several times.",
)
@click.option(
    "--most",
    type=click.IntRange(1, 100),
    default=10,
    show_default=True,
    metavar="N",
    help="Issues opened in an hour; one more sums up the alerts beyond.",
)
@click.option(
    "--reopen-within",
    type=click.IntRange(0, 24 * 90),
    default=24,
    show_default=True,
    metavar="HOURS",
    help="An alert that fires again so long after it was resolved gets its old issue, later a new one.",
)
@click.option("--timezone", default="UTC", show_default=True, metavar="ZONE", help="Of the times in issues.")
@web_config_option
@api_url_option
def issue_receiver(
    *,
    listen: str,
    repo: str,
    labels: tuple[str, ...],
    most: int,
    reopen_within: int,
    timezone: str,
    web_config: Path | None,
    api_url: str,
) -> None:
    """Turn Alertmanager's notifications into GitHub issues: opened, commented, closed when resolved."""
    import zoneinfo

    from watchkeeper_fleet.exporter.service import serve
    from watchkeeper_fleet.github import GitHub, Trouble, token_from
    from watchkeeper_fleet.issues.receiver import Receiver
    from watchkeeper_fleet.issues.repository import HOUR, Repository
    from watchkeeper_fleet.issues.tracker import Rules, Tracker

    host, port = address(listen, PORT)
    check_repository(repo)
    try:
        zone = zoneinfo.ZoneInfo(timezone)
    except (ValueError, OSError, zoneinfo.ZoneInfoNotFoundError):
        message = f"{timezone} is no time zone such as America/Los_Angeles, or this machine has no tzdata"
        raise click.BadParameter(message, param_hint="--timezone") from None
    try:
        token = token_from()
        github = GitHub(api_url, token)
        is_set = bool(token())
    except (ValueError, Trouble) as error:
        raise click.UsageError(str(error)) from None
    if not is_set:
        raise click.UsageError(
            "set WATCHKEEPER_GITHUB_TOKEN_FILE to a file with a token: without one no issue is opened"
        )
    constant = next(label for label in labels if "{" not in label)
    rules = Rules(labels, most=most, reopen=reopen_within * HOUR, zone=zone)
    receiver = Receiver(Tracker(Repository(github, repo, constant), rules), github)
    with serving():
        serve(host, port, web_config, receiver.collecting(), receiver.pages)
