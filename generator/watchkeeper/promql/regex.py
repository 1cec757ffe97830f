"""Regular expressions as Prometheus takes them: Go's regexp package, which is RE2's syntax.

RE2 itself judges where it is installed (`google-re2`, in the extra `watchkeeper[generator]`), less the few points in
which Go differs, each measured with promtool. Without it Python's re judges, after what Go writes otherwise has been
translated; that is right for everyday patterns. Most patterns are plain enough to need neither.
"""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType

# A word or a dot, perhaps repeated, and other characters that mean nothing or can't be wrong. Each character has one
# way to match, so this takes linear time.
_ATOMS = r"(?:(?:[\w.]|\\[dDsSwW!-/:-@\[-`{-~])[*+?]?|[^\w.\\*+?{}()\[\]])*"
_PLAIN = re.compile(rf"{_ATOMS}(?:\((?:\?:)?{_ATOMS}\)[*+?]?{_ATOMS})*", re.ASCII)
_LITERAL = re.compile(r"[^\\*+?{}()\[\].|^$]*")
# Words, dots and bars, and repetitions that need one of something: what is everyday, and has no need of RE2.
_SOMETHING = re.compile(r"(?:\w(?![*?{])|\.\+)[^\\()\[|]*(?:\|(?:\w(?![*?{])|\.\+)[^\\()\[|]*)*")

# Go's limit on the height of a pattern's tree is 1,000 (regexp/syntax, maxHeight); each group is one level or more.
_MAX_GROUPS = 998
# Characters. C++ writes a line to stderr for each group of a long pattern, so Python judges those.
_LONG = 4000
# Bytes. C++ asks for a budget, Go limits the number of instructions; this much never refuses what Go takes.
_MAX_MEMORY = 256 << 20


class RegexError(ValueError):
    """Prometheus would refuse this regular expression. The message says what is wrong with it."""


def check(pattern: str, *, variables: bool = False) -> None:
    """Raise RegexError for a pattern that Go's regexp refuses to compile.

    With `variables`, dashboard variables in it stand for a value, so the pattern is refused only if no value can mend
    it: it is tried with a word and with a number in their place.
    """
    if pattern.isascii() and _PLAIN.fullmatch(pattern):
        return
    if variables:
        from watchkeeper.promql.lexer import without_variables

        samples = [without_variables(pattern, "x"), without_variables(pattern, "1")]
        if samples[0] != pattern:
            errors = [error for error in map(_fault, samples) if error]
            if len(errors) == len(samples):
                raise RegexError(errors[0])
            return
    fault = _fault(pattern)
    if fault:
        raise RegexError(fault)


def matches_empty(pattern: str) -> bool:
    """Whether a pattern that `check` passes matches the empty string as a whole, as label matchers match."""
    if _LITERAL.fullmatch(pattern):
        return not pattern
    if _SOMETHING.fullmatch(pattern):
        return False
    re2 = _re2()
    if re2 is not None and len(pattern) < _LONG:
        return bool(re2.fullmatch(_renamed(pattern), "", _options(re2)))
    return re.fullmatch(_translated(pattern), "", re.DOTALL) is not None


def _re2() -> ModuleType | None:
    try:
        import re2
    except ImportError:
        return None
    module: ModuleType = re2
    return module


def _options(re2: ModuleType) -> object:
    options = re2.Options()
    options.log_errors = False
    options.max_mem = _MAX_MEMORY
    return options


def _fault(pattern: str) -> str | None:
    """What is wrong with a pattern, or None."""
    try:
        pattern.encode()
    except UnicodeEncodeError:
        return "invalid UTF-8"
    fault = _fault_in_go_only(pattern)
    if fault:
        return fault
    re2 = _re2()
    if re2 is None or len(pattern) >= _LONG:
        return _fault_by_python(pattern)
    try:
        re2.compile(_renamed(pattern), _options(re2))
    except re2.error as error:
        text = error.args[0]
        return text.decode(errors="replace") if isinstance(text, bytes) else str(text)
    return None


