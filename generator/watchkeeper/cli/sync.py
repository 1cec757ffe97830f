"""`watchkeeper sync`: plan, apply, drift."""

from __future__ import annotations

import os
import sys
import time
from typing import TYPE_CHECKING, Any, NoReturn

import click

from watchkeeper.cli.common import checked_project, counted, read_settings, report, stop
from watchkeeper.cli.options import definitions_option

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from watchkeeper.settings import Settings
    from watchkeeper.sync.apply import Outcome
    from watchkeeper.sync.run import Made, Remote, Result

_STATUS = "Exit status: 0 fine, 1 {}, 2 wrong usage, 3 a server can't be reached or refused."
_FAILED = 3


@click.group(
    epilog="""\b
Examples:
  watchkeeper sync plan                       what would be done, and what somebody edited by hand
  watchkeeper sync plan --format markdown     the same, as a comment for a pull request
  watchkeeper sync apply --prune              do it, and delete what is ours and no longer wanted
  watchkeeper sync drift                      fail where a server differs from the definitions

Servers are named in [tool.watchkeeper.sync]; tokens in WATCHKEEPER_GRAFANA_TOKEN and WATCHKEEPER_RULER_TOKEN, or
with _FILE behind them the names of files that hold them."""
)
def sync() -> None:
    """Bring dashboards and rules to Grafana and rulers, as the definitions have them: plan, apply, drift."""


