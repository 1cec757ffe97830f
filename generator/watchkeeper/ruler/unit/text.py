"""Failures of unit tests as text: what was expected and what fired, label by label, each with its file and line."""

from __future__ import annotations

from watchkeeper.engine.gofloat import format_f
from watchkeeper.engine.labels import format_, format_series, quote
from watchkeeper.ruler.unit import failures

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Any

    from watchkeeper.engine.labels import Labels
    from watchkeeper.engine.results import Value
    from watchkeeper.ruler.rules import Rule
    from watchkeeper.ruler.unit.failures import Fired

# How many samples or alerts are listed before the rest is only counted.
_MOST_LISTED = 20
_LONGEST_LABELS = 300


class Palette:
    """Escape sequences, empty without colour."""

    __slots__ = ("bold", "dim", "green", "off", "red", "yellow")

    def __init__(self, colour: bool) -> None:
        codes = ("\x1b[1m", "\x1b[2m", "\x1b[32m", "\x1b[0m", "\x1b[31m", "\x1b[33m") if colour else ("",) * 6
        self.bold, self.dim, self.green, self.off, self.red, self.yellow = codes


def title(outcome: failures.Outcome, number: int) -> str:
    """What a test is called: its name, or its number in the file."""
    return outcome.test.name or f"test {number}"


def lines(outcome: failures.Outcome, path: str, number: int, *, colour: bool = False) -> Iterator[str]:
    """The failures of one test."""
    tint = Palette(colour)
    name = printable(title(outcome, number))
    yield f"{tint.red}FAILED{tint.off} {tint.bold}{name}{tint.off} ({path}:{outcome.test.line})"
    for failure in outcome.failures:
        for line in failure_lines(failure, path, tint):
            yield f"  {line}"
    for rule in outcome.cyclic:
        what = f"{where(rule)}: {printable(rule.name)} reads itself or a rule behind it"
        yield f"  {tint.dim}note:{tint.off} {what}: it sees what that gave in the evaluation before"
    if outcome.skipped:
        skipped = counted(outcome.skipped, "check")
        yield f"  {tint.dim}note:{tint.off} the test ends there, as in promtool: {skipped} not made"


def failure_lines(failure: Any, path: str, tint: Palette) -> Iterator[str]:
    """One failure."""
    if isinstance(failure, failures.AlertFailure):
        return _alert(failure, path, tint)
    if isinstance(failure, failures.ExprFailure):
        return _expr(failure, path, tint)
    if isinstance(failure, failures.RuleFailure):
        return _rule(failure, tint)
    if isinstance(failure, failures.UnknownAlert):
        return _unknown(failure, path)
    return _ambiguous(failure, path)


def summary(failure: Any) -> str:
    """One failure on one line."""
    if isinstance(failure, failures.ExprFailure):
        return f"expression {failure.case.expr} at {duration(failure.case.eval_ms)}: {failure.error or 'other samples'}"
    if isinstance(failure, failures.RuleFailure):
        error = failure.error
        return f"rule {error.rule.name} fails at {error.time:g} s: {error.message}"
    what = "other alerts fire"
    if isinstance(failure, failures.UnknownAlert):
        what = "no rule has this name"
    elif isinstance(failure, failures.AmbiguousAlert):
        what = "several rules have this name and the same labels"
    return f"alert {failure.case.name} at {duration(failure.case.eval_ms)}: {what}"


def _head(failure: Any, path: str, tint: Palette) -> str:
    case = failure.case
    rules = ", ".join(where(rule) for rule in failure.rules)
    return (
        f"{tint.bold}{path}:{case.line}:{tint.off} alert {printable(case.name)} at {duration(case.eval_ms)}"
        f" {tint.dim}(rule: {rules}){tint.off}"
    )


