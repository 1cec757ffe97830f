"""Prometheus' own template functions, and the methods of what they give. `versions` has their names."""

from __future__ import annotations

import re

from watchkeeper.ruler.template import humanize as human
from watchkeeper.ruler.template.basics import BUILTINS, query_escape
from watchkeeper.ruler.template.errors import CallError
from watchkeeper.ruler.template.lexer import quote
from watchkeeper.ruler.template.moments import (
    MAX_NS,
    SECOND,
    SECONDS_BEFORE_1970,
    Duration,
    Month,
    Time,
    Weekday,
    days_of,
)
from watchkeeper.ruler.template.values import Args, Histogram, Html, Int64, QueryResult, Sample, value_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from watchkeeper.ruler.template.basics import Signature
    from watchkeeper.ruler.template.execution import State

_NIL = "runtime error: invalid memory address or nil pointer dereference"


def _query(state: State, expression: str) -> QueryResult:
    state.spend(10)
    if state.query is None:
        raise CallError("there is nothing to query here")
    try:
        answer: Any = state.query(expression)
        kind = getattr(answer, "type", None)
        if kind == "vector":
            answer = ((sample.labels, sample.value) for sample in answer.samples)
        elif kind == "scalar":
            answer = (((), answer.value),)
        elif kind is not None:
            answer = None
        result = QueryResult(Sample(dict(labels), value_of(value)) for labels, value in answer or ())
    except ValueError as error:  # what the parser and the engine raise
        raise CallError(str(error)) from None
    if answer is None:
        raise CallError("rule result is not a vector or scalar")
    return result


def _first(result: QueryResult | None) -> Sample:
    if not result:
        raise CallError("first() called on vector with no elements")
    return result[0]


def _known(sample: Sample | None) -> Sample:
    if sample is None:
        raise CallError(_NIL)
    return sample


def _sort_by_label(label: str, result: QueryResult | None) -> QueryResult:
    if result is None:
        return QueryResult()
    result.sort(key=lambda sample: sample.labels.get(label, ""))
    return result


def _each(text: str, upper: bool) -> str:
    """Characters one by one, as Go does: what would become two stays as it is."""
    if text.isascii():
        return text.upper() if upper else text.lower()
    out = []
    for char in text:
        changed = char.upper() if upper else char.lower()
        out.append(changed if len(changed) == 1 else "i" if char == "İ" else char)
    return "".join(out)


_JOINERS = ".':,;\u00b7\u2019\u2027\u2024\uff07\uff0e"
_CONNECTORS = "_\u203f\u2040\u2054\ufe33\ufe34\ufe4d\ufe4e\ufe4f\uff3f"


def _title(text: str) -> str:
    """The first letter of each word in upper case. Words end as Unicode says, which joins a.b and it's, not a-b."""
    out = []
    done = False
    for position, char in enumerate(text):
        if char.isalnum() or char in _CONNECTORS:
            if not done and (char.isupper() or char.islower() or char.istitle()):
                out.append(char.title())
                done = True
                continue
        elif not _joins(text, position):
            done = False
        out.append(char)
    return "".join(out)


def _joins(text: str, position: int) -> bool:
    char = text[position]
    before, after = text[position - 1 : position], text[position + 1 : position + 2]
    if not position or not after or char not in _JOINERS:
        return False
    if char in ",;":
        return before.isdecimal() and after.isdecimal()
    if char in ":·‧":
        return before.isalpha() and after.isalpha()
    return (before.isalpha() and after.isalpha()) or (before.isdecimal() and after.isdecimal())


def _split_host(text: str) -> tuple[str, str] | None:
    """net.SplitHostPort; None where it is an error."""
    colon = text.rfind(":")
    if colon < 0:
        return None
    if text[0] == "[":
        end = text.find("]")
        if end < 0 or end + 1 != colon:
            return None
        host, after_open, after_close = text[1:end], 1, end + 1
    else:
        host, after_open, after_close = text[:colon], 0, 0
        if ":" in host:
            return None
    if "[" in text[after_open:] or "]" in text[after_close:]:
        return None
    return host, text[colon + 1 :]


def _strip_port(text: str) -> str:
    split = _split_host(text)
    return text if split is None else split[0]


