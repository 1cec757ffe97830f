"""`watchkeeper query`."""

from __future__ import annotations

import contextlib
import sys
import time
from typing import TYPE_CHECKING, Any, NoReturn

import click

from watchkeeper.cli.common import wants_colour

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import BinaryIO

    from watchkeeper.engine import Data

_PATIENCE_S = 2.0  # what takes longer says on a terminal that it is still at it


@click.command(
    epilog="""\b
Examples:
  watchkeeper query 'rate(x_total[5m])' --data x.series --interval 15s --at 10m
  watchkeeper query 'sum by (gpu) (x)' --data scrape.prom.gz --format json
  watchkeeper query 'x > 2' --data incident.om --start 2026-11-03T10:00:00Z --step 1m
  curl -s localhost:9400/metrics | watchkeeper query 'topk(5, {__name__=~"gpu_.+"})' --data -

\b
Data: Prometheus' text format or OpenMetrics, with or without timestamps, or series notation, one series a line:
  x_total{gpu="0"}  0+30x40 _x3 stale 0+30x10
What a file holds is told by its suffix (.prom .metrics .om .openmetrics .series .notation, then .gz), else by content.

\b
Times: seconds since 1970, RFC 3339, or a duration from the first sample. With --start, --end or --step the answer is
a range of times; by default from the first to the last sample, one --interval apart.

Exit status: 0 an answer, if an empty one; 1 bad PromQL, no answer, or unreadable data; 2 wrong usage."""
)
@click.argument("expr")
@click.option(
    "--data",
    "paths",
    type=click.Path(exists=True, dir_okay=False, allow_dash=True),
    multiple=True,
    required=True,
    metavar="FILE",
    help="Where the samples are; - for standard input. May be given several times.",
)
@click.option("--at", metavar="TIME", help="The time of the query; default: that of the last sample.")
@click.option("--start", metavar="TIME", help="The first time of a range.")
@click.option("--end", metavar="TIME", help="The last time of a range.")
@click.option("--step", metavar="DURATION", help="Between the times of a range.")
@click.option(
    "--interval", default="15s", show_default=True, metavar="DURATION", help="Between samples in series notation."
)
@click.option("--format", "form", type=click.Choice(["table", "json", "csv"]), default="table", show_default=True)
@click.option(
    "--compat",
    type=click.Choice(["2", "3"]),
    default="3",
    show_default=True,
    help="The Prometheus whose answers are given: 3.14 or 2.42.",
)
def query(
    *,
    expr: str,
    paths: tuple[str, ...],
    at: str | None,
    start: str | None,
    end: str | None,
    step: str | None,
    interval: str,
    form: str,
    compat: str,
) -> None:
    """Evaluate PromQL on samples from files."""
    from watchkeeper.engine import Engine, EvalError
    from watchkeeper.engine.read import ReadError
    from watchkeeper.promql import ParseError, parse

    is_range = bool(start or end or step)
    if at and is_range:
        raise click.UsageError("--at is one time and --start, --end, --step are many: give one or the other")
    interval_s = _duration(interval, "--interval")
    step_s = _duration(step, "--step") if step else interval_s
    try:
        tree = parse(expr)
    except ParseError as error:
        _fail_at(expr, error.message, error.position, error.end)
    try:
        data = _read(paths, interval_s)
    except ReadError as error:
        place = ":".join(str(part) for part in (error.path, error.line, error.column) if part)
        _fail(error.message, place, error.snippet())
    except OSError as error:
        _fail(error.strerror or str(error), error.filename or paths[0])
    first, last = _span(data)
    engine = Engine(compat=compat)
    try:
        with _waiting("evaluating"):
            if is_range:
                first_s, last_s = _time(start, "--start", first, first), _time(end, "--end", first, last)
                if last_s < first_s:
                    raise click.UsageError("--end is before --start")
                result: Any = engine.range(data, tree, first_s, last_s, step_s, text=expr)
            else:
                result = engine.instant(data, tree, _time(at, "--at", first, last), text=expr)
    except EvalError as error:
        _fail_at(expr, error.message, error.position)
    _tell(result)
    from watchkeeper.cli import query_output

    query_output.write(result, form, sys.stdout)


def _tell(result: Any) -> None:
    """Warnings and infos on standard error."""
    from watchkeeper.findings import printable

    colour = wants_colour(sys.stderr)
    for hue, texts in (("\x1b[33m", result.warnings), ("\x1b[36m", result.infos)):
        for text in texts:
            kind, _, rest = printable(text).partition(": ")
            kind = kind.removeprefix("PromQL ")
            click.echo(f"{hue}{kind}:\x1b[0m {rest}" if colour else f"{kind}: {rest}", err=True, color=colour)


