"""Regular expressions of label matchers and functions: RE2's syntax, anchored at both ends, `.` matching newlines.

Python's own re matches what surely means the same to both and can't run away, which is most of what is written;
google-re2 (in the extra `watchkeeper[generator]`) matches the rest.
"""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Protocol

    class Match(Protocol):
        """What a match object of re and of re2 share."""

        def group(self, group: int = 0, /) -> str | None: ...

    Predicate = Callable[[str], bool]

# Characters that mean themselves to both, and the escapes that do. Compiled when first needed, for start-up's sake.
_LITERAL = r"(?:[\w \-/:,;=~@%&!<>\"'#_]|\\[.\\+*?()|\[\]{}^$\-])*"
_UNESCAPE = r"\\(.)"
_CLASS = r"\[\^?(?:[A-Za-z0-9_ :/.,](?:-[A-Za-z0-9])?|\\[.\-d])+\]"
_ATOM = rf"(?:[\w \-/:,;=~@%&!<>\"'#_]|\\[.+*?()|\[\]{{}}^$\-dw]|\.|{_CLASS})"
# Without repeated groups, and with a few repetitions at most, Python's backtracking stays polynomial and small.
_SAFE_SEQUENCE = rf"(?:{_ATOM}[*+?]?(?![*+?]))*"
_SAFE_BRANCH = rf"{_SAFE_SEQUENCE}(?:\((?:\?:)?{_SAFE_SEQUENCE}(?:\|{_SAFE_SEQUENCE})*\)(?![*+?]){_SAFE_SEQUENCE})*"
_SAFE = rf"{_SAFE_BRANCH}(?:\|{_SAFE_BRANCH})*"
_MAX_REPETITIONS = 3
_MAX_SAFE_LENGTH = 1000
_MAX_MEMORY = 256 << 20  # bytes, as where patterns are checked: what passes there is matched here


class RegexError(ValueError):
    """Go's regexp would refuse this, or nothing is installed that could match it."""


class RegexUnavailableError(RegexError):
    """The regular expression may be fine, but google-re2 is not installed."""


_compiled: dict[str, Callable[[str], Match | None]] = {}
_predicates: dict[str, Predicate] = {}
_KEPT = 1000


def predicate(pattern: str) -> Predicate:
    """A function that tells whether a label value matches as a whole. Raises RegexError."""
    found = _predicates.get(pattern)
    if found is None:
        if len(_predicates) >= _KEPT:
            _predicates.clear()
        found = _predicates[pattern] = _predicate(pattern)
    return found


def alternatives(pattern: str) -> list[str] | None:
    """The values that a pattern such as `a|b` matches, if it is that plain; None where it is not."""
    body = pattern[1:-1] if pattern[:1] == "(" and pattern[-1:] == ")" and "(" not in pattern[1:] else pattern
    parts = body.split("|")
    if all(re.fullmatch(_LITERAL, part, re.ASCII) for part in parts) and not body.endswith("\\"):
        return [re.sub(_UNESCAPE, r"\1", part) for part in parts]
    return None


def _predicate(pattern: str) -> Predicate:
    if pattern == ".*":
        return lambda _: True
    if pattern == ".+":
        return bool
    values = alternatives(pattern)
    if values is not None:
        return frozenset(values).__contains__
    if pattern.endswith((".*", ".+")) and re.fullmatch(_LITERAL, pattern[:-2], re.ASCII):
        prefix = re.sub(_UNESCAPE, r"\1", pattern[:-2])
        if pattern[-1] == "*":
            return lambda value: value.startswith(prefix)
        size = len(prefix)
        return lambda value: value.startswith(prefix) and len(value) > size
    match = fullmatch(pattern)
    return lambda value: match(value) is not None


def fullmatch(pattern: str) -> Callable[[str], Match | None]:
    """A function that matches a text as a whole and gives its groups, or None. Raises RegexError."""
    found = _compiled.get(pattern)
    if found is None:
        if len(_compiled) >= _KEPT:
            _compiled.clear()
        found = _compiled[pattern] = _fullmatch(pattern)
    return found


def _fullmatch(pattern: str) -> Callable[[str], Match | None]:
    if (
        len(pattern) <= _MAX_SAFE_LENGTH
        and sum(map(pattern.count, "*+?")) <= _MAX_REPETITIONS
        and re.fullmatch(_SAFE, pattern, re.ASCII)
    ):
        try:
            plain: Any = re.compile(pattern, re.DOTALL | re.ASCII)
        except re.error:  # such as [z-a]: RE2 says what is wrong with it
            return _by_re2(pattern)
        safe: Callable[[str], Match | None] = plain.fullmatch
        return safe
    return _by_re2(pattern)


def _by_re2(pattern: str) -> Callable[[str], Match | None]:
    try:
        import re2
    except ImportError:
        raise RegexUnavailableError(
            f"matching the regular expression {pattern!r} needs RE2: pip install 'watchkeeper[generator]'"
        ) from None
    options: Any = re2.Options()
    options.log_errors = False
    options.dot_nl = True
    options.max_mem = _MAX_MEMORY
    try:
        compiled = re2.compile(pattern, options)
    except re2.error as error:
        text = error.args[0]
        raise RegexError(text.decode(errors="replace") if isinstance(text, bytes) else str(text)) from None
    except UnicodeEncodeError:
        raise RegexError("invalid UTF-8") from None
    plain: Callable[[str], Match | None] = compiled.fullmatch

    def match(text: str) -> Match | None:
        try:
            return plain(text)
        except UnicodeEncodeError:  # bytes that are not UTF-8
            found = plain(text.translate(_HIDDEN))
            return None if found is None else _Hidden(found)

    return match


# Bytes that are not UTF-8 are lone surrogates here, which RE2 refuses. To Go each is a character that `.` and its like
# alone match; so are the private ones that stand for them here.
_HIDDEN = {0xDC00 + byte: 0x10FE00 + byte for byte in range(0x80, 0x100)}
_SHOWN = {hidden: plain for plain, hidden in _HIDDEN.items()}


class _Hidden:
    """A match in a text with bytes that are not UTF-8."""

    __slots__ = ("_match", "re")

    def __init__(self, match: Any) -> None:
        self._match = match
        self.re = match.re

    def group(self, group: int = 0, /) -> str | None:
        text: str | None = self._match.group(group)
        return None if text is None else text.translate(_SHOWN)


def group_count(match: Match) -> int:
    """How many groups the pattern of a match has."""
    pattern: Any = match.re  # type: ignore[attr-defined]
    count: int = pattern.groups
    return count


def group_names(match: Match) -> dict[str, int]:
    """The names of the groups of the pattern of a match, and their numbers."""
    pattern: Any = match.re  # type: ignore[attr-defined]
    return dict(pattern.groupindex)