def _strip_domain(text: str) -> str:
    split = _split_host(text)
    host, port = split or (text, "")
    if _is_address(host):
        return text
    host = host.split(".")[0]
    if not port:
        return host
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _is_address(host: str) -> bool:
    if not any(char in host for char in ".:"):
        return False
    import ipaddress

    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return "%" not in host


_UNITS_MS = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 604_800_000, "y": 31_536_000_000}


def _parse_duration(text: str) -> float:
    """Seconds of a duration by Prometheus' model.ParseDuration, in its words where it is none."""
    if not text:
        raise CallError("empty duration string")
    if text == "0":
        return 0.0
    invalid = CallError(f"not a valid duration string: {quote(text)}")
    total, latest, rest = 0, _UNITS_MS["y"] + 1, text
    while rest:
        digits, unit, rest = re.match(_DURATION_PART, rest).groups()  # type: ignore[union-attr]
        if not digits or not unit or int(digits[:25]) >= 1 << 64:
            raise invalid
        size = _UNITS_MS.get(unit)
        if size is None:
            raise CallError(f"unknown unit {quote(unit)} in duration {quote(text)}")
        if size >= latest:
            raise invalid
        latest = size
        total += int(digits) * size
        if total * 1_000_000 > MAX_NS:
            raise CallError("duration out of range")
    return total / 1000


_DURATION_PART = r"(?s:([0-9]*)([^0-9]*)(.*))"


def _path(state: State) -> str:
    from urllib.parse import urlsplit

    return urlsplit(_url(state)).path


def _url(state: State) -> str:
    if state.functions_url is None:
        raise CallError(_NIL)
    return state.functions_url


def _match(pattern: str, text: str) -> bool:
    from watchkeeper.ruler.template.patterns import match

    return match(pattern, text)


def _replace(pattern: str, replacement: str, text: str) -> str:
    from watchkeeper.ruler.template.patterns import replace_all

    return replace_all(pattern, replacement, text)


# Those that are given the state of the expansion first.
STATEFUL = frozenset({"query", "now", "pathPrefix", "externalURL"})
SIGNATURES: dict[str, Signature] = {
    **BUILTINS,
    "query": (("string",), None, _query),
    "first": (("result",), None, _first),
    "label": (("string", "sample"), None, lambda name, sample: _known(sample).labels.get(name, "")),
    "value": (("sample",), None, lambda sample: _known(sample).value),
    "strvalue": (("sample",), None, lambda sample: _known(sample).labels.get("__value__", "")),
    "args": ((), "any", lambda *values: Args((f"arg{number}", value) for number, value in enumerate(values))),
    "reReplaceAll": (("string", "string", "string"), None, _replace),
    "safeHtml": (("string",), None, Html),
    "match": (("string", "string"), None, _match),
    "title": (("string",), None, _title),
    "toUpper": (("string",), None, lambda text: _each(text, True)),
    "toLower": (("string",), None, lambda text: _each(text, False)),
    "graphLink": (("string",), None, lambda text: f"/graph?g0.expr={query_escape(text)}&g0.tab=0"),
    "tableLink": (("string",), None, lambda text: f"/graph?g0.expr={query_escape(text)}&g0.tab=1"),
    "sortByLabel": (("string", "result"), None, _sort_by_label),
    "stripPort": (("string",), None, _strip_port),
    "stripDomain": (("string",), None, _strip_domain),
    "humanize": (("any",), None, human.humanize),
    "humanize1024": (("any",), None, human.humanize1024),
    "humanizeDuration": (("any",), None, human.humanize_duration),
    "humanizePercentage": (("any",), None, human.humanize_percentage),
    "humanizeTimestamp": (("any",), None, human.humanize_timestamp),
    "toTime": (("any",), None, human.to_time),
    "toDuration": (("any",), None, human.to_duration),
    "now": ((), None, lambda state: state.now),
    "pathPrefix": ((), None, _path),
    "externalURL": ((), None, _url),
    "parseDuration": (("string",), None, _parse_duration),
    "urlQueryEscape": (("string",), None, query_escape),
}


