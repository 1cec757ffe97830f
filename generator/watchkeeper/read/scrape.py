"""A contract taken from what is published: a scrape in text format, or a server's answer about metadata."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

_QUOTED = r'"(?:[^"\\\n]|\\.)*"'
# `# TYPE name counter`, in Prometheus' text format and in OpenMetrics; names in quotes are UTF-8 names.
_META = re.compile(rf"#[ \t]+(TYPE|UNIT)[ \t]+({_QUOTED}|[^ \t]+)[ \t]+([^ \t]+)")
# A sample: a name, labels, a value; a timestamp and an exemplar may follow. A UTF-8 name stands within the braces.
_SAMPLE = re.compile(
    rf"([a-zA-Z_:][a-zA-Z0-9_:]*)?[ \t]*(?:\{{((?:[^\"}}\n]|{_QUOTED})*)\}})?[ \t]*"
    r"(?<![a-zA-Z0-9_:])[-+]?(?:[0-9.]+(?:[eE][-+]?[0-9]+)?|0[xX][0-9a-fA-F.pP+-]+|inf|infinity|nan)(?![^ \t])",
    re.IGNORECASE,
)
_LABEL = re.compile(rf"({_QUOTED}|[a-zA-Z_][a-zA-Z0-9_]*)[ \t]*(?:=[ \t]*({_QUOTED}))?")
_ESCAPE = re.compile(r"\\(.)")

# The names of a family's series by its type, as both formats and a server's storage have them.
_SUFFIXES = {
    "counter": ("", "_total", "_created"),
    "histogram": ("", "_bucket", "_sum", "_count", "_created"),
    "gaugehistogram": ("_bucket", "_gsum", "_gcount"),
    "summary": ("", "_sum", "_count", "_created"),
    "info": ("", "_info"),
}
# What a series of such a name is. A summary's and a histogram's parts count up, those of a gauge histogram do not.
_KINDS = {"_bucket": "counter", "_sum": "counter", "_count": "counter", "_total": "counter", "_created": "gauge"}
_GAUGES = ("gauge", "info", "stateset", "summary", "gaugehistogram")


class ScrapeError(ValueError):
    """What is no scrape. The message says why, `line` where."""

    def __init__(self, message: str, line: int = 0) -> None:
        super().__init__(message)
        self.line = line


class Published:
    """One series name that is published: its kind, unit, and the labels that every series seen has.

    `histogram` is the name of the histogram that it is a part of, and `is_info` tells one that is 1 for its labels.
    """

    __slots__ = ("histogram", "is_info", "kind", "labels", "name", "unit")

    def __init__(
        self,
        name: str,
        kind: str,
        unit: str = "",
        labels: frozenset[str] = frozenset(),
        *,
        histogram: str = "",
        is_info: bool = False,
    ) -> None:
        self.name = name
        self.kind = kind
        self.unit = unit
        self.labels = labels
        self.histogram = histogram
        self.is_info = is_info


def of_scrape(text: str) -> list[Published]:
    """Return what a scrape publishes: text in Prometheus' format or in OpenMetrics.

    Raises:
        ScrapeError: a line that no such text has, or no sample at all.
    """
    types: dict[str, str] = {}
    units: dict[str, str] = {}
    labels: dict[str, frozenset[str]] = {}
    for number, line in enumerate(text.split("\n"), 1):
        line = line.strip(" \t\r")  # noqa: PLW2901 - blanks around it mean nothing
        if not line or line.startswith("#"):
            if said := _META.match(line):
                (types if said[1] == "TYPE" else units)[_unquoted(said[2])] = said[3]
            continue
        sample = _SAMPLE.match(line)
        name, own = _series(sample[1] or "", sample[2] or "") if sample else ("", frozenset())
        if not name:
            raise ScrapeError('no sample of a scrape, such as name{label="value"} 1', number)
        labels[name] = labels[name] & own if name in labels else own
    if not labels:
        raise ScrapeError("no sample is in it: were it believed, no metric would exist")
    return _published(types, units, labels)


def _series(name: str, written: str) -> tuple[str, frozenset[str]]:
    """Return a series' name, empty where it has none, and its labels: an empty one is none."""
    own = set()
    for label, value in _LABEL.findall(written):
        if value:
            if len(value) > len('""'):
                own.add(_unquoted(label))
        else:
            name = name or _unquoted(label)
    return name, frozenset(own)


def _unquoted(text: str) -> str:
    if not text.startswith('"'):
        return text
    return _ESCAPE.sub(lambda match: "\n" if match[1] == "n" else match[1], text[1:-1])


def of_metadata(answer: Any, names: Iterable[str]) -> list[Published]:
    """Return what a server knows: the data of `/api/v1/metadata`, and all metric names.

    Raises:
        ScrapeError: that is no such answer, or the server has no series.
    """
    types, units = {}, {}
    try:
        for family, said in answer.items():
            types[str(family)] = str(said[0]["type"])
            units[str(family)] = str(said[0].get("unit", ""))
        known = dict.fromkeys([str(name) for name in names], frozenset[str]())
    except (AttributeError, LookupError, TypeError):
        raise ScrapeError("this is no answer of /api/v1/metadata") from None
    if not known:
        raise ScrapeError("the server has no series yet: were it believed, no metric would exist")
    return _published(types, units, known)


def _published(types: dict[str, str], units: dict[str, str], labels: dict[str, frozenset[str]]) -> list[Published]:
    found: dict[str, Published] = {}
    for family, kind in types.items():
        for suffix in _SUFFIXES.get(kind, ("",)):
            name = family + suffix
            if name in labels:
                what = _KINDS.get(suffix, "gauge" if kind in _GAUGES else kind)
                if kind == "gaugehistogram":
                    what = "unknown" if suffix == "_bucket" else "gauge"  # quantiles of them are right
                elif kind == "untyped":
                    what = "unknown"
                found[name] = Published(
                    name,
                    what,
                    units.get(family, ""),
                    labels[name],
                    histogram=family if kind == "histogram" else "",
                    is_info=kind == "info",
                )
    for name, own in labels.items():
        found.setdefault(name, Published(name, "unknown", "", own))
    return list(found.values())


def together(published: Iterable[Published]) -> list[Published]:
    """Return what several sources publish: of a series that more than one has, what all of them say."""
    found: dict[str, Published] = {}
    for one in published:
        other = found.get(one.name)
        if other is not None:
            kinds = {one.kind, other.kind} - {"unknown"}
            kind = kinds.pop() if len(kinds) == 1 else "unknown"
            unit = one.unit if other.unit in ("", one.unit) else other.unit if not one.unit else ""
            one = Published(  # noqa: PLW2901 - it is what both are
                one.name,
                kind,
                unit,
                one.labels & other.labels,
                histogram=one.histogram or other.histogram,
                is_info=one.is_info and other.is_info,
            )
        found[one.name] = one
    return list(found.values())


def data_of(body: bytes) -> Any:
    """Return the data of an answer of Prometheus' HTTP API.

    Raises:
        ScrapeError: it is none, or it says that it failed.
    """
    try:
        answer = json.loads(body)
    except (ValueError, RecursionError):
        raise ScrapeError("the answer is no JSON") from None
    if not isinstance(answer, dict) or answer.get("status") != "success":
        said = answer.get("error", "it has no status") if isinstance(answer, dict) else "it is no object"
        raise ScrapeError(f"the answer tells of no success: {said}")
    return answer.get("data")
