"""Templates of annotations and labels, written for Prometheus, in the words of Grafana's alerting.

Both are Go's text/template. `$labels` is the same; Grafana's `$value` is a text about all queries, so that the value is
`$values.B.Value` there. https://grafana.com/docs/grafana/latest/alerting/alerting-rules/templates/reference/
"""

from __future__ import annotations

import re

from watchkeeper.ruler.template import Template, TemplateError, fields, lexer

# Go's own, and those that Grafana shares with Prometheus.
_FUNCTIONS = frozenset(
    (
        "and",
        "call",
        "eq",
        "ge",
        "gt",
        "html",
        "index",
        "js",
        "le",
        "len",
        "lt",
        "ne",
        "not",
        "or",
        "print",
        "printf",
        "println",
        "slice",
        "urlquery",
        "args",
        "externalURL",
        "humanize",
        "humanize1024",
        "humanizeDuration",
        "humanizePercentage",
        "humanizeTimestamp",
        "match",
        "pathPrefix",
        "reReplaceAll",
        "safeHtml",
        "title",
        "toLower",
        "toUpper",
    )
)
_DOLLARS = re.compile(r"(\$+)\{")
_VALUES = ("$value", "$.Value", ".Value")


class NotForGrafana(ValueError):  # noqa: N818 - it is what the template is
    """A template uses what Grafana has not; `fix` says what to do."""

    def __init__(self, message: str, fix: str) -> None:
        super().__init__(message)
        self.fix = fix


def rewritten(text: str) -> str:
    """Return the template for Grafana, where the value is that of the expression B.

    Raises:
        NotForGrafana: it uses what there is no word for. A template that does not parse is left to other checks.
    """
    if "{{" not in text:
        return text
    try:
        uses = fields(Template(text))
    except TemplateError:
        return text
    _no_address_of_prometheus(text)
    parts: list[str] = []
    done = 0
    for use in uses:
        if use.kind == "function" and use.name not in _FUNCTIONS:
            raise NotForGrafana(f"it has no function {use.name}", "say it without that function")
        if use.kind == "query":
            raise NotForGrafana("it asks no other queries", "say it without `query`")
        if use.kind.startswith("external label"):
            raise NotForGrafana("it has no external labels", "use a label of the series")
        if use.kind == "value":
            written = text[use.position : use.end]
            if written not in _VALUES:
                raise NotForGrafana("the value is not taken by its name", "write {{ $value }}")
            parts += text[done : use.position], "$values.B.Value"
            done = use.end
    return "".join((*parts, text[done:]))


def unbraced(text: str) -> str:
    """Return a template that says the same without `${`, where Grafana would put in the environment."""
    parts: list[str] = []
    done = 0
    for kind, item, position in lexer.tokens_of(text):
        end = position + len(item)
        if kind in (lexer.STRING, lexer.RAW_STRING) and "${" in item:
            parts += text[done:position], _without_brace(item)
            done = end
        elif kind is lexer.TEXT:
            # With the brace behind it, which may open an action.
            parts += text[done:position], _DOLLARS.sub(r'{{ "\1" }}{', text[position : end + 1])
            done = min(end + 1, len(text))
    return "".join((*parts, text[done:]))


def _without_brace(string: str) -> str:
    """Return a string of Go with another way to write the brace."""
    if string[0] == "`":  # has no other way
        inner = string[1:-1].replace("\\", "\\\\").replace('"', '\\"').replace("\r", "").replace("\n", "\\n")
        string = f'"{inner}"'
    return string.replace("${", "$\\x7b")


def _no_address_of_prometheus(text: str) -> None:
    before = ""
    for kind, item, _ in lexer.tokens_of(text):
        is_field = kind is lexer.FIELD and item == ".ExternalURL" and (before == "$" or not before.startswith("$"))
        if is_field or (kind is lexer.VARIABLE and item == "$externalURL"):
            raise NotForGrafana(f"it has no {item}", "write {{ externalURL }}, which is Grafana's own")
        before = item if kind in (lexer.VARIABLE, lexer.FIELD) else ""