def _fail_at(expr: str, message: str, position: int | None, end: int | None = None) -> NoReturn:
    """Print an error with its place in the expression, and end with status 1."""
    from watchkeeper.engine.read.errors import excerpt
    from watchkeeper.promql.errors import line_and_column

    if position is None:
        _fail(message)
    line, column = line_and_column(expr, position)
    source = expr.split("\n")[line - 1].rstrip("\r")
    _fail(message, f"{line}:{column}", excerpt(source, column - 1, (end or position) - position))


def _fail(message: str, place: str = "", snippet: str = "") -> NoReturn:
    """Print an error, with a caret where there is a place, and end with status 1."""
    from watchkeeper.findings import printable

    colour = wants_colour(sys.stderr)
    red, off = ("\x1b[31m", "\x1b[0m") if colour else ("", "")
    where = f"{printable(place)}: " if place else ""
    click.echo(f"{where}{red}error:{off} {printable(message)}", err=True, color=colour)
    if snippet:
        source, _, carets = snippet.rpartition("\n")
        click.echo(f"    {printable(source)}\n    {red}{carets}{off}", err=True, color=colour)
    sys.exit(1)


def _duration(text: str, option: str) -> float:
    """Seconds of a duration such as 1m30s, or of a plain number of seconds."""
    from watchkeeper.promql.durations import DurationError, parse_duration

    try:
        seconds = _number(text)
        if seconds is None:
            seconds = parse_duration(text) / 1000
    except DurationError as error:
        raise click.BadParameter(str(error), param_hint=option) from None
    if not 0.001 <= seconds < 1e10:
        raise click.BadParameter("must be longer than a millisecond, and shorter than 317 years", param_hint=option)
    return seconds


def _number(text: str) -> float | None:
    import math

    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _time(text: str | None, option: str, first: float, default: float) -> float:
    """A time in seconds since 1970: a number, RFC 3339, or a duration from the first sample on."""
    from watchkeeper.promql.durations import DurationError, parse_duration

    if text is None:
        return default
    number = _number(text)
    if number is not None:
        if abs(number) < 1e12:
            return number
        raise click.BadParameter(f"{text} is not a likely time in seconds since 1970", param_hint=option)
    try:
        return first + parse_duration(text) / 1000
    except DurationError:
        pass
    import datetime as dt

    try:
        moment = dt.datetime.fromisoformat(text.replace("Z", "+00:00").replace("z", "+00:00"))
    except ValueError:
        moment = None
    if moment is None or moment.tzinfo is None:
        message = (
            f"{text} is no time: write seconds since 1970, RFC 3339 such as 2026-11-03T10:00:00Z, "
            "or a duration from the first sample such as 10m"
        )
        raise click.BadParameter(message, param_hint=option)
    return moment.timestamp()


def _span(data: Data) -> tuple[float, float]:
    """The times of the first and of the last sample in seconds; 0 and 0 without any."""
    spans = [(series.times[0], series.times[-1]) for series in data.series if series.times]
    if not spans:
        return 0.0, 0.0
    return min(first for first, _ in spans) / 1000, max(last for _, last in spans) / 1000


def _read(paths: tuple[str, ...], interval: float) -> Data:
    from watchkeeper.engine import read

    found: Data | None = None
    for path in paths:
        if path == "-":
            data = read.read(sys.stdin.buffer, interval, path="<stdin>")
        else:
            with open(path, "rb") as file, _waiting(f"reading {path}", file):  # noqa: PTH123 - pathlib is slow to load
                data = read.read(file, interval, path=path)
        if found is None:
            found = data
        else:
            for series in data.series:
                found.add(series)
    assert found is not None
    return found


@contextlib.contextmanager
def _waiting(what: str, file: BinaryIO | None = None) -> Iterator[None]:
    """Say on a terminal, past two seconds, what is being done, for how long, and how far it is in `file`."""
    if not sys.stderr.isatty():
        yield
        return
    import os
    import threading

    done = threading.Event()
    size = os.fstat(file.fileno()).st_size if file else 0
    start = time.monotonic()

    def show() -> None:
        wait = _PATIENCE_S
        while not done.wait(wait):
            wait = 0.5
            share = f" {100 * os.lseek(file.fileno(), 0, os.SEEK_CUR) // size} %" if file and size else ""
            click.echo(f"\r{what}{share} ({time.monotonic() - start:.0f} s)", nl=False, err=True)
        if wait != _PATIENCE_S:
            click.echo("\r\x1b[K", nl=False, err=True, color=True)

    thread = threading.Thread(target=show, daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
