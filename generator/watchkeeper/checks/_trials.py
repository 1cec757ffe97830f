"""Templates that are tried out: those that come out as an error message whatever the alert."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

from watchkeeper.ruler.template import Template, TemplateError

if TYPE_CHECKING:
    from watchkeeper.ruler.template import Use

# Functions that take but some of what they can be given. The others hardly fail, and to try them all takes too long.
PARTICULAR = frozenset({
    "eq", "ne", "lt", "le", "gt", "ge", "match", "reReplaceAll", "parseDuration", "toTime", "toDuration",
})  # fmt: skip
# What they say depends on data, or on how many there are.
_DEPENDS = frozenset({"query", "index", "slice"})
_BRANCH = re.compile(r"\{\{-?\s*(?:if|with|range|else|define|block|template)\b")
# Values of all labels, and of the alert.
_TRIES = (("1", 1.5), ("5m", 0.0), ("", -1e9), ("a.b:1", 1e12), ("host-0.example.com", math.nan))
_WHERE = re.compile(r"^template: .*?: executing \S+ at <.*?>: ", re.DOTALL)


def failure(text: str, used: list[Use]) -> tuple[str, int] | None:
    """Return what goes wrong and where, None where the template may come out well."""
    names = {use.name for use in used if use.kind == "function"}
    if names.isdisjoint(PARTICULAR) or not names.isdisjoint(_DEPENDS):
        return None
    labels = [use.name or "" for use in used if use.kind in ("label", "external label")]
    template = Template(text)
    found: tuple[str, int] | None = None
    for value, number in _TRIES:
        given = dict.fromkeys(labels, value)
        try:
            template.render(given, number, external_labels=given)
        except TemplateError as error:
            at = error.position or 0
            if found is not None and found[1] != at:
                return None
            found = found or (_WHERE.sub("", error.detail), at)
        else:
            return None
    # Behind a condition it may not be reached.
    return None if found is None or _BRANCH.search(text, 0, text.rfind("{{", 0, found[1])) else found
