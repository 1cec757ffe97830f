"""What a query variable of a dashboard asks Prometheus for.

https://grafana.com/docs/grafana/latest/datasources/prometheus/template-variables/
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

_LABEL_VALUES = re.compile(r'\s*label_values\((?:(?P<expr>.*),)?\s*"?(?P<label>[^\s,(){}"]+)"?\s*\)\s*\Z', re.DOTALL)
_RESULT = re.compile(r"\s*query_result\((?P<expr>.*)\)\s*\Z", re.DOTALL)


class VariableQuery(NamedTuple):
    """`text`, which may be `label_values(expr, label)` or `query_result(expr)`, and where both stand in it.

    They are empty where the query has none; the label too where it is a variable.
    """

    path: tuple[str, ...]  # from the variable to the text
    text: str
    expr: str
    expr_at: int
    label: str
    label_at: int


def variable_query(variable: dict[str, Any]) -> VariableQuery | None:
    """Return what a query variable asks for, None where that is no text."""
    query = variable.get("query")
    path: tuple[str, ...] = ("query",)
    for key in ("spec", "query"):  # the first is there in the v2 resource alone
        if isinstance(query, dict) and key in query:
            path, query = (*path, key), query[key]
    if variable.get("type") != "query" or not isinstance(query, str):
        return None
    match = _LABEL_VALUES.match(query)
    found = match or _RESULT.match(query)
    if found is None:
        return VariableQuery(path, query, "", 0, "", 0)
    expr = found["expr"] or ""
    label, label_at = (match["label"], match.start("label")) if match else ("", 0)
    text = expr.strip()
    at = found.start("expr") + len(expr) - len(expr.lstrip()) if text else 0
    return VariableQuery(path, query, text, at, "" if "$" in label or "[[" in label else label, label_at)
