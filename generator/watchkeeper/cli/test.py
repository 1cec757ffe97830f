"""`watchkeeper test`."""

from __future__ import annotations

import os
import sys
import time
from typing import TYPE_CHECKING

import click

from watchkeeper.cli.common import counted, wants_colour
from watchkeeper.walking import walk

if TYPE_CHECKING:
    import re
    from collections.abc import Callable, Iterator, Sequence

    from watchkeeper.ruler.rules import Fault
    from watchkeeper.ruler.unit.suite import Suite
    from watchkeeper.ruler.unit.testfile import UnitFile, UnitTest

_SUFFIXES = (".yml", ".yaml")
_PATIENCE_S = 2.0


@click.command(
    epilog="""\b
Examples:
  watchkeeper test                          all unit-test files below the project
  watchkeeper test rules/*.test.yml         these
  watchkeeper test -k HighLatency           tests of that name, and of alerts of that name
  watchkeeper test --junit report.xml

\b
The files are promtool's, and so is the verdict, with two exceptions that keep mistakes from passing: a test of an
alert that no rule has fails, and so does one of an alert that several rules of the same labels make.

Exit status: 0 all pass, 1 a test fails or a file can't be used, 2 wrong usage."""
)
@click.argument("paths", nargs=-1, type=click.Path(exists=True), metavar="[PATH]...")
@click.option("-k", "pattern", metavar="REGEX", help="Only tests, or checks of alerts, whose name has a match.")
@click.option("--junit", type=click.Path(dir_okay=False), metavar="FILE", help="Write the outcome as JUnit XML.")
def test(*, paths: tuple[str, ...], pattern: str | None, junit: str | None) -> None:
    """Run unit tests of rules, as promtool test rules does, in process."""
    import gc

    gc.disable()  # trees and numbers, hardly a cycle: collecting takes a third of the time
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before NumPy: its threads cost more than they do here
    wanted = _regex(pattern) if pattern else None
    files = list(_files(paths or (_root(),)))
    if not files:
        below = ", ".join(paths) or "the project"
        raise click.UsageError(f"no unit-test files below {below}: YAML with rule_files and tests")
    suites = _run(files, wanted)
    if junit:
        _write(junit, suites)
    tests = sum(len(suite.cases) for suite in suites)
    failed = sum(bool(outcome.failures) for suite in suites for _, outcome, _ in suite.cases)
    broken = sum(bool(suite.faults) for suite in suites)
    if wanted is not None and not tests and not broken:
        raise click.UsageError(f"no test and no alert in a test has a match for {pattern}")
    checks = sum(outcome.checks for suite in suites for _, outcome, _ in suite.cases)
    parts = [counted(failed, "test") + " failed"] if failed else []
    if broken:
        parts.append(counted(broken, "file") + " can't be used")
    parts.append(f"{counted(tests - failed, 'test')} passed ({counted(checks, 'check')})")
    click.echo(", ".join(parts), err=True)
    gc.freeze()  # nor is anything collected on the way out
    if failed or broken:
        sys.exit(1)


def _regex(pattern: str) -> re.Pattern[str]:
    import re

    try:
        return re.compile(pattern)
    except re.error as error:
        raise click.BadParameter(f"no regular expression: {error}", param_hint="-k") from None


def _root() -> str:
    from pathlib import Path

    from watchkeeper.cli.common import stop
    from watchkeeper.settings import SettingsError, load_settings

    try:
        root = load_settings(Path.cwd()).root
    except SettingsError as error:
        stop(error.findings)
    return os.path.relpath(root)


def _files(paths: Sequence[str]) -> Iterator[str]:
    """The unit-test files among paths and below folders."""
    for path in paths:
        if not os.path.isdir(path):  # noqa: PTH112 - pathlib is slow to load
            yield path
            continue
        for folder, names in walk(path):
            for name in names:
                file = os.path.normpath(os.path.join(folder, name))  # noqa: PTH118
                if name.endswith(_SUFFIXES) and _looks_like_test(file):
                    yield file


def _looks_like_test(path: str) -> bool:
    try:
        with open(path, "rb") as file:  # noqa: PTH123
            text = b"\n" + file.read()
    except OSError:
        return False
    return b"\nrule_files:" in text and b"\ntests:" in text


