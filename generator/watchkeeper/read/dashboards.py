"""Dashboards of any age as checks see them: their queries, each with its place in the file."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from watchkeeper.dashboard_models import annotated, inputs, models, panels, queries, variables
from watchkeeper.drawn import drawn
from watchkeeper.promql.lexer import variables_at
from watchkeeper.read.data_sources import is_prometheus, named_sources
from watchkeeper.read.source import Scalar, Span
from watchkeeper.subject import Expression, Text
from watchkeeper.variable_query import variable_query

if TYPE_CHECKING:
    from watchkeeper.dashboard_models import Json, Path, Query
    from watchkeeper.findings import Excerpt, Place
    from watchkeeper.promql import ParseError
    from watchkeeper.read.source import File


class Dashboard:
    """One dashboard: its title, the names of its variables, and its queries.

    `texts` are the queries as they are written, with their owners, and whether Prometheus is known to be asked: those
    too that are no expression before Grafana puts in the values of variables. `graphs` are the expressions of panels
    that draw thresholds, and at which values.
    """

    __slots__ = ("expressions", "graphs", "texts", "title", "variables")

    def __init__(self, title: str, names: frozenset[str]) -> None:
        self.title = title
        self.variables = names
        self.expressions: list[Expression] = []
        self.texts: list[tuple[str, Text, bool]] = []
        self.graphs: list[tuple[Expression, list[float]]] = []


def dashboards(value: Any, file: File) -> list[Dashboard]:
    """Return the dashboards in a JSON value of that file, none where it is something else."""
    document = _Document(file)
    return [_Reader(document, base, model).dashboard for base, model in models(value)]


class _Document:
    __slots__ = ("_spans", "file")

    def __init__(self, file: File) -> None:
        self.file = file
        self._spans: dict[Path, tuple[int, int]] | None = None

    def span(self, path: Path) -> tuple[int, int]:
        """Return where the value at a path stands, or the nearest one around it."""
        if self._spans is None:  # most files have no findings
            from watchkeeper.read.json_places import spans

            self._spans = spans(self.file.text)
        while path not in self._spans and path:
            path = path[:-1]
        return self._spans.get(path, (0, 1))


class _Json:
    """The JSON value at a path of a file, as the source of a text. Where it stands is found when it is asked for."""

    __slots__ = ("document", "path", "shift")

    def __init__(self, document: _Document, path: Path, shift: int = 0) -> None:
        self.document = document
        self.path = path
        self.shift = shift

    def at(self, start: int, end: int) -> tuple[Place, Excerpt | None]:
        """Return the place in the file of this part of the string there."""
        file = self.document.file
        first, last = self.document.span(self.path)
        literal = file.text[first:last]
        if not literal.startswith('"'):
            return Span(file, first, last).at()
        text = Scalar(file, first, last, json.loads(literal), "json")
        return text.at(start + self.shift, end + self.shift)


class _Reader:
    def __init__(self, document: _Document, base: Path, model: Json) -> None:
        self.document = document
        self.base = base
        self.named = named_sources(model)
        title = model.get("title")
        title = title if isinstance(title, str) and title else document.file.name
        listed = list(variables(model))
        names = {name for _, one in listed if isinstance(name := one.get("name"), str)}
        self.dashboard = Dashboard(title, frozenset(names | {name for name, _ in inputs(model)}))
        for path, panel in panels(model):
            name = panel.get("title")
            owner = f'panel "{name}" of dashboard {title}' if name else f"a panel of dashboard {title}"
            self._panel(path, panel, owner)
        for path, one in listed:
            self._variable(path, one, f"variable {one.get('name')} of dashboard {title}")
        for query, name in annotated(model):
            self._query(query, f"annotation {name} of dashboard {title}")

    def _panel(self, path: Path, panel: Json, owner: str) -> None:
        values = drawn(panel)
        for query in queries(panel):
            named = f"{owner}, query {query.ref}" if query.ref else owner
            found = self._query(query._replace(path=path + query.path), named)
            if found and values is not None:
                self.dashboard.graphs.append((found, values))

    def _query(self, query: Query, owner: str) -> Expression | None:
        expr = query.spec.get("expr")
        if not isinstance(expr, str) or not expr.strip():
            return None
        where = self.base + query.path
        legend = query.spec.get("legendFormat")
        text = None
        if isinstance(legend, str) and "{{" in legend and query.spec.get("format") != "table":
            text = Text(legend, self._at(*where, "legendFormat"))
        known = is_prometheus(query.source, self.named)
        if known is False:
            return None
        found = Expression(expr, owner, self._at(*where, "expr"), in_dashboard=True, legend=text)
        return self._add(found, Text(expr, found.source), sure=known is True)

    def _variable(self, path: Path, variable: Json, owner: str) -> None:
        known = is_prometheus(variable.get("datasource"), self.named)
        query = variable_query(variable) if known is not False else None
        if query is None:
            return
        where = (*self.base, *path, *query.path)
        whole = Text(query.text, self._at(*where))
        if not query.expr:
            if known:
                self.dashboard.texts.append((owner, whole, True))
            return
        label = Text(query.label, self._at(*where, shift=query.label_at)) if query.label else None
        source = self._at(*where, shift=query.expr_at)
        found = Expression(query.expr, owner, source, in_dashboard=True, is_variable=True, label=label)
        self._add(found, whole, sure=known is True)

    def _at(self, *path: Any, shift: int = 0) -> _Json:
        return _Json(self.document, path, shift)

    def _add(self, found: Expression, text: Text, *, sure: bool) -> Expression | None:
        """Keep an expression. Where nothing says what the data source is, one that does not parse is another's."""
        if found.error and (not sure or "{{" in found.text):  # Helm makes the dashboard of this file
            return None
        self.dashboard.texts.append((found.owner, text, sure))
        if found.error and _at_variable(found.text, found.error):
            return None  # its value may be a part of an expression that no syntax tree has a place for
        self.dashboard.expressions.append(found)
        return found


def _at_variable(text: str, error: ParseError) -> bool:
    """Tell whether a text fails to parse at a variable of the dashboard's own, right behind one or right before."""
    start, end = error.position, max(error.end, error.position + 1)
    if text[start:end] in ("", ")", "]", "}"):
        return False  # no value opens a bracket or closes one
    quoted = text[start] in "\"'`"  # the parser put a value into the regular expression, and it did not help
    for use in variables_at(text, 0):
        if quoted and start <= use.start < end:
            continue
        first, second = sorted([(use.start, use.end), (start, end)])
        if not use.name.startswith("__") and not text[first[1] : second[0]].strip():
            return True
    return False
