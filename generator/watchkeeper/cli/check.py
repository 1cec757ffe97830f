"""`watchkeeper check`."""

from __future__ import annotations

import sys

import click

from watchkeeper.cli.common import checked_project, counted, definitions_option, read_settings, report


@click.command(
    epilog="""\b
Examples:
  watchkeeper check
  watchkeeper check --definitions acme.monitoring.pack:EUROPE

Each finding names its check, such as promql/metric, which docs/checks/ explains."""
)
@definitions_option
def check(*, definitions: str | None) -> None:
    """Report all that is wrong with the definitions, without writing anything."""
    from watchkeeper.cache import Recorder

    project, findings = checked_project(read_settings(), definitions, Recorder())
    if report(findings):
        sys.exit(1)
    parts = (
        counted(sum(1 for _ in project.pack.rules), "rule"),
        counted(len(project.dashboards), "dashboard"),
        counted(len(project.pack.metrics), "metric"),
    )
    click.echo(f"{', '.join(parts)}: fine", err=True)
