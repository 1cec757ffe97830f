"""What the matchers of a selector say about labels: certain, empty, or at odds with each other."""

# ruff: noqa: ARG001  (reasons are called alike, whatever they look at)
from __future__ import annotations

import re
from functools import lru_cache

from watchkeeper.promql import regex
from watchkeeper.proof.facts import METADATA, NAME, NEVER, SURE, certain, emptied, equals, named, perhaps, written

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from watchkeeper.promql.nodes import Matcher, VectorSelector
    from watchkeeper.proof.branches import Cause
    from watchkeeper.proof.facts import Fact

# Patterns that mean the same to Python's re and can't run away: characters, dots, classes, a few repetitions.
_CHARACTERS = r"(?:[\w \-/:,=~@%&!<>\"'#;]|\\[.\-/:])*"
_ALTERNATIVES = re.compile(rf"{_CHARACTERS}(?:\|{_CHARACTERS})*", re.ASCII)
_ATOM = r"(?:[\w \-/:,=~@%&!<>\"'#;]|\\[.\-/:dw]|\.|\[[A-Za-z0-9_]+(?:-[A-Za-z0-9]+)*\])"
_SIMPLE = re.compile(rf"(?:\|?(?:\((?:\?:)?)?{_ATOM}[*+?]?\)?)*", re.ASCII)
_MOST_REPETITIONS = 3
_LONGEST = 300


def selected(
    selector: VectorSelector, facts: dict[str, Fact], rest: Fact, name: Fact
) -> tuple[dict[str, Fact], Fact, Cause | None]:
    """What a selector with matchers finds among series with these facts: those of labels, of the name, why nothing."""
    found = dict(facts)
    cause: Cause | None = None
    by_label: dict[str, list[Matcher]] = {}
    for matcher in selector.matchers:
        if not matcher.variables:
            by_label.setdefault(matcher.label, []).append(matcher)
    for label, matchers in by_label.items():
        base = name if label == NAME else found.get(label, rest)
        fact = _fact(matchers, base)
        if fact is None:
            cause = cause or (contradictory, matchers[-1], matchers)
        elif fact[0] != base[0] and fact[0] + base[0] == SURE + NEVER:
            cause = cause or (not_there if base[0] == NEVER else always_there, matchers[-1], (base, selector))
        elif label == NAME:
            name = fact
        else:
            found[label] = perhaps(fact, certain, matchers[-1]) if label in METADATA else fact
    return found, name, cause


def _fact(matchers: Sequence[Matcher], base: Fact) -> Fact | None:
    """What is known of a label behind its matchers, and `base` before; None where no value passes them all."""
    decisive = matchers[0]
    if len(matchers) == 1:
        nonempty, empty, value = effect(decisive.op, decisive.value)
    else:
        nonempty = empty = False
        for matcher in matchers:
            never, always, _ = effect(matcher.op, matcher.value)
            nonempty, empty = nonempty or never, empty or always
            if never or always:
                decisive = matcher
        value = ""
        listed = [values for values in map(_listed, matchers) if values is not None]
        if listed:
            passing = [one for one in frozenset.intersection(*listed) if all(_passes(m, one) for m in matchers)]
            if not passing:
                return None
            nonempty, empty = nonempty or all(passing), empty or passing == [""]
            value = passing[0] if len(passing) == 1 else ""
        if nonempty and empty:
            return None
    if value:
        return (SURE, named if decisive.label == NAME else equals, decisive, value)
    if nonempty:
        return base if base[0] == SURE else (SURE, certain, decisive, None)
    if empty:
        return base if base[0] == NEVER else (NEVER, emptied, decisive, None)
    return base


def _listed(matcher: Matcher) -> frozenset[str] | None:
    """The only values that a matcher lets through, where it lists them."""
    if has_variable(matcher.value):
        return None
    if matcher.op == "=":
        return frozenset({matcher.value})
    return alternatives(matcher.value) if matcher.op == "=~" else None


def _passes(matcher: Matcher, value: str) -> bool:
    """Whether a matcher lets a value through, as far as that is known: a doubt passes."""
    if matcher.op in {"=", "!="}:
        return has_variable(matcher.value) or (matcher.value == value) == (matcher.op == "=")
    found = matches(matcher.value, value)
    return found is None or found == (matcher.op == "=~")


def has_variable(text: str) -> bool:
    """Whether there may be a dashboard variable in a text: its value may be anything then."""
    return "$" in text or "[[" in text


@lru_cache(maxsize=2000)
def effect(op: str, value: str) -> tuple[bool, bool, str]:
    """What a matcher does to a label: whether it is never empty, whether it always is, and its only value, else ""."""
    if op in {"=", "!="}:
        if has_variable(value):
            return False, False, ""
        if op == "=":
            return value != "", value == "", value
        return value == "", False, ""
    pattern = unanchored(value)
    empty = matches(pattern, "")
    if empty is None:
        return False, False, ""
    if op == "=~":
        listed = alternatives(pattern)
        if listed is not None and len(listed) == 1:
            (only,) = listed
            return only != "", only == "", only
        return not empty, False, ""
    return empty, pattern in {".+", "(.+)"}, ""


def unanchored(pattern: str) -> str:
    """A pattern without anchors, which add nothing: matchers are anchored at both ends."""
    if pattern[:1] == "^" and "|" not in pattern:
        pattern = pattern[1:]
    if pattern[-1:] == "$" and pattern[-2:-1] not in {"\\", "$"} and "|" not in pattern:
        pattern = pattern[:-1]
    return pattern


def alternatives(pattern: str) -> frozenset[str] | None:
    """The values that a pattern such as `a|b` matches; None where it is not that plain."""
    body = unanchored(pattern)
    if body[:1] == "(" and body[-1:] == ")":
        body = body[3:-1] if body[:3] == "(?:" else body[1:-1]
    if not _ALTERNATIVES.fullmatch(body):
        return None
    return frozenset([re.sub(r"\\(.)", r"\1", part) for part in body.split("|")])


@lru_cache(maxsize=2000)
def matches(pattern: str, value: str) -> bool | None:
    """Whether a pattern matches a value as a whole; None where that can't be told without doubt."""
    pattern = unanchored(pattern)
    if has_variable(pattern):
        return None
    listed = alternatives(pattern)
    if listed is not None:
        return value in listed
    if not value:
        try:
            regex.check(pattern)
            return regex.matches_empty(pattern)
        except (regex.RegexError, re.error):
            return None
    if pattern in {".*", ".+", "(.*)", "(.+)"}:
        return "\n" not in value or None
    if len(pattern) > _LONGEST or len(value) > _LONGEST or "\n" in value or not value.isascii():
        return None
    if sum(map(pattern.count, "*+?")) > _MOST_REPETITIONS or not _SIMPLE.fullmatch(pattern):
        return None
    try:
        return re.fullmatch(pattern, value, re.ASCII) is not None
    except re.error:
        return None


# Why nothing can pass. Called alike, whatever they look at.


def contradictory(matchers: Sequence[Matcher], node: Matcher, label: str) -> str:
    return f"no value passes {' and '.join(written(one) for one in matchers)}"


def not_there(detail: tuple[Fact, VectorSelector], node: Matcher, label: str) -> str:
    fact, selector = detail
    return f"{written(node)} asks for what is not there: {fact[1](fact[3], fact[2] or selector, node.label)}"


def always_there(detail: tuple[Fact, VectorSelector], node: Matcher, label: str) -> str:
    fact, selector = detail
    return f"{written(node)} asks for series without the label, but {fact[1](fact[3], fact[2] or selector, node.label)}"
