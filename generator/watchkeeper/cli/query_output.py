"""Results of queries as text: a table for people, JSON as Prometheus' HTTP API gives it, CSV for spreadsheets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    from collections.abc import Iterator

# Times below are those of synthetic data, which starts at 0: shown as seconds, not as dates of 1970.
_DATES_FROM_MS = 10**11
_WIDEST = 60  # columns of a table, in characters


def write(result: Any, form: str, out: TextIO) -> None:
    """Write a result in the form "table", "json" or "csv"."""
    {"table": _table, "json": _json, "csv": _csv}[form](result, out)


def _rows(result: Any) -> list[tuple[Any, list[int], list[Any]]]:
    if result.type == "vector":
        at = round(result.at * 1000)
        return [(sample.labels, [at], [sample.value]) for sample in result.samples]
    if result.type == "matrix":
        return list(result.series)
    return [((), [round(result.at * 1000)], [result.value])]


def _text(value: Any) -> str:
    from watchkeeper.engine.gofloat import format_e, format_f

    if not isinstance(value, float):
        return str(value)
    # As the HTTP API does: an exponent only where the digits would be very many.
    return (
        format_e(value) if value and not 1e-6 <= abs(value) < 1e21 and abs(value) != float("inf") else format_f(value)
    )


def _columns(rows: list[tuple[Any, list[int], list[Any]]]) -> list[str]:
    names = {name for labels, _, _ in rows for name, _ in labels}
    return sorted(names, key=lambda name: (name != "__name__", name))


def _table(result: Any, out: TextIO) -> None:
    from watchkeeper.findings import printable

    rows = _rows(result)
    if result.type in ("scalar", "string"):
        out.write(f"{printable(_text(result.value))}\n")
        return
    if not rows:
        out.write("no series\n")
        return
    names = _columns(rows)
    is_matrix = result.type == "matrix"
    lines = [["metric" if name == "__name__" else printable(name) for name in names]]
    lines[0] += ["time", "value"] if is_matrix else ["value"]
    for labels, times, values in rows:
        known = dict(labels)
        cells = [printable(known.get(name, "")) for name in names]
        for time, value in zip(times, values, strict=True):
            lines.append([*cells, *([_moment(time)] if is_matrix else []), printable(_text(value))])
            cells = [""] * len(names)  # a series is named once, above its values
    widths = [min(_WIDEST, max(len(line[i]) for line in lines)) for i in range(len(lines[0]))]
    right = len(widths) - 1
    for line in lines:
        cells = [cell.rjust(width) if i == right else cell.ljust(width) for i, (cell, width) in _placed(line, widths)]
        out.write("  ".join(cells).rstrip() + "\n")


def _placed(line: list[str], widths: list[int]) -> Iterator[tuple[int, tuple[str, int]]]:
    return enumerate(zip(line, widths, strict=True))


def _moment(time: int) -> str:
    if time < _DATES_FROM_MS:
        return f"{time / 1000:.3f}".rstrip("0").rstrip(".") + "s"
    import datetime as dt

    try:
        moment = dt.datetime.fromtimestamp(time // 1000, dt.timezone.utc)
    except (OverflowError, ValueError, OSError):  # past the year 9999
        return f"{time / 1000:.3f}s"
    fraction = f".{time % 1000:03d}" if time % 1000 else ""
    return f"{moment:%Y-%m-%dT%H:%M:%S}{fraction}Z"


def _seconds(time: int) -> int | float:
    return time // 1000 if time % 1000 == 0 else time / 1000


def _json(result: Any, out: TextIO) -> None:
    import json

    answer: Any
    if result.type in ("scalar", "string"):
        answer = [_seconds(round(result.at * 1000)), _text(result.value)]
    else:
        answer = [_series(result.type, *row) for row in _rows(result)]
    json.dump({"resultType": result.type, "result": answer}, out, ensure_ascii=True)
    out.write("\n")


def _series(kind: str, labels: Any, times: list[int], values: list[Any]) -> dict[str, Any]:
    from watchkeeper.engine.histogram import to_json

    found: dict[str, Any] = {"metric": dict(labels)}
    plural = "s" if kind == "matrix" else ""
    floats, histograms = [], []
    for time, value in zip(times, values, strict=True):
        if isinstance(value, float):
            floats.append([_seconds(time), _text(value)])
        else:
            histograms.append([_seconds(time), to_json(value)])
    for key, points in ((f"value{plural}", floats), (f"histogram{plural}", histograms)):
        if points:
            found[key] = points if plural else points[0]
    return found


def _csv(result: Any, out: TextIO) -> None:
    import csv

    rows = _rows(result)
    names = _columns(rows)
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([*names, "time", "value"])
    for labels, times, values in rows:
        known = dict(labels)
        cells = [known.get(name, "").encode(errors="backslashreplace").decode() for name in names]
        writer.writerows([*cells, _seconds(time), _text(value)] for time, value in zip(times, values, strict=True))