def _alert(failure: failures.AlertFailure, path: str, tint: Palette) -> Iterator[str]:
    yield _head(failure, path, tint)
    pairs, missing, extra = matched(failure.expected, failure.fired)
    for expected, fired in pairs:
        yield f"  fires with other text: {_listed(fired[0])}"
        yield from _differences("label", expected[0], fired[0], tint)
        yield from _differences("annotation", expected[1], fired[1], tint)
    for one in missing[:_MOST_LISTED]:
        yield f"  {tint.red}expected, does not fire:{tint.off} {_listed(one[0])}"
        yield from (f"    {tint.dim}{line}{tint.off}" for line in _why(one[0], failure))
    for one in extra[:_MOST_LISTED]:
        yield f"  {tint.red}fires, not expected:{tint.off} {_listed(one[0])}"
        for name, text in one[1]:
            yield f"    {tint.dim}annotation {name} {_text(text)}{tint.off}"
    left = max(0, len(missing) - _MOST_LISTED) + max(0, len(extra) - _MOST_LISTED)
    if left:
        yield f"  and {left} more"


def matched(
    expected: Sequence[Fired], fired: Sequence[Fired]
) -> tuple[list[tuple[Fired, Fired]], list[Fired], list[Fired]]:
    """Expected alerts with those that are nearest to them, what is expected in vain, and what nobody expects."""
    left = list(fired)
    missing: list[Fired] = []
    for one in expected:
        if one in left:
            left.remove(one)
        else:
            missing.append(one)
    pairs: list[tuple[Fired, Fired]] = []
    for one in list(missing):
        likeness = [(_likeness(one, other), -place) for place, other in enumerate(left)]
        best, place = max(likeness, default=(0.0, 0))
        if best >= 0.5:
            pairs.append((one, left.pop(-place)))
            missing.remove(one)
    return pairs, missing, left


def _likeness(one: Fired, other: Fired) -> float:
    """The share of labels that two alerts have in common, alertname aside."""
    mine, theirs = set(one[0]), set(other[0])
    every = {name for name, _ in mine | theirs} - {"alertname"}
    return 1.0 if not every else (len(mine & theirs) - 1) / len(every)


def _differences(what: str, expected: Labels, fired: Labels, tint: Palette) -> Iterator[str]:
    wanted, found = dict(expected), dict(fired)
    for name in sorted(wanted.keys() | found.keys()):
        if wanted.get(name) == found.get(name) and (name in wanted) == (name in found):
            continue
        yield f"    {what} {printable(name)}"
        yield f"      expected {tint.green}{_text(wanted[name]) if name in wanted else 'none'}{tint.off}"
        yield f"      fired    {tint.red}{_text(found[name]) if name in found else 'none'}{tint.off}"


