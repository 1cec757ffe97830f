"""Waivers where they hold: those of findings take these out, and are told of where they are of no use."""

from __future__ import annotations

import re
from bisect import bisect_left
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING

from watchkeeper.findings import Excerpt, Finding, nearest, sort
from watchkeeper.scopes import Lines
from watchkeeper.waivers import Waived, Waiver

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from watchkeeper.findings import Place
    from watchkeeper.pack import Pack

_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}\Z")
EVERYWHERE = Lines(0, 2**63)  # a finding about a file as a whole has no line


@dataclass(frozen=True)
class Held:
    """A waiver, and the lines of the file in which it holds; those of the whole file where none are given.

    `name` is the definition's where others stand in the same place: then a finding has to name it.
    """

    waiver: Waiver
    file: str
    lines: Lines = EVERYWHERE
    name: str = ""
    excerpt: Excerpt | None = None

    def finding(self, check: str, message: str, why: str, fix: str, severity: str) -> Finding:
        """Return a finding about the waiver."""
        return Finding(check, message, self.waiver.place, self.excerpt, why, fix, severity)


def of_definitions(pack: Pack, known: Collection[str]) -> tuple[list[Held], list[Finding]]:
    """Return the waivers of a pack's groups, rules and routing, and what is wrong with them. `known` are ids of checks.

    A group's hold for its rules too, and a routing's for all its parts.
    """
    names: dict[Place, set[tuple[type, str]]] = {}
    owners: list[tuple[Place, str, Waiver]] = []
    for group in pack.groups:
        names.setdefault(group.place, set()).add((type(group), group.name))
        owners += ((place.place, place.name, waiver) for waiver in group.waivers for place in (group, *group.rules))
    for rule in (*pack.rules, *pack.loose):
        names.setdefault(rule.place, set()).add((type(rule), rule.name))
        owners += ((rule.place, rule.name, waiver) for waiver in rule.waivers)
    if pack.routing:
        for place in pack.routing.places:
            names.setdefault(place, set()).add((type(pack.routing), ""))
            owners += ((place, "", waiver) for waiver in pack.routing.waivers)
    held: list[Held] = []
    findings: dict[tuple[Waiver, Place], Finding | None] = {}
    for place, name, waiver in owners:
        key = (waiver, waiver.place)
        if key not in findings:
            fault = next(faults(waiver, known), None)
            findings[key] = syntax(*fault, waiver.place) if fault else None
        if findings[key] is None:
            is_shared = len(names[place]) > 1
            held.append(Held(waiver, place.file, Lines(place.line, place.line), name if is_shared else ""))
    return held, [finding for finding in findings.values() if finding]


def faults(waiver: Waiver, known: Collection[str]) -> Iterator[tuple[str, str]]:
    """Yield what is wrong with a waiver, and how to mend it."""
    if waiver.check not in known or waiver.check.startswith("waiver/"):
        ids = [check for check in known if not check.startswith("waiver/")]
        fix = "write the id that stands in the finding, such as promql/counter"
        yield f'no check is called "{waiver.check}"{nearest(waiver.check, ids)}', fix
    if not waiver.reason.strip():
        yield f"the waiver of {waiver.check} has no reason", "say why the finding may stay"
    if waiver.until and not _day(waiver.until):
        yield f'"{waiver.until}" is no date', "write the last day on which the waiver holds, such as 2027-01-31"


def syntax(message: str, fix: str, place: Place, excerpt: Excerpt | None = None) -> Finding:
    """Return the finding of a waiver that can't be read."""
    return Finding("waiver/syntax", message, place, excerpt, "it waives nothing", fix)


def _day(text: str) -> date | None:
    try:
        return date.fromisoformat(text) if _DAY.match(text) else None
    except ValueError:  # the 30th of February
        return None


def apply(findings: Sequence[Finding], waivers: Sequence[Held], today: date) -> tuple[list[Finding], list[Waived]]:
    """Return the findings to report, those about waivers among them, and what was waived. `today` is for `until`."""
    index = _Index(findings)
    waived: dict[int, Waiver] = {}
    uses: dict[tuple[Waiver, Place], list[Held]] = {}
    used: set[tuple[Waiver, Place]] = set()
    for held in waivers:
        key = (held.waiver, held.waiver.place)
        uses.setdefault(key, []).append(held)
        numbers = index.of(held)
        if numbers:
            used.add(key)
            if not _is_over(held.waiver, today):
                waived |= dict.fromkeys(numbers, held.waiver)
    kept = [finding for number, finding in enumerate(findings) if number not in waived]
    for key, places in uses.items():
        kept += _about(places, index, is_used=key in used, is_over=_is_over(key[0], today))
    return sort(kept), [Waived(findings[number], waived[number]) for number in sorted(waived)]


def _is_over(waiver: Waiver, today: date) -> bool:
    last = _day(waiver.until)
    return last is not None and last < today


def _about(places: list[Held], index: _Index, *, is_used: bool, is_over: bool) -> Iterator[Finding]:
    held = places[0]
    waiver = held.waiver
    if not is_used:
        # Where a rule could not be read, the checks that would have found something did not run.
        if not any(index.hides(place) for place in places):
            what = f"there is no finding of {waiver.check} to waive"
            why = "it would hide the next one, for a reason that no longer holds"
            yield held.finding("waiver/unused", what, why, "delete the waiver", "warning")
    elif is_over:
        what = f"the waiver of {waiver.check} expired on {waiver.until}"
        why = "what it waived is reported again"
        fix = "mend what is reported and delete the waiver, or give it another date"
        yield held.finding("waiver/expired", what, why, fix, "warning")


class _Index:
    """The numbers of findings by file and check, in the order of their lines."""

    __slots__ = ("_findings", "_hiding", "_lines", "_numbers")

    def __init__(self, findings: Sequence[Finding]) -> None:
        self._findings = findings
        self._lines: dict[tuple[str, str], list[int]] = {}
        self._numbers: dict[tuple[str, str], list[int]] = {}
        self._hiding: dict[str, list[int]] = {}  # by file, the lines of rules that no check could look at
        placed = [(finding.place, number) for number, finding in enumerate(findings) if finding.place]
        for place, number in sorted(placed, key=lambda pair: (pair[0].file, pair[0].line, pair[1])):
            check = findings[number].check
            self._lines.setdefault((place.file, check), []).append(place.line)
            self._numbers.setdefault((place.file, check), []).append(number)
            if check in _HIDING:
                # Of a file that is no YAML, nothing was read.
                self._hiding.setdefault(place.file, []).append(0 if check == "yaml/parse" else place.line)

    def of(self, held: Held) -> list[int]:
        """Return the numbers of the findings that a waiver is for."""
        key = (held.file, held.waiver.check)
        lines = self._lines.get(key, [])
        numbers = self._numbers.get(key, [])[
            bisect_left(lines, held.lines.first) : bisect_left(lines, held.lines.last + 1)
        ]
        if not held.name:
            return numbers
        named = re.compile(rf"(?<![\w:]){re.escape(held.name)}(?!\w|:\w)")
        return [number for number in numbers if named.search(self._findings[number].message)]

    def hides(self, held: Held) -> bool:
        """Tell whether something in these lines could not be looked at."""
        return any(line == 0 or held.lines.first <= line <= held.lines.last for line in self._hiding.get(held.file, ()))


_HIDING = ("promql/syntax", "yaml/parse", "yaml/key", "yaml/value")
