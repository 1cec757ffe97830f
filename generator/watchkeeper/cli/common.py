"""What the verbs share: settings and definitions in, findings out. Without click, which some runs never need."""

from __future__ import annotations

import os
import sys
import time
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from datetime import date
    from pathlib import Path

    from watchkeeper.cache import Recorder
    from watchkeeper.findings import Finding
    from watchkeeper.project import Project
    from watchkeeper.settings import Settings
    from watchkeeper.waivers import Waived


def checked_project(
    settings: Settings, definitions: str | None, recorder: Recorder, today: date, out: Path | None = None
) -> tuple[Project, list[Finding], list[Waived]]:
    """Return the project, the findings to report, and what was waived. Ends the program if it can't be loaded.

    `out` is where generated files lie, beside the settings where it is None.
    What is read on the way is noted in the recorder. Large packs are spread over the cores.
    """
    project, findings = _built(settings, definitions, recorder, out or settings.root)
    pack = project.pack
    routing = [pack.routing] if pack.routing else []
    if not any(owner.waivers for owner in (*pack.groups, *pack.rules, *pack.loose, *routing)):
        return project, findings, []
    from watchkeeper.checks import ids
    from watchkeeper.waivers.held import apply, of_definitions

    held, faults = of_definitions(pack, ids())
    return project, *apply([*findings, *faults], held, today)


def _built(settings: Settings, definitions: str | None, recorder: Recorder, out: Path) -> tuple[Project, list[Finding]]:
    from watchkeeper.building import build
    from watchkeeper.findings import Finding
    from watchkeeper.load import LoadError, explain, foreign, is_users, load_pack
    from watchkeeper.spread import ChildDied, spread

    definitions = definitions or settings.definitions
    if not definitions:
        fix = 'write definitions = "module:PACK" under [tool.watchkeeper] in pyproject.toml, or give --definitions'
        stop([Finding("load/name", f"no definitions are named for {settings.root}", fix=fix)])
    pack = None
    try:
        with foreign():
            pack = load_pack(definitions, settings.root)
            return build(
                pack,
                settings,
                track=track,
                spread=lambda f, items: spread(f, items, recorder),
                previous=lambda path: _text(out / path),
                keep=False,
            )
    except LoadError as error:
        stop([error.finding])
    except ChildDied as error:
        fix = "look for os._exit in the dashboards' functions, and for the kernel's word about memory (journalctl -k)"
        stop([Finding("load/dashboard", str(error), pack.place if pack else None, fix=fix)])
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        if not is_users(error):
            raise  # ours: a bug wants its traceback
        stop([explain(error, "checking the definitions", settings.root)])


def _text(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:  # what is no file is told of when files are written
        return None


def read_settings() -> Settings:
    """Return the working directory's settings. Ends the program if they can't be read."""
    from pathlib import Path

    from watchkeeper.findings import Finding
    from watchkeeper.settings import SettingsError, load_settings

    try:
        return load_settings(Path.cwd())
    except FileNotFoundError:
        stop([Finding("settings/file", "the working directory is no longer there", fix="go to one that is there")])
    except SettingsError as error:
        stop(error.findings)


def stop(findings: Sequence[Finding]) -> NoReturn:
    """Print the findings and end with status 1."""
    report(findings)
    sys.exit(1)


def report(findings: Sequence[Finding]) -> bool:
    """Print findings and their number on standard error. Returns whether there is an error among them."""
    from watchkeeper.findings import to_text

    colour = wants_colour(sys.stderr)
    for finding in findings:
        sys.stderr.write(f"{to_text(finding, colour=colour)}\n")
    if findings:
        sys.stderr.write(f"{totals(findings)}\n")
    sys.stderr.flush()
    return any(finding.severity == "error" for finding in findings)


def totals(findings: Sequence[Finding]) -> str:
    """Return how many findings there are, `1 error, 2 warnings`; empty where there are none."""
    counts = [(sum(finding.severity == word for finding in findings), word) for word in ("error", "warning", "note")]
    return ", ".join(counted(number, word) for number, word in counts if number)


def counted(number: int, word: str) -> str:
    """Return `1 file`, `2 files`."""
    return f"{number} {word}" if number == 1 else f"{number} {word}s"


def wants_colour(stream: Any) -> bool:
    """Colour only on a terminal, and not where NO_COLOR is set (https://no-color.org) or the terminal is dumb."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def track(items: Iterable[Any], what: str, number: int) -> Iterator[Any]:
    """Yield the items; past two seconds, on a terminal, count them there."""
    start, shown = time.monotonic(), False
    terminal = sys.stderr.isatty()
    for done, item in enumerate(items):
        if terminal and time.monotonic() - start > 2:
            width = 30 * done // number
            sys.stderr.write(f"\r{what} [{'#' * width}{' ' * (30 - width)}] {done}/{number}")
            sys.stderr.flush()
            shown = True
        yield item
    if shown:
        sys.stderr.write("\r\x1b[K")
        sys.stderr.flush()