def _why(labels: Labels, failure: failures.AlertFailure) -> Iterator[str]:
    """What the alert that is nearest to an expected one did instead."""
    now = failure.case.eval_ms
    best = max(failure.series, key=lambda series: _likeness((labels, ()), (series.key, ())), default=None)
    if best is None or not best.spans:
        yield "its expression never gives a sample"
        return
    clock = best.clock
    start = clock.times[0]
    index = min(max(0, now // clock.step), len(clock) - 1)
    if best.key != labels:
        yield f"nearest: {_listed(best.key)}"
    state = best.state(index)
    since = next((span for span in best.spans if span[0] <= index <= span[1]), None)
    if since is not None:
        yield f"it is {state} then, active since {duration(since[3] - start)}" + _waits(best.rule, since[3] - start)
        return
    before = [span for span in best.spans if span[1] < index]
    after = [span for span in best.spans if span[0] > index]
    if before:
        yield f"it was {'firing' if before[-1][2] else 'pending'} until {duration(clock.times[before[-1][1]] - start)}"
    if after:
        yield f"it is {'firing' if after[0][2] else 'pending'} from {duration(clock.times[after[0][0]] - start)}"


def _waits(rule: Rule, since: int) -> str:
    if not rule.for_ms:
        return ""
    return f", and fires at {duration(since + rule.for_ms)} at the earliest (for: {duration(rule.for_ms)})"


def _expr(failure: failures.ExprFailure, path: str, tint: Palette) -> Iterator[str]:
    case = failure.case
    expr = printable(" ".join(case.expr.split()))
    yield f"{tint.bold}{path}:{case.line}:{tint.off} expression at {duration(case.eval_ms)}: {expr}"
    if failure.error:
        yield f"  {tint.red}error:{tint.off} {printable(failure.error)}"
        return
    left = list(failure.found)
    expected = []
    for one in failure.expected:
        same = next((other for other in left if other[0] == one[0] and _shown(other[1]) == _shown(one[1])), None)
        if same is None:
            expected.append(one)
        else:
            left.remove(same)
    if not expected and not left:
        yield "  the samples are alike, but a NaN equals nothing, not even a NaN"
    yield from _samples("expected", expected, failure.found, tint.green, tint)
    yield from _samples("found   ", left, failure.expected, tint.red, tint)
    if not failure.found:
        yield "  found    nothing"


def _samples(
    word: str, samples: Sequence[tuple[Labels, Value]], others: Iterable[tuple[Labels, Value]], hue: str, tint: Palette
) -> Iterator[str]:
    known = {labels for labels, _ in others}
    for labels, value in samples[:_MOST_LISTED]:
        note = "" if labels in known else f"  {tint.dim}(no such series on the other side){tint.off}"
        yield f"  {word} {hue}{_listed(labels)} {_shown(value)}{tint.off}{note}"
    if len(samples) > _MOST_LISTED:
        yield f"  {word} and {len(samples) - _MOST_LISTED} more"


def _rule(failure: failures.RuleFailure, tint: Palette) -> Iterator[str]:
    error = failure.error
    yield (
        f"{tint.bold}{where(error.rule)}:{tint.off} rule {printable(error.rule.name)} of group"
        f" {printable(error.group.name)} fails at {error.time:g} s: {printable(error.message)}"
    )


def _unknown(failure: failures.UnknownAlert, path: str) -> Iterator[str]:
    from watchkeeper.findings import nearest

    name = failure.case.name
    known = ", ".join(sorted(failure.known)[:_MOST_LISTED]) or "there is none"
    yield f"{path}:{failure.case.line}: no rule makes an alert {quote(name)}{nearest(name, failure.known)}"
    yield f"  alerts: {printable(known)}{', ...' if len(failure.known) > _MOST_LISTED else ''}"


def _ambiguous(failure: failures.AmbiguousAlert, path: str) -> Iterator[str]:
    places = ", ".join(where(rule) for rule in failure.rules)
    yield (
        f"{path}:{failure.case.line}: alert {printable(failure.case.name)}: {len(failure.rules)} rules have this name"
        f" and the same labels, so their alerts can't be told apart: {places}"
    )


def where(rule: Rule) -> str:
    """The file and line of a rule."""
    from watchkeeper.findings import shorten

    return f"{shorten(rule.file)}:{rule.line}" if rule.line else shorten(rule.file)


def duration(ms: int) -> str:
    """Milliseconds as Prometheus writes durations: 1h30m."""
    if ms == 0:
        return "0s"
    sign, ms = ("-", -ms) if ms < 0 else ("", ms)
    found = ""
    for unit, size in (("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1000), ("ms", 1)):
        count, ms = divmod(ms, size)
        if count:
            found += f"{count}{unit}"
    return sign + found


def counted(number: int, word: str) -> str:
    """`1 file`, `2 files`."""
    return f"{number} {word}" if number == 1 else f"{number} {word}s"


def printable(text: str) -> str:
    """Text that does not steer a terminal."""
    from watchkeeper.findings import printable as escaped

    return escaped(text)


def _text(text: str) -> str:
    return quote(text)


def _listed(labels: Labels) -> str:
    text = format_series(labels) if any(name == "__name__" for name, _ in labels) else format_(labels)
    return text if len(text) <= _LONGEST_LABELS else text[: _LONGEST_LABELS - 1] + "…"


def _shown(value: Value) -> str:
    if isinstance(value, float):
        return format_f(value)
    from watchkeeper.engine.histogram import to_notation

    return to_notation(value)
