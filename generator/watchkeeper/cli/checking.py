"""What `watchkeeper check` does. Without click where it is not needed, which takes longer to load than to check."""

from __future__ import annotations

import io
import os
import sys
from dataclasses import replace
from datetime import date
from typing import TYPE_CHECKING, NoReturn

from watchkeeper.cli.common import checked_project, counted, read_settings, report, stop, totals, track, wants_colour
from watchkeeper.findings import Finding, Place

if TYPE_CHECKING:
    from watchkeeper.files import Contents
    from watchkeeper.read.scrape import Published
    from watchkeeper.remembered import Said
    from watchkeeper.settings import Settings
    from watchkeeper.waivers import Waived

    # How much was looked at, what there is to report, and what was waived.
    Outcome = tuple[str, list[Finding], list[Waived]]


def run(
    paths: tuple[str, ...],
    *,
    definitions: str | None = None,
    metrics: tuple[str, ...] = (),
    changed_since: str | None = None,
    form: str = "text",
) -> NoReturn:
    """Check files, or the definitions where there are no paths; print what is found, and end the program."""
    settings = read_settings()
    today = date.today()  # noqa: DTZ011 - the day on which a waiver ends is that of who wrote it
    from watchkeeper.remembered import Remembered, Said

    remembered = None
    if paths and not (metrics or changed_since or "-" in paths):
        remembered = Remembered([paths, form, wants_colour(sys.stdout), str(settings)], str(today))
        if known := remembered.recall():
            sys.exit(_say(known))
    contents = None
    if paths:
        contents, (what, findings, waived) = _of_files(paths, settings, metrics, today)
    else:
        what, findings, waived = _of_definitions(settings, definitions, today)
    fine = f"{what}: fine"
    if changed_since is not None:
        findings = _touched(findings, changed_since, contents, paths)
        fine = f"{what}: nothing to report of what changed since {changed_since}"
    errors = any(finding.severity == "error" for finding in findings)
    said = Said(_written(findings, waived, form), totals(findings) or fine, int(errors))
    if remembered and contents:
        remembered.keep(said, contents.names, contents.folders)
    status = _say(said)
    if contents:
        os._exit(status)  # to free all those trees takes a tenth of the time
    sys.exit(status)


def _say(said: Said) -> int:
    """Print what there is to say, and return the exit status."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # some terminals know few characters
    sys.stdout.write(said.out)
    sys.stdout.flush()
    sys.stderr.write(f"{said.err}\n")
    sys.stderr.flush()
    return said.status


def _of_definitions(settings: Settings, definitions: str | None, today: date) -> Outcome:
    from watchkeeper.cache import Recorder

    project, findings, waived = checked_project(settings, definitions, Recorder(), today)
    parts = (
        counted(sum(1 for _ in project.pack.rules), "rule"),
        counted(len(project.dashboards), "dashboard"),
        counted(len(project.pack.metrics), "metric"),
    )
    return ", ".join(parts), findings, waived


def _of_files(
    paths: tuple[str, ...], settings: Settings, metrics: tuple[str, ...], today: date
) -> tuple[Contents, Outcome]:
    from watchkeeper import files
    from watchkeeper.settings import Targets

    published = _published(metrics) if metrics else None
    if not settings.definitions:
        settings = replace(settings, targets=Targets.newest())  # nobody said which versions are in use
    contents = files.read(paths, track)
    project, findings = files.check(contents, settings, published=published)
    held, faults = files.waivers(contents)
    waived: list[Waived] = []
    if held or faults:
        from watchkeeper.waivers.held import apply

        findings, waived = apply([*findings, *faults], held, today)
    parts = [
        counted(number, word)
        for number, word in (
            (sum(len(group.rules) for group in project.groups), "rule"),
            (len(contents.dashboards), "dashboard"),
            (len(contents.alertmanagers), "Alertmanager configuration"),
        )
        if number
    ]
    if not parts and not findings:
        findings = [Finding("yaml/kind", "there is nothing to check", Place(paths[0]), fix="name files of rules")]
    return contents, (", ".join(parts), findings, waived)


def _published(metrics: tuple[str, ...]) -> list[Published]:
    from watchkeeper.cli.fetch import Unreachable, published
    from watchkeeper.read.files import Unreadable
    from watchkeeper.read.scrape import together

    try:
        return together(one for where in metrics for one in published(where))
    except Unreadable as error:
        stop([error.finding])
    except Unreachable as error:
        report([error.finding])
        sys.exit(3)


def _touched(
    findings: list[Finding], revision: str, contents: Contents | None, paths: tuple[str, ...]
) -> list[Finding]:
    from watchkeeper import files
    from watchkeeper.changes import RevisionError, changes_since, former, touched
    from watchkeeper.dependency import dependents
    from watchkeeper.findings import sort

    root = os.getcwd()  # noqa: PTH109 - a string
    try:
        changes = changes_since(revision, root)
        # They are about what the change broke elsewhere.
        broken = dependents(contents, paths, lambda wanted: former(revision, root, wanted)) if contents else []
    except RevisionError as error:
        import click

        raise click.BadParameter(str(error), param_hint="--changed-since") from None
    return sort([*touched(findings, changes, files.scopes(contents) if contents else {}), *broken])


def _written(findings: list[Finding], waived: list[Waived], form: str) -> str:
    if form == "text":
        from watchkeeper.findings import to_text

        colour = wants_colour(sys.stdout)
        return "".join(f"{to_text(finding, colour=colour)}\n" for finding in findings)
    from watchkeeper import reports

    root = os.getcwd()  # noqa: PTH109 - a string
    if form == "json":
        return reports.to_json(findings, root, waived)
    return reports.to_github(findings, root) if form == "github" else reports.to_sarif(findings, root, waived)