def _shared(verb: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that all three have."""
    for option in reversed(
        (
            definitions_option,
            click.option("--only", multiple=True, metavar="PATTERN", help="Only what this names by uid or title."),
            click.option(
                "--format",
                "form",
                type=click.Choice(["text", "json", "markdown"]),
                default="text",
                help="How to tell of it.",
                show_default=True,
            ),
            click.option(
                "--ca-file", default="", metavar="FILE", help="Certificates (PEM) to trust besides the system's."
            ),
        )
    ):
        verb = option(verb)
    return verb


def _writing(verb: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that say what may be written."""
    for option in reversed(
        (
            click.option("--prune", is_flag=True, help="Delete what carries our mark and is no longer wanted."),
            click.option(
                "--overwrite",
                multiple=True,
                metavar="PATTERN",
                help="Write what this names though somebody else edited or made it; their work is lost.",
            ),
        )
    ):
        verb = option(verb)
    return verb


@sync.command(epilog=_STATUS.format("a conflict"))
@_shared
@_writing
def plan(**options: Any) -> None:
    """Show what apply would do; write nothing."""
    results = _planned(**options)
    _tell(results, options["form"])
    sys.exit(1 if _conflicts(results) else 0)


@sync.command(epilog=_STATUS.format("a conflict, or somebody else was faster"))
@_shared
@_writing
@click.option("--dry-run", is_flag=True, help="Write nothing: as plan, with the token's rights to write checked.")
@click.option(
    "--audit",
    type=click.Path(dir_okay=False),
    metavar="FILE",
    help="Where a JSON line for each write is added; default: standard error.",
)
def apply(*, dry_run: bool, audit: str | None, **options: Any) -> None:
    """Write what differs; delete only what is ours, with --prune."""
    results = _planned(**options, writes=True)
    if not dry_run:
        results = _applied(results, audit)
    _tell(results, options["form"])
    came = {outcome.result for result in results for outcome in result.outcomes}
    if "failed" in came:
        sys.exit(_FAILED)
    sys.exit(1 if _conflicts(results) or came & {"stale", "skipped"} else 0)


@sync.command(epilog=_STATUS.format("a server differs from the definitions"))
@_shared
def drift(**options: Any) -> None:
    """Fail where a server differs from the definitions."""
    results = _planned(**options)
    _tell(results, options["form"])
    sys.exit(1 if any(result.drifted for result in results) else 0)


def _planned(
    *,
    definitions: str | None,
    only: Sequence[str],
    form: str,  # noqa: ARG001 - the verbs have it, and give all that they have
    ca_file: str,
    prune: bool = False,
    overwrite: Sequence[str] = (),
    writes: bool = False,
) -> list[Result]:
    """Return what is to be done at each server. Ends the program where that can't be known."""
    from watchkeeper.sync.objects import Refused
    from watchkeeper.sync.run import Result, planned, remotes

    settings = read_settings()
    if settings.sync is None or not (settings.sync.grafana_url or settings.sync.ruler_url):
        click.echo(
            "no server is named: write [tool.watchkeeper.sync] with owner and grafana_url or ruler_url", err=True
        )
        sys.exit(1)
    made = _made(settings, definitions)
    try:
        found: list[Remote] = remotes(
            made, os.environ, ca_file, writes=writes, deletes=writes and prune,
            at_end=click.get_current_context().call_on_close,
        )  # fmt: skip
        results = [Result(remote, planned(remote, prune=prune, only=only, overwrite=overwrite)) for remote in found]
    except Refused as error:
        _refused(error)
    if only and not any(result.changes for result in results):
        click.echo(f"nothing is named by --only {' --only '.join(only)}", err=True)
        sys.exit(1)
    return results


def _made(settings: Settings, definitions: str | None) -> Made:
    """Build the project, and make sure that its files are as generated: what is applied is what was looked at."""
    from datetime import date

    from watchkeeper import output
    from watchkeeper.cache import Recorder
    from watchkeeper.sync.run import Made

    recorder = Recorder()
    today = date.today()  # noqa: DTZ011 - the day on which a waiver ends is that of who wrote it
    project, findings, _ = checked_project(settings, definitions, recorder, today)
    recorder.stop()
    errors = [finding for finding in findings if finding.severity == "error"]
    if report(errors):
        click.echo("nothing is synced", err=True)
        sys.exit(1)
    try:
        stale = output.plan(project.files, settings.root)
    except output.OutputError as error:
        stop(error.findings)
    if stale.writes or stale.deletes:
        number = len(stale.writes.keys() - {output.MANIFEST}) + len(stale.deletes)
        what = counted(number, "file") if number else output.MANIFEST
        click.echo(f"{what} not as the definitions say: run `watchkeeper generate`, and look at what it does", err=True)
        sys.exit(1)
    return Made(
        settings,
        {board.uid: board.folder for board in project.dashboards},
        project.files,
        [group for _, document in project.documents for group in document["groups"]],
    )


def _applied(results: Sequence[Result], file: str | None) -> list[Result]:
    from contextlib import suppress
    from pathlib import Path

    from watchkeeper.sync.audit import Audit
    from watchkeeper.sync.objects import Refused
    from watchkeeper.sync.run import applied

    number = sum(change.writes for result in results for change in result.changes)
    done = 0

    def count(_outcome: Outcome) -> None:
        nonlocal done
        done += 1
        if file and sys.stderr.isatty():
            sys.stderr.write(f"\r{done}/{number}{chr(10) if done == number else ''}")
            sys.stderr.flush()

    try:
        log = Path(file).open("a", encoding="utf-8", buffering=1) if file else sys.stderr  # noqa: SIM115 - closed below
    except OSError as error:
        click.echo(f"the audit file can't be written: {file}: {error.strerror}", err=True)
        sys.exit(1)
    try:
        return [applied(result, Audit(log.write, time.time, result.remote.url), count) for result in results]
    except Refused as error:  # by the audit log, after a write that is not in it
        click.echo(f"{error}: make room for it, and run it again", err=True)
        sys.exit(_FAILED)
    finally:
        if file:
            with suppress(OSError):  # the line that it could not take, which was told
                log.close()


def _conflicts(results: Sequence[Result]) -> bool:
    return any(change.action == "conflict" for result in results for change in result.changes)


def _tell(results: Sequence[Result], form: str) -> None:
    from watchkeeper.sync.report import FORMATS

    click.echo(FORMATS[form](results), nl=False)


def _refused(error: Exception) -> NoReturn:
    click.echo(f"{error}; nothing was written", err=True)
    sys.exit(_FAILED)