def _truncated(time: Any, unit: Duration) -> Any:
    if unit <= 0:
        return time
    return Time(time.ns - (time.ns + SECONDS_BEFORE_1970 * SECOND) % unit)


def _rounded(time: Time, unit: Duration) -> Time:
    if unit <= 0:
        return time
    rest = (time.ns + SECONDS_BEFORE_1970 * SECOND) % unit
    return Time(time.ns - rest if rest + rest < unit else time.ns - rest + unit)


def _added(time: Time, years: int, months: int, days: int) -> Time:
    year, month, day = time.date()
    if max(abs(years), abs(months), abs(days)) > 10_000_000:
        raise CallError("the date is out of range")
    return Time(days_of(year + years, month + months, day + days) * 86_400 * SECOND + time.ns % (86_400 * SECOND))


def _quotient(value: int, unit: int) -> int:
    return value // unit if value >= 0 else -(-value // unit)


def _duration_rounded(duration: Duration, unit: Duration) -> Duration:
    if unit <= 0:
        return duration
    quotient = _quotient(int(duration), int(unit))
    rest = abs(int(duration)) - abs(quotient * unit)
    if rest + rest >= unit:
        quotient += 1 if duration >= 0 else -1
    return Duration(quotient * unit)


METHODS: dict[type, dict[str, Signature]] = {
    Time: {
        "Format": (("string",), None, lambda time, layout: time.format(layout)),
        "String": ((), None, str),
        "Unix": ((), None, lambda time: Int64(time.ns // SECOND)),
        "UnixMilli": ((), None, lambda time: Int64(time.ns // 1_000_000)),
        "UnixMicro": ((), None, lambda time: Int64(time.ns // 1000)),
        "UnixNano": ((), None, lambda time: Int64(time.ns)),
        "Year": ((), None, lambda time: time.date()[0]),
        "Month": ((), None, lambda time: Month(time.date()[1])),
        "Day": ((), None, lambda time: time.date()[2]),
        "Hour": ((), None, lambda time: time.clock()[0]),
        "Minute": ((), None, lambda time: time.clock()[1]),
        "Second": ((), None, lambda time: time.clock()[2]),
        "Nanosecond": ((), None, lambda time: time.clock()[3]),
        "YearDay": ((), None, Time.year_day),
        "Weekday": ((), None, Time.weekday),
        "UTC": ((), None, lambda time: Time(time.ns)),
        "Local": ((), None, lambda time: Time(time.ns)),
        "IsZero": ((), None, lambda time: time.ns == -SECONDS_BEFORE_1970 * SECOND),
        "Add": (("duration",), None, lambda time, duration: Time(time.ns + int(duration))),
        "Sub": (("time",), None, lambda time, other: Duration(time.ns - other.ns)),
        "AddDate": (("int", "int", "int"), None, _added),
        "After": (("time",), None, lambda time, other: time.ns > other.ns),
        "Before": (("time",), None, lambda time, other: time.ns < other.ns),
        "Equal": (("time",), None, lambda time, other: time.ns == other.ns),
        "Compare": (("time",), None, lambda time, other: (time.ns > other.ns) - (time.ns < other.ns)),
        "Truncate": (("duration",), None, _truncated),
        "Round": (("duration",), None, _rounded),
    },
    Duration: {
        "String": ((), None, str),
        "Hours": ((), None, lambda duration: int(duration) / (3600 * SECOND)),
        "Minutes": ((), None, lambda duration: int(duration) / (60 * SECOND)),
        "Seconds": ((), None, lambda duration: int(duration) / SECOND),
        "Milliseconds": ((), None, lambda duration: Int64(_quotient(duration, 1_000_000))),
        "Microseconds": ((), None, lambda duration: Int64(_quotient(duration, 1000))),
        "Nanoseconds": ((), None, Int64),
        "Abs": ((), None, lambda duration: Duration(abs(duration))),
        "Truncate": (
            ("duration",),
            None,
            lambda duration, unit: duration if unit <= 0 else Duration(_quotient(duration, unit) * unit),
        ),
        "Round": (("duration",), None, _duration_rounded),
    },
    Month: {"String": ((), None, str)},
    Weekday: {"String": ((), None, str)},
    Histogram: {"String": ((), None, str)},
}
