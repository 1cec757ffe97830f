"""`watchkeeper generate`."""

from __future__ import annotations

import signal
import sys
import threading
from typing import TYPE_CHECKING

import click

from watchkeeper.cli.common import (
    checked_project,
    counted,
    read_settings,
    report,
    stop,
    wants_colour,
)
from watchkeeper.cli.options import definitions_option

if TYPE_CHECKING:
    from pathlib import Path

    from watchkeeper.output import Plan
    from watchkeeper.project import Project


@click.command(
    epilog="""\b
Examples:
  watchkeeper generate
  watchkeeper generate --check
  watchkeeper generate --definitions acme.monitoring.pack:EUROPE --out europe

What is generated is listed in watchkeeper.manifest; what is no longer generated is deleted; other files are left alone.
Nothing is written while there is an error."""
)
@click.option("--check", is_flag=True, help="Write nothing; exit 1 with a diff where files are stale.")
@definitions_option
@click.option(
    "--out",
    type=click.Path(),
    metavar="DIR",
    help="Where rules/, dashboards/, runbooks/ and deploy/ go; default: beside pyproject.toml.",
)
def generate(*, check: bool, definitions: str | None, out: str | None) -> None:
    """Write rules/, dashboards/, runbooks/ and what belongs into deploy/ from the definitions."""
    from datetime import date
    from pathlib import Path

    from watchkeeper.cache import Cache, Recorder
    from watchkeeper.output import MANIFEST

    settings = read_settings()
    folder = Path.cwd() / out if out else settings.root  # definitions may change the working directory
    cache = Cache(settings.root, definitions or settings.definitions, folder)
    if message := cache.fresh():
        click.echo(message, err=True)
        return
    recorder = Recorder()
    today = date.today()  # noqa: DTZ011 - the day on which a waiver ends is that of who wrote it
    project, findings, waived = checked_project(settings, definitions, recorder, today, folder)
    recorder.stop()
    if report(findings):
        click.echo("nothing written" if not check else "not compared", err=True)
        sys.exit(1)
    done = _write(project, folder, check=check)
    if not findings and not any(waiver.until for _, waiver in waived):  # a record knows of no date
        unchanged = f"{counted(len(project.files), 'file')}: 0 written, 0 deleted, {len(project.files)} unchanged"
        cache.store(recorder, [*project.files, MANIFEST], unchanged)
    click.echo(done, err=True)


def _write(project: Project, folder: Path, *, check: bool) -> str:
    """Write what differs, or only tell of it; return what was done.

    Ends the program where that fails, or where a check finds something.
    """
    from watchkeeper import output

    try:
        plan = output.plan(project.files, folder)
        if check:
            _show(plan)
        else:
            output.apply(plan, _settle)
    except output.OutputError as error:
        stop(error.findings)
    changed = len(plan.writes) - (output.MANIFEST in plan.writes)
    if check and (plan.writes or plan.deletes):
        what = f"{changed} stale, {len(plan.deletes)} to delete"
        if not changed and not plan.deletes:
            what = f"{output.MANIFEST} is stale"
        click.echo(f"{what}: run `watchkeeper generate`", err=True)
        sys.exit(1)
    done = f"{changed} written, {len(plan.deletes)} deleted, {plan.unchanged} unchanged"
    return f"{counted(len(project.files), 'file')}: {done}"


def _settle() -> None:
    """Let no interruption end the program: from here on files change, and what was done has to be said."""
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.SIG_IGN)


def _show(plan: Plan) -> None:
    from watchkeeper.findings import printable
    from watchkeeper.output import diff

    colour = wants_colour(sys.stdout)
    hues = {"+": "\x1b[32m", "-": "\x1b[31m", "@": "\x1b[36m"}
    for line in diff(plan):
        hue = hues.get(line[:1], "") if colour else ""
        click.echo(f"{hue}{printable(line)}\x1b[0m" if hue else printable(line), color=colour)
