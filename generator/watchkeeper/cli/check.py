"""`watchkeeper check`."""

from __future__ import annotations

import os

import click

from watchkeeper.cli.checking import run
from watchkeeper.cli.options import definitions_option


@click.command(
    epilog="""\b
Examples:
  watchkeeper check                                 the definitions that pyproject.toml names
  watchkeeper check rules/ alertmanager.yml         anyone's files, proven together
  watchkeeper check rules/ --metrics http://localhost:9090
  watchkeeper check rules/ --changed-since origin/main --format github
  helm template chart/ | watchkeeper check -        what a program writes

\b
PATH is a file, `-` for standard input, or a folder whose .yml, .yaml, .rules and .json files are read: rule files,
PrometheusRule manifests, Alertmanager configurations and dashboards. Each finding names its check, such as
promql/metric, which docs/checks/ explains; a waiver with a reason keeps one quiet (docs/waivers.md).

\b
Exit status: 0 no error (there may be warnings and notes), 1 an error, 2 wrong usage, 3 a server does not answer."""
)
@click.argument("paths", nargs=-1, metavar="[PATH]...")
@definitions_option
@click.option(
    "--metrics",
    multiple=True,
    metavar="FILE|URL",
    help="What is published: a scrape's text, or the address of a scrape or of a Prometheus server.",
)
@click.option("--changed-since", metavar="REV", help="Report only what was changed since this Git revision.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json", "github", "sarif"]),
    default="text",
    show_default=True,
    help="How findings are written, to standard output.",
)
def check(
    *, paths: tuple[str, ...], definitions: str | None, metrics: tuple[str, ...], changed_since: str | None, form: str
) -> None:
    """Report all that is wrong with the definitions, or with files of rules, routes and dashboards."""
    if paths and definitions:
        raise click.UsageError("give paths or --definitions, not both")
    if metrics and not paths:
        raise click.UsageError("--metrics is for files: definitions have their contract")
    for path in paths:
        if path != "-" and not os.path.lexists(path):
            raise click.BadParameter(f"there is no {click.format_filename(path)}", param_hint="PATH")
    run(paths, definitions=definitions, metrics=metrics, changed_since=changed_since, form=form)