def _run(files: Sequence[str], wanted: re.Pattern[str] | None) -> list[Suite]:
    """Run all files, printing what fails as it is found."""
    from watchkeeper.ruler.rules import Fault, RuleError
    from watchkeeper.ruler.unit import load, testfile, verdict
    from watchkeeper.ruler.unit.suite import Suite

    suites = []
    with _Progress(len(files)) as progress:
        for path in files:
            suite = Suite(path)
            suites.append(suite)
            try:
                file = testfile.read(path)
                verdict.check_values(file)
                loaded = load.load(file)
                for name in loaded.missing:
                    progress.echo(_fault(Fault(f"no file matches {name}", path, file.rule_line), "warning"), err=True)
                for number, test in _selected(file, wanted):
                    start = time.perf_counter()
                    outcome = verdict.run(file, test, loaded)
                    suite.cases.append((number, outcome, time.perf_counter() - start))
                    if outcome.failures:
                        from watchkeeper.ruler.unit import text

                        colour = wants_colour(sys.stdout)
                        for line in text.lines(outcome, path, number, colour=colour):
                            progress.echo(line, colour=colour)
            except RuleError as error:
                suite.faults = error.faults
                for fault in error.faults:
                    progress.echo(_fault(fault, "error"), err=True)
            progress.done += 1
    return suites


def _selected(file: UnitFile, wanted: re.Pattern[str] | None) -> Iterator[tuple[int, UnitTest]]:
    """The tests to run with their numbers; of those without a match in their name, the checks of matching alerts."""
    for number, test in enumerate(file.tests, 1):
        if wanted is not None and not wanted.search(test.name):
            test.alert_cases = [case for case in test.alert_cases if wanted.search(case.name)]
            test.expr_cases = []
            if not test.alert_cases:
                continue
        yield number, test


def _fault(fault: Fault, severity: str) -> str:
    from watchkeeper.findings import printable, shorten

    bold, hue, off = ("", "", "")
    if wants_colour(sys.stderr):
        bold, hue, off = "\x1b[1m", "\x1b[31m" if severity == "error" else "\x1b[33m", "\x1b[0m"
    place = ":".join(str(part) for part in (shorten(fault.file) if fault.file else "", fault.line) if part)
    return f"{bold}{place}:{off} {hue}{severity}:{off} {printable(fault.message)}"


def _write(path: str, suites: Sequence[Suite]) -> None:
    from watchkeeper.ruler.unit import junit

    try:
        with open(path, "w", encoding="utf-8") as file:  # noqa: PTH123
            file.write(junit.to_xml(suites))
    except OSError as error:
        raise click.ClickException(f"{path} can't be written: {error.strerror or error}") from None


class _Progress:
    """Past two seconds, on a terminal, how many files are done."""

    def __init__(self, total: int) -> None:
        self.total = total
        self.done = 0
        self._stop: Callable[[], None] | None = None
        self._shown = False

    def __enter__(self) -> _Progress:  # noqa: PYI034  (typing.Self is of 3.11)
        if sys.stderr.isatty():
            import threading

            ended = threading.Event()

            def show() -> None:
                wait, start = _PATIENCE_S, time.monotonic()
                while not ended.wait(wait):
                    wait, self._shown = 0.25, True
                    width = 30 * self.done // self.total
                    bar = f"{'#' * width}{' ' * (30 - width)}"
                    seconds = time.monotonic() - start
                    click.echo(f"\rtest files [{bar}] {self.done}/{self.total} ({seconds:.0f} s)", nl=False, err=True)

            thread = threading.Thread(target=show, daemon=True)
            thread.start()

            def stop() -> None:
                ended.set()
                thread.join()

            self._stop = stop
        return self

    def echo(self, line: str, *, err: bool = False, colour: bool | None = None) -> None:
        """Print a line, where the bar was."""
        self._clear()
        click.echo(line, err=err, color=colour)

    def _clear(self) -> None:
        if self._shown:
            self._shown = False
            click.echo("\r\x1b[K", nl=False, err=True, color=True)

    def __exit__(self, *_: object) -> None:
        if self._stop is not None:
            self._stop()
        self._clear()
