"""The names of the functions that templates may call, and the Prometheus that each came with."""

from __future__ import annotations

# 2.0 stands for "always": alerts were written otherwise before.
FUNCTIONS: dict[str, str] = {
    **dict.fromkeys(
        (
            "and", "call", "eq", "ge", "gt", "html", "index", "js", "le", "len", "lt", "ne", "not", "or", "print",
            "printf", "println", "slice", "urlquery",
            "args", "externalURL", "first", "graphLink", "humanize", "humanize1024", "humanizeDuration",
            "humanizeTimestamp", "label", "match", "pathPrefix", "query", "reReplaceAll", "safeHtml", "sortByLabel",
            "strvalue", "tableLink", "title", "toLower", "toUpper", "value",
        ),
        "2.0",
    ),
    "humanizePercentage": "2.11",
    "parseDuration": "2.32",
    "stripPort": "2.33",
    "stripDomain": "2.36",
    "toTime": "2.38",
    "now": "3.6",
    "toDuration": "3.6",
    "urlQueryEscape": "3.8",
}  # fmt: skip
# Only in console templates: a rule that calls it is refused.
CONSOLE_FUNCTIONS = frozenset({"tmpl"})


def available(version: str) -> frozenset[str]:
    """The functions that a version of Prometheus, such as "2.42", knows."""
    wanted = _key(version)
    return frozenset(name for name, since in FUNCTIONS.items() if _key(since) <= wanted)


def _key(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".")[:2])
