"""`watchkeeper trunk-exporter`."""

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
    state_file,
    state_option,
    web_config_option,
)
from watchkeeper_fleet.trunk.blocking import EXCLUDE, JOBS, Outcome

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

PORT = 29401
ENDS = {"fail": Outcome.FAILED, "ignore": Outcome.NONE, "pending": Outcome.PENDING}
UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
STATE = "trunk.state"


def _duration(least: float, most: float) -> Callable[[click.Context, click.Parameter, str], float]:
    """Return what turns 90s, 5m, 24h, 7d into seconds."""

    def seconds_of(_: click.Context, param: click.Parameter, value: str) -> float:
        found = re.fullmatch(r"([0-9]{1,6})([smhd])", value, re.ASCII)
        if not found:
            raise click.BadParameter(f"{value} is no duration such as 90s, 5m, 24h or 7d", param=param)
        seconds = float(found[1]) * UNITS[found[2]]
        if not least <= seconds <= most:
            raise click.BadParameter(f"{value} is not within {least:g}s and {most / 86400:g}d", param=param)
        return seconds

    return seconds_of


def _pattern(_: click.Context, param: click.Parameter, values: tuple[str, ...]) -> tuple[str, ...]:
    if any(not value.strip() for value in values):
        raise click.BadParameter("a pattern has at least one character", param=param)
    return values


@click.command(
    "trunk-exporter",
    epilog="""\b
Patterns are WORKFLOW or "WORKFLOW / JOB", with * for any text, ? for any character and [ab] for one of these.

\b
Examples:
  watchkeeper trunk-exporter --repo pytorch/pytorch --job pull --job trunk --job 'linux-binary-* / *'
  watchkeeper trunk-exporter --repo o/r --branch release/2.9 --job 'ci / build*' --exclude '* / *windows*'

\b
The token: WATCHKEEPER_GITHUB_TOKEN, or WATCHKEEPER_GITHUB_TOKEN_FILE, which names a file that holds it. It has to read
Actions and contents of the repository, nothing else. Without a token GitHub allows 60 requests an hour.

\b
Signals: SIGTERM ends it; SIGHUP reads the web configuration again.

Exit status: 0 stopped, 1 it can't serve, 2 wrong usage.""",
)
@listen_option(PORT)
@click.option("--repo", required=True, metavar="OWNER/NAME", help="The repository.")
@click.option("--branch", default="main", show_default=True, metavar="BRANCH", help="The branch.")
@click.option(
    "--job",
    "jobs",
    multiple=True,
    default=JOBS,
    show_default="all",
    callback=_pattern,
    metavar="PATTERN",
    help="Jobs that block. May be given several times.",
)
@click.option(
    "--exclude",
    multiple=True,
    default=EXCLUDE,
    show_default="unstable, rerun_disabled_tests and mem_leak_check in a name",
    callback=_pattern,
    metavar="PATTERN",
    help="Of these, jobs that don't; given, it stands in place of the default. May be given several times.",
)
@click.option(
    "--cancelled",
    type=click.Choice(list(ENDS)),
    default="ignore",
    show_default=True,
    help="What a cancelled job is: a failure, no result, or one that has none yet.",
)
@click.option(
    "--timed-out",
    type=click.Choice(list(ENDS)),
    default="fail",
    show_default=True,
    help="What a job is that GitHub ended after its time.",
)
@click.option(
    "--commits",
    type=click.IntRange(1, 100),
    default=30,
    show_default=True,
    metavar="N",
    help="How many of the newest commits are looked at.",
)
@click.option(
    "--max-age",
    callback=_duration(60.0, 365 * 86400.0),
    default="24h",
    show_default=True,
    metavar="DURATION",
    help="Red jobs whose newest red commit is older count no more.",
)
@click.option(
    "--interval",
    callback=_duration(10.0, 86400.0),
    default="5m",
    show_default=True,
    metavar="DURATION",
    help="From one poll to the next.",
)
@state_option("all is", STATE)
@web_config_option
@api_url_option
def trunk_exporter(
    *,
    listen: str,
    repo: str,
    branch: str,
    jobs: tuple[str, ...],
    exclude: tuple[str, ...],
    cancelled: str,
    timed_out: str,
    commits: int,
    max_age: float,
    interval: float,
    state: Path | None,
    web_config: Path | None,
    api_url: str,
) -> None:
    """Serve to Prometheus which blocking jobs of a branch are red, and for how many commits in a row."""
    from watchkeeper_fleet.exporter.service import serve
    from watchkeeper_fleet.github import GitHub, token_from
    from watchkeeper_fleet.trunk.blocking import Blocking
    from watchkeeper_fleet.trunk.cache import Cache
    from watchkeeper_fleet.trunk.exporter import Branch, polling

    host, port = address(listen, PORT)
    check_repository(repo)
    if not branch or not branch.isprintable():
        raise click.BadParameter("a branch has a name", param_hint="--branch")
    try:
        github = GitHub(api_url, token_from())
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    blocking = Blocking(jobs, exclude, ENDS[cancelled], ENDS[timed_out])
    of = Branch(repo, branch, blocking, commits=commits, max_age=max_age, interval=interval)
    with serving():
        serve(host, port, web_config, polling(of, github, Cache(state_file(state, STATE))))