def _fault_in_go_only(pattern: str) -> str | None:
    """What C++ takes and Go does not: the any-byte escape, names that are not ASCII, absurd counts and nesting."""
    if "\\C" in pattern and any(char == "C" for _, char in _outside_quotes(pattern)):
        return "invalid escape sequence: \\C"
    name = _GROUP_NAME.search(pattern)
    while name:
        if not name.group(1).isascii():
            return f"invalid named capture: {name.group()}"
        name = _GROUP_NAME.search(pattern, name.end())
    count = _HUGE_COUNT.search(pattern)
    if count:
        return f"invalid repeat count: {count.group()}"
    if pattern.count("(") > _MAX_GROUPS and _depth(pattern) > _MAX_GROUPS:
        return "expression nests too deeply"
    return None


def _depth(pattern: str) -> int:
    """How deep its parentheses nest, escaped ones left out."""
    depth = deepest = 0
    for char in re.sub(r"\\.", "", pattern, flags=re.DOTALL):
        if char == "(":
            depth += 1
            deepest = max(deepest, depth)
        elif char == ")":
            depth -= 1
    return deepest


def _outside_quotes(pattern: str) -> list[tuple[int, str]]:
    r"""The escapes of a pattern and where they start, those between \Q and \E left out."""
    found: list[tuple[int, str]] = []
    position = 0
    while True:
        position = pattern.find("\\", position)
        if position < 0 or position + 1 >= len(pattern):
            return found
        char = pattern[position + 1]
        if char == "Q":
            position = pattern.find("\\E", position + 2)
            if position < 0:
                return found
        else:
            found.append((position, char))
        position += 2


_GROUP_NAME = re.compile(r"\(\?(?:P?)<(\w+)>")
_HUGE_COUNT = re.compile(r"(?<!\\)\{(?:\d{9,}(?:,\d*)?|\d+,\d{9,})\}", re.ASCII)


def _renamed(pattern: str) -> str:
    """A pattern whose named groups have names of their own: Go lets two groups share one, C++ does not."""
    names = _GROUP_NAME.findall(pattern)
    if len(set(names)) == len(names):
        return pattern
    count = iter(range(len(names)))
    return _GROUP_NAME.sub(lambda match: match.group().replace(match.group(1), f"n{next(count)}_"), pattern)


# Without RE2

# What other dialects have and RE2 never takes, its own escapes left out before.
_FOREIGN = re.compile(r"\(\?(?:[=!>#(&|]|<[=!]|P[=>])|[*+?]\+|\\[1-9ZGKRXhHkgcouUlLNey]")
_FLAGS = re.compile(r"\(\?[imsU]*(?:-[imsU]+)?(:|\))")
_TRANSLATIONS = (
    (re.compile(r"\\z"), r"\\Z"),
    (re.compile(r"\\[pP](?:[A-Z]|\{\^?\w+\})|\[:\^?[a-z]+:\]|\\x\{[0-9a-fA-F]{1,6}\}"), "a"),
    (re.compile(r"\(\?<(\w+)>"), r"(?P<\1>"),
    (re.compile(r"\{,"), r"\\{,"),  # a count without a minimum is literal text in RE2
)


def _translated(pattern: str) -> str:
    """A pattern in Python's syntax as far as faults and the empty string go: flags, for one, change neither."""
    pattern = re.sub(r"\\Q(.*?)(?:\\E|$)", lambda match: re.escape(match.group(1)), pattern, flags=re.DOTALL)
    pattern = _FLAGS.sub(lambda match: "(?:" if match.group(1) == ":" else "(?:)", pattern)
    for found, replacement in _TRANSLATIONS:
        pattern = found.sub(replacement, pattern)
    return pattern


def _fault_by_python(pattern: str) -> str | None:
    import warnings

    plain = re.sub(r"\\Q.*?(?:\\E|$)|\\\\", "", pattern, flags=re.DOTALL)
    found = _FOREIGN.search(plain)
    if found:
        return f"invalid or unsupported Perl syntax: {found.group()}"
    if any(int(count) > 1000 for pair in re.findall(r"\{(\d+)(?:,(\d*))?\}", plain) for count in pair if count):
        return "invalid repeat count: more than 1000"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            re.compile(_translated(pattern))
    except (re.error, RecursionError, OverflowError) as error:
        return str(error)
    return None
