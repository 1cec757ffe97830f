"""A contract taken from what is published: a scrape in text format, or a server's answer about metadata."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

# `# TYPE name counter`, in Prometheus' text format and in OpenMetrics; names in quotes are UTF-8 names.
_META = re.compile(r'^#[ \t]+(TYPE|UNIT)[ \t]+(?:"((?:[^"\\]|\\.)*)"|([^ \t\n]+))[ \t]+([^ \t\n]*)', re.MULTILINE)
_SERIES = re.compile(r"^([a-zA-Z_:][a-zA-Z0-9_:]*)(\{[^\n]*)?", re.MULTILINE)
_LABEL = re.compile(r'[{,][ \t]*([a-zA-Z_][a-zA-Z0-9_]*)[ \t]*="((?:[^"\\]|\\.)*)"')

# The names of a family's series by its type, as both formats and a server's storage have them.
_SUFFIXES = {
    "counter": ("", "_total", "_created"),
    "histogram": ("", "_bucket", "_sum", "_count", "_created"),
    "gaugehistogram": ("_bucket", "_gsum", "_gcount"),
    "summary": ("", "_sum", "_count", "_created"),
    "info": ("", "_info"),
}
# What a series of such a name is. A summary's and a histogram's parts count up.
_KINDS = {"_bucket": "counter", "_sum": "counter", "_count": "counter", "_total": "counter", "_created": "gauge"}


class Published:
    """One series name that is published: its kind, unit, and the labels that every series seen has."""

    __slots__ = ("kind", "labels", "name", "unit")

    def __init__(self, name: str, kind: str, unit: str = "", labels: frozenset[str] = frozenset()) -> None:
        self.name = name
        self.kind = kind
        self.unit = unit
        self.labels = labels


def of_scrape(text: str) -> list[Published]:
    """Return what a scrape publishes: text in Prometheus' format or in OpenMetrics."""
    types: dict[str, str] = {}
    units: dict[str, str] = {}
    for what, quoted, plain, value in _META.findall(text):
        (types if what == "TYPE" else units)[quoted or plain] = value
    labels: dict[str, frozenset[str]] = {}
    for name, rest in _SERIES.findall(text):
        own = frozenset(label for label, value in _LABEL.findall(rest) if value)
        labels[name] = labels[name] & own if name in labels else own
    return _published(types, units, labels)


def of_metadata(answer: Any, names: Iterable[str]) -> list[Published]:
    """Return what a server knows: the data of `/api/v1/metadata`, and all metric names.

    Raises:
        ValueError: that is no such answer.
    """
    types, units = {}, {}
    try:
        for family, said in answer.items():
            types[str(family)] = str(said[0]["type"])
            units[str(family)] = str(said[0].get("unit", ""))
    except (AttributeError, LookupError, TypeError):
        raise ValueError("this is no answer of /api/v1/metadata") from None
    return _published(types, units, dict.fromkeys(names, frozenset()))


def _published(types: dict[str, str], units: dict[str, str], labels: dict[str, frozenset[str]]) -> list[Published]:
    found: dict[str, Published] = {}
    for family, kind in types.items():
        for suffix in _SUFFIXES.get(kind, ("",)):
            name = family + suffix
            if name in labels:
                what = _KINDS.get(suffix, "gauge" if kind in ("gauge", "info", "stateset") else kind)
                if kind in ("summary", "histogram", "unknown", "untyped") and not suffix:
                    what = "gauge" if kind == "summary" else "histogram" if kind == "histogram" else "unknown"
                found[name] = Published(name, what, units.get(family, ""), labels[name])
    for name, own in labels.items():
        found.setdefault(name, Published(name, "unknown", "", own))
    return list(found.values())


def data_of(body: bytes) -> Any:
    """Return the data of an answer of Prometheus' HTTP API.

    Raises:
        ValueError: it is none, or it says that it failed.
    """
    answer = json.loads(body)
    if not isinstance(answer, dict) or answer.get("status") != "success":
        raise ValueError(str(answer.get("error", "no success")) if isinstance(answer, dict) else "no object")
    return answer.get("data")
