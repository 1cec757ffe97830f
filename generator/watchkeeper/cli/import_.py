"""`watchkeeper import`."""

from __future__ import annotations

import os
import sys
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

import click

from watchkeeper.cli.common import counted, read_settings, report, stop

if TYPE_CHECKING:
    from collections.abc import Sequence

    from watchkeeper.findings import Finding
    from watchkeeper.importing.imports import Module, Source


@click.command(
    "import",
    epilog="""\b
Examples:
  watchkeeper import node.rules.yml                          print the module
  watchkeeper import node.rules.yml --out alerts/node.py
  watchkeeper import rules/ manifests/ --out alerts/         a module for each rule file

\b
Reads rule files and PrometheusRule manifests. All that Prometheus reads stays as it is, to the letter, and comments
stay where they are. Before anything is written, each module is run, and what it renders to compared with what was read.

\b
What the definitions still lack, such as an alert's team or runbook, is listed on standard error.

\b
Exit status: 0 imported, 1 a file can't be read or written (then nothing is), 2 wrong usage.""",
)
@click.argument("paths", nargs=-1, required=True, type=click.Path(), metavar="PATH...")
@click.option("--out", type=click.Path(), metavar="FILE|DIR", help="Where the module, or several, go.")
@click.option("--force", is_flag=True, help="Overwrite modules that are there.")
def import_(*, paths: tuple[str, ...], out: str | None, force: bool) -> None:
    """Turn rule files into Python definitions that render back to the same rules."""
    from watchkeeper.importing.imports import DiffersError, made, sources, to_do

    found, findings = sources(paths)
    if report(findings):
        click.echo("nothing imported", err=True)
        sys.exit(1)
    if not found:
        raise click.UsageError(f"no rule files below {', '.join(paths)}")
    if out is None and len(found) > 1:
        raise click.UsageError(f"{len(found)} rule files are {len(found)} modules: say where they go, --out DIR")
    targets = _targets(found, out)
    if out is not None:
        _refuse(targets, force=force)
    settings = read_settings()
    try:
        modules = [made(source, path, settings) for source, path in zip(found, targets, strict=True)]
    except DiffersError as error:
        stop([error.finding])
    if out is None:
        sys.stdout.buffer.write(modules[0].text.encode())
        sys.stdout.flush()
    else:
        _write(modules)
    today = date.today()  # noqa: DTZ011 - the day on which a waiver ends is that of who wrote it
    _tell(modules, to_do(modules, settings, today), settings.root, written=out is not None)


def _targets(found: Sequence[Source], out: str | None) -> list[Path]:
    if out is None:
        return [source.path for source in found]
    folder = Path(out)
    if folder.suffix != ".py" or folder.is_dir():
        return [folder / source.path for source in found]
    if len(found) > 1:
        raise click.BadParameter(f"{len(found)} rule files are {len(found)} modules: name a folder", param_hint="--out")
    return [folder]


def _refuse(targets: Sequence[Path], *, force: bool) -> None:
    """End the program if a module would overwrite what is there."""
    from watchkeeper.findings import Finding, Place

    why, fix = "what was changed in it would be lost", "give another --out, or --force to overwrite it"
    there = [path for path in targets if os.path.lexists(path) and not force]
    if there:
        stop([Finding("import/exists", "is already there", Place(str(path)), why=why, fix=fix) for path in there])


def _write(modules: Sequence[Module]) -> None:
    """Write all modules or none: they get their names once the last of them is on the disk."""
    temporaries: list[tuple[Path, Path]] = []
    path = modules[0].path
    try:
        for one in modules:
            path = one.path
            path.parent.mkdir(parents=True, exist_ok=True)
            temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
            temporaries.append((temporary, path))
            temporary.write_text(one.text, encoding="utf-8", newline="\n")
        for temporary, path in temporaries:
            temporary.replace(path)
    except OSError as error:
        from watchkeeper.findings import Finding, Place

        stop([Finding("import/file", f"can't be written: {error.strerror or error}", Place(str(path)))])
    finally:
        for temporary, _ in temporaries:
            temporary.unlink(missing_ok=True)


def _tell(modules: Sequence[Module], findings: Sequence[Finding], root: Path, *, written: bool) -> None:
    """Say what was made, what is left to do, and how to go on."""
    from watchkeeper.findings import printable

    for one in modules if written else ():
        click.echo(f"{one.path}: {counted(one.rules, 'rule')} in {counted(one.groups, 'group')}", err=True)
    kinds: dict[tuple[str, str], list[Finding]] = {}
    for finding in findings:
        kinds.setdefault((finding.severity, finding.check), []).append(finding)
    if findings:
        click.echo("to do, for `watchkeeper generate` to write these rules without a word:", err=True)
    for (severity, check), several in sorted(kinds.items(), key=lambda kind: (kind[0][0], -len(kind[1]), kind[0][1])):
        more = f", and {len(several) - 1} more" if len(several) > 1 else ""
        click.echo(f"  {severity}[{check}] {printable(several[0].message)} ({several[0].place}){more}", err=True)
    click.echo("the pack declares no metric: names of metrics are not checked until it does", err=True)
    names = [_dotted(one.path, root) for one in modules]
    if written and all(names):
        click.echo(f"all of that: watchkeeper check --definitions {names[0]}:PACK", err=True)
        package = os.path.commonpath([name.replace(".", "/") for name in names]).replace("/", ".")
        if len(names) > 1 and package:
            click.echo(f'one pack of all modules: PACK = Pack.discover("{package}")', err=True)


def _dotted(path: Path, root: Path) -> str:
    """Return the name by which a module is imported, empty where it can't be: outside the project."""
    try:
        parts = path.resolve().relative_to(root.resolve()).with_suffix("").parts
    except ValueError:
        return ""
    return ".".join(parts) if all(part.isidentifier() for part in parts) else ""
