"""Dashboards of any age as checks see them: the classic model, rows too, its API wrapper, and resources v1 and v2."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from watchkeeper.findings import Excerpt, Finding, Place
from watchkeeper.read.source import Scalar, Span
from watchkeeper.subject import Expression, Text
from watchkeeper.variable_query import variable_query

if TYPE_CHECKING:
    from collections.abc import Iterator

    from watchkeeper.read.source import File

    Path = tuple[Any, ...]

PARSE = "json/parse"
_WHY = "Grafana can't load it"

# What Grafana makes of these is an expression of its own, whose `expr` is no PromQL.
_OWN_SOURCES = frozenset({"__expr__", "-- Mixed --", "-- Dashboard --", "-- Grafana --", "grafana"})
_PROMETHEUS = frozenset({"prometheus", "grafana-amazonprometheus-datasource", "grafana-azureprometheus-datasource"})
_VARIABLE = re.compile(r"\$(?:\{(\w+)(?::\w+)?\}|(\w+))|\[\[(\w+)\]\]")


class Dashboard:
    """One dashboard: its title and its queries."""

    __slots__ = ("expressions", "title")

    def __init__(self, title: str, expressions: list[Expression]) -> None:
        self.title = title
        self.expressions = expressions


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


class _Document:
    __slots__ = ("_spans", "file")

    def __init__(self, file: File) -> None:
        self.file = file
        self._spans: dict[Path, tuple[int, int]] | None = None

    def span(self, path: Path) -> tuple[int, int]:
        """Return where the value at a path stands, or the nearest one around it."""
        if self._spans is None:
            from watchkeeper.read.json_places import spans

            self._spans = spans(self.file.text)
        while path not in self._spans and path:
            path = path[:-1]
        return self._spans.get(path, (0, 1))


def value_of(file: File) -> tuple[Any, list[Finding]]:
    """Return the JSON value of a file's text, None with a finding where it is no JSON."""
    try:
        return json.loads(file.text, parse_constant=_refuse), []
    except json.JSONDecodeError as error:
        at = min(error.pos, max(len(file.text) - 1, 0))
        message = f"not JSON: {error.msg[:1].lower()}{error.msg[1:]}"
        return None, [Finding(PARSE, message, file.place(at), Excerpt(file.text, at, at + 1), _WHY)]
    except RecursionError:
        return None, [Finding(PARSE, "not JSON that can be read: nested too deeply", Place(file.name, 1, 1), why=_WHY)]
    except ValueError as error:  # NaN and Infinity, or an integer of thousands of digits
        message = f"not JSON: {str(error).partition(';')[0]}"
        return None, [Finding(PARSE, message, Place(file.name, 1, 1), why=_WHY)]


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is no number in JSON")


def model_of(value: Any) -> tuple[Path, dict[str, Any]] | None:
    """Return the path to the dashboard's model in a JSON value, and the model; None where there is none."""
    if not isinstance(value, dict):
        return None
    if "kind" in value and "spec" in value:
        is_one = value["kind"] == "Dashboard" and isinstance(value["spec"], dict)
        return (("spec",), value["spec"]) if is_one else None
    if isinstance(value.get("dashboard"), dict):
        return ("dashboard",), value["dashboard"]
    return ((), value) if value.keys() & {"panels", "rows", "schemaVersion", "templating", "elements"} else None


def dashboard(value: Any, file: File) -> Dashboard | None:
    """Return the dashboard in a JSON value of that file, None where it is something else."""
    found = model_of(value)
    if found is None:
        return None
    base, model = found
    reader = _Reader(_Document(file), base, model)
    title = model.get("title")
    name = title if isinstance(title, str) and title else file.name
    return Dashboard(name, list(reader.expressions(name)))


