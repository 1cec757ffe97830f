"""match and reReplaceAll: Go's regular expressions, not anchored.

Python's own re where it surely means the same and can't run away, google-re2 for the rest, through the engine.
"""

from __future__ import annotations

import re

from watchkeeper.engine import regex
from watchkeeper.promql.regex import RegexError, check
from watchkeeper.ruler.template.errors import CallError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeAlias

    # Where a match begins and ends, and its groups.
    Found: TypeAlias = tuple[int, int, list[str | None]]
    Search: TypeAlias = Callable[[str, int], Found | None]

_ATOM = (
    r"(?:[\w \-/:,;=~@%&!<>\"'#]|\\[.+*?()|\[\]{}^$\-:/dw]|\.|\[\^?(?:[A-Za-z0-9_ :/.,](?:-[A-Za-z0-9])?|\\[.\-d])+\])"
)
_SEQUENCE = rf"(?:{_ATOM}[*+?]?\??(?![*+?]))*"
_SAFE = re.compile(rf"\^?{_SEQUENCE}(?:\((?:\?:)?{_SEQUENCE}(?:\|{_SEQUENCE})*\)(?![*+?]){_SEQUENCE})*(\$?)", re.ASCII)
_MAX_REPETITIONS = 3
_MAX_SAFE_TEXT = 500
_REFERENCE = re.compile(r"\$(?:\$|\{(\w+)\}|(\w+))")

# What google-re2 says, and Go's words for it.
_WORDS = (
    ("missing ): ", "missing closing ): "),
    ("missing ]: ", "missing closing ]: "),
    ("no argument for repetition operator: ", "missing argument to repetition operator: "),
    ("bad repetition operator: ", "invalid nested repetition operator: "),
    ("invalid repetition size: ", "invalid repeat count: "),
    ("invalid perl operator: ", "invalid or unsupported Perl syntax: "),
    ("unexpected ): ", "unexpected ): "),
    ("trailing \\", "trailing backslash at end of expression: "),
    ("invalid named capture group: ", "invalid named capture: "),
    ("invalid character class range: ", "invalid character class range: "),
    ("invalid escape sequence: ", "invalid escape sequence: "),
    ("invalid repeat count: ", "invalid repeat count: "),
    ("invalid or unsupported Perl syntax: ", "invalid or unsupported Perl syntax: "),
    ("invalid named capture: ", "invalid named capture: "),
)
_searches: dict[str, tuple[Search, Search | None, dict[str, int]]] = {}
_KEPT = 200


def _fault(error: Exception) -> str:
    text = str(error)
    for theirs, go in _WORDS:
        if text.startswith(theirs):
            rest = "" if theirs == "trailing \\" else text[len(theirs) :]
            return f"error parsing regexp: {go}`{rest}`"
    return f"error parsing regexp: {text}"


def _compiled(pattern: str) -> tuple[Search, Search | None, dict[str, int]]:
    """How to search with a pattern: the fast way for short texts (None: there is none), the sure way, its names."""
    found = _searches.get(pattern)
    if found is None:
        if len(_searches) >= _KEPT:
            _searches.clear()
        check(pattern)
        safe = None
        names: dict[str, int] = {}
        match = _SAFE.fullmatch(pattern)
        if match and len(pattern) < _KEPT and sum(map(pattern.count, "*+?")) <= _MAX_REPETITIONS:
            own = f"{pattern[:-1]}\\Z" if match[1] and not pattern.endswith("\\$") else pattern
            safe = _by_python(re.compile(own, re.ASCII))
        else:
            names = _names(pattern)
        found = _searches[pattern] = (_by_re2(pattern), safe, names)
    return found


def _by_python(compiled: re.Pattern[str]) -> Search:
    def search(text: str, start: int) -> Found | None:
        match = compiled.search(text, start)
        return None if match is None else (match.start(), match.end(), [match.group(), *match.groups()])

    return search


def _by_re2(pattern: str) -> Search:
    # The engine matches whole texts, so what stands before and behind is matched too. What has been passed already
    # stands there as it is, for the assertions that look back.
    def search(text: str, start: int) -> Found | None:
        before = re.escape(text[:start])
        match = regex.fullmatch(f"(?s:({before}.*?))((?-s:{pattern}))(?s:.*)")(text)
        if match is None:
            return None
        groups = [match.group(number) for number in range(2, regex.group_count(match) + 1)]
        begin = len(match.group(1) or "")
        return begin, begin + len(groups[0] or ""), groups

    return search


def _names(pattern: str) -> dict[str, int]:
    match = regex.fullmatch(f"(?s:(.*?))((?-s:{pattern}))?(?s:.*)")("")
    return {} if match is None else {name: number - 2 for name, number in regex.group_names(match).items()}


def _search(pattern: str) -> tuple[Callable[[str], Search], dict[str, int]]:
    sure, safe, names = _compiled(pattern)
    return lambda text: safe if safe is not None and len(text) <= _MAX_SAFE_TEXT else sure, names


def match(pattern: str, text: str) -> bool:
    """regexp.MatchString."""
    try:
        search, _ = _search(pattern)
        return search(text)(text, 0) is not None
    except (RegexError, regex.RegexError) as error:
        raise CallError(_fault(error)) from None


def replace_all(pattern: str, replacement: str, text: str) -> str:
    """regexp.ReplaceAllString, which takes $1 and ${name} in the replacement."""
    try:
        chosen, names = _search(pattern)
        search = chosen(text)
        return _replaced(search, names, replacement, text)
    except (RegexError, regex.RegexError) as error:
        raise CallError(f"regexp: Compile({_quoted(pattern)}): {_fault(error)}") from None


def _quoted(pattern: str) -> str:
    from watchkeeper.engine.labels import quote

    return quote(pattern) if "`" in pattern or not pattern.isprintable() else f"`{pattern}`"


def _replaced(search: Search, names: dict[str, int], replacement: str, text: str) -> str:
    out: list[str] = []
    position = last = 0
    while position <= len(text):
        found = search(text, position)
        if found is None:
            break
        begin, end, groups = found
        out.append(text[last:begin])
        if end > last or begin == 0:  # an empty match next to the one before it does not count
            out.append(_expanded(replacement, groups, names) if "$" in replacement else replacement)
        last = end
        position = max(end, position + 1)
    out.append(text[last:])
    return "".join(out)


def _expanded(replacement: str, groups: list[str | None], names: dict[str, int]) -> str:
    def piece(reference: re.Match[str]) -> str:
        name = reference[1] or reference[2]
        if name is None:
            return "$"
        number = int(name) if name.isdecimal() and name.isascii() and len(name) < 4 else names.get(name, -1)
        return groups[number] or "" if 0 <= number < len(groups) else ""

    return _REFERENCE.sub(piece, replacement)