class _Reader:
    def __init__(self, document: _Document, base: Path, model: dict[str, Any]) -> None:
        self.document = document
        self.base = base
        self.model = model
        self.kinds = dict(self._inputs())  # the plugin of each data source that has a name here

    def _inputs(self) -> Iterator[tuple[str, str]]:
        for one in _dicts(self.model.get("__inputs")):
            if isinstance(one.get("name"), str) and isinstance(one.get("pluginId"), str):
                yield one["name"], one["pluginId"]
        for _, one in self._variables():
            kind = one.get("query") or one.get("pluginId")
            if str(one.get("type", one.get("kind"))).lower().startswith("datasource") and isinstance(kind, str):
                yield str(one.get("name")), kind

    def expressions(self, title: str) -> Iterator[Expression]:
        for path, panel in self._panels():
            name = panel.get("title")
            owner = f'panel "{name}" of dashboard {title}' if name else f"a panel of dashboard {title}"
            yield from self._targets(path, panel, owner)
        for path, panel in self._elements():
            yield from self._queries(path, panel, f'panel "{panel.get("title")}" of dashboard {title}')
        for path, variable in self._variables():
            yield from self._variable(path, variable, f"variable {variable.get('name')} of dashboard {title}")
        for number, one in enumerate(self._list("annotations", "list") or ()):
            if isinstance(one, dict) and isinstance(one.get("expr"), str) and self._is_prometheus(one, {}) is not False:
                owner = f"annotation {one.get('name')} of dashboard {title}"
                yield from self._expression(("annotations", "list", number), one, "expr", owner, one)

    def _list(self, *path: str) -> Any:
        value: Any = self.model
        for step in path:
            value = value.get(step) if isinstance(value, dict) else None
        return value

    def _panels(self) -> Iterator[tuple[Path, dict[str, Any]]]:
        """Yield all panels of a classic model: those in rows too, be those panels or of the time before Grafana 5."""
        waiting = [((key,), self.model.get(key)) for key in ("rows", "panels")]
        while waiting:
            path, listed = waiting.pop()
            for number, one in enumerate(listed if isinstance(listed, list) else ()):
                if isinstance(one, dict):
                    if path[-1] == "panels":
                        yield (*path, number), one
                    waiting.append(((*path, number, "panels"), one.get("panels")))

    def _elements(self) -> Iterator[tuple[Path, dict[str, Any]]]:
        elements = self.model.get("elements")
        for name, one in elements.items() if isinstance(elements, dict) else ():
            spec = one.get("spec") if isinstance(one, dict) else None
            if isinstance(spec, dict):
                yield ("elements", name, "spec"), spec

    def _variables(self) -> Iterator[tuple[Path, dict[str, Any]]]:
        for number, one in enumerate(self._list("templating", "list") or ()):
            if isinstance(one, dict):
                yield ("templating", "list", number), one
        listed = self.model.get("variables")
        for number, one in enumerate(listed if isinstance(listed, list) else ()):
            if isinstance(one, dict) and isinstance(one.get("spec"), dict):
                yield ("variables", number, "spec"), {"kind": one.get("kind"), **one["spec"]}

    def _targets(self, path: Path, panel: dict[str, Any], owner: str) -> Iterator[Expression]:
        for number, target in enumerate(panel.get("targets") or () if isinstance(panel.get("targets"), list) else ()):
            if isinstance(target, dict) and isinstance(target.get("expr"), str) and target["expr"].strip():
                if self._is_prometheus(target, panel) is False:
                    continue
                named = f"{owner}, query {target['refId']}" if target.get("refId") else owner
                yield from self._expression((*path, "targets", number), target, "expr", named, target, panel)

    def _queries(self, path: Path, panel: dict[str, Any], owner: str) -> Iterator[Expression]:
        """Yield the queries of a panel of the v2 resource."""
        try:
            listed = panel["data"]["spec"]["queries"]
            for number, one in enumerate(listed):
                query = one["spec"]["query"]
                kind = query.get("group") or query.get("kind")
                spec = query["spec"]
                if kind in _PROMETHEUS and isinstance(spec.get("expr"), str) and spec["expr"].strip():
                    where = (*path, "data", "spec", "queries", number, "spec", "query", "spec")
                    yield from self._expression(where, spec, "expr", owner, {"datasource": {"type": kind}})
        except (LookupError, TypeError, AttributeError):
            return  # no panel with queries, or one that Grafana would not load

    def _variable(self, path: Path, variable: dict[str, Any], owner: str) -> Iterator[Expression]:
        if variable.get("kind") == "QueryVariable":  # of the v2 resource
            variable = {**variable, "type": "query"}
        query = variable_query(variable) if self._is_prometheus(variable, {}) is not False else None
        if query is None or not query.expr:
            return
        where = self.base + path + query.path
        label = Text(query.label, _Json(self.document, where, query.label_at)) if query.label else None
        source = _Json(self.document, where, query.expr_at)
        found = Expression(query.expr, owner, source, in_dashboard=True, is_variable=True, label=label)
        if found.error is None or self._is_prometheus(variable, {}):
            yield found

    def _expression(
        self, path: Path, holder: dict[str, Any], key: str, owner: str, *sources: dict[str, Any]
    ) -> Iterator[Expression]:
        where = self.base + path
        legend = holder.get("legendFormat")
        text = None
        if isinstance(legend, str) and "{{" in legend:
            text = Text(legend, _Json(self.document, (*where, "legendFormat")))
        source = _Json(self.document, (*where, key))
        found = Expression(holder[key], owner, source, in_dashboard=True, legend=text)
        # Where nothing tells what the data source is, what does not parse may be another's language.
        if found.error is None or self._is_prometheus(sources[0], sources[-1]):
            yield found

    def _is_prometheus(self, item: dict[str, Any], outer: dict[str, Any]) -> bool | None:
        """Tell whether the data source is Prometheus; None where nothing says so."""
        source = item.get("datasource") or outer.get("datasource")
        if isinstance(source, dict):
            if isinstance(source.get("type"), str) and source["type"]:
                return source["type"] in _PROMETHEUS
            source = source.get("uid") or source.get("name")
        if not isinstance(source, str):
            return None
        if source in _OWN_SOURCES:
            return None if source == "-- Mixed --" else False
        match = _VARIABLE.fullmatch(source)
        kind = self.kinds.get(match[1] or match[2] or match[3]) if match else None
        if kind is not None:
            return kind in _PROMETHEUS
        return True if source.lower() == "prometheus" else None


def _dicts(value: Any) -> list[dict[str, Any]]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []
