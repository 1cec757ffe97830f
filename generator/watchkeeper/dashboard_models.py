"""Where dashboards of any age keep their panels, variables and annotations.

Read are the classic model, its rows of before Grafana 5 too; what Grafana's API and exports wrap around it; and the
resources v1, whose `spec` is a classic model, and v2. A path leads from the model to a part of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

    Path = tuple[Any, ...]
    Json = dict[str, Any]

__all__ = ["Query", "annotated", "dig", "inputs", "items", "models", "panels", "queries", "variables"]

_KINDS = ("Dashboard", "DashboardWithAccessInfo")  # the second is what Grafana's own pages are given
_MODEL = frozenset({"panels", "rows", "schemaVersion", "templating", "elements"})


class Query(NamedTuple):
    """What asks a data source: `spec` has the query's own members, `source` says what it is asked of.

    `source` is a name, a reference, or None where nothing is said; of a panel it is the query's own or the panel's.
    """

    path: Path
    spec: Json
    source: Any
    ref: str


def dig(value: Any, *path: Any) -> Any:
    """Return what is at a path, None where there is nothing."""
    for step in path:
        value = value.get(step) if isinstance(value, dict) else None
    return value


def items(value: Any) -> Iterator[tuple[int, Json]]:
    """Yield the objects of a list and their numbers; nothing where it is no list."""
    for number, one in enumerate(value if isinstance(value, list) else ()):
        if isinstance(one, dict):
            yield number, one


def models(value: Any) -> Iterator[tuple[Path, Json]]:
    """Yield the dashboards in a JSON value and the paths to them: one, several in a list, or none."""
    listed: Iterator[tuple[Path, Json]]
    if isinstance(value, list):
        listed = (((number,), one) for number, one in items(value))
    elif isinstance(value, dict) and isinstance(value.get("items"), list) and "kind" in value:
        listed = ((("items", number), one) for number, one in items(value["items"]))
    else:
        listed = iter([((), value)])
    for path, one in listed:
        found = _model(one)
        if found:
            yield path + found[0], found[1]


def _model(value: Any) -> tuple[Path, Json] | None:
    if not isinstance(value, dict):
        return None
    if "kind" in value and "spec" in value:
        spec = value["spec"]
        return (("spec",), spec) if value["kind"] in _KINDS and isinstance(spec, dict) else None
    wrapped = value.get("dashboard")
    if isinstance(wrapped, dict) and wrapped.keys() & _MODEL:  # what the HTTP API takes and gives
        return ("dashboard",), wrapped
    return ((), value) if value.keys() & _MODEL else None


def panels(model: Json) -> Iterator[tuple[Path, Json]]:
    """Yield all panels: those in rows too, be those panels or of the time before Grafana 5, and those of libraries."""
    waiting: list[tuple[Path, Any]] = [((key,), model.get(key)) for key in ("rows", "panels")]
    while waiting:
        path, listed = waiting.pop()
        for number, one in items(listed):
            if path[-1] == "panels":
                yield (*path, number), one
            waiting.append(((*path, number, "panels"), one.get("panels")))
    for key in ("elements", "__elements"):  # of v2; and of an export, with the panels of libraries
        found = model.get(key)
        for name, one in found.items() if isinstance(found, dict) else ():
            inner = "spec" if key == "elements" else "model"
            if isinstance(panel := dig(one, inner), dict):
                yield (key, name, inner), panel


def queries(panel: Json) -> Iterator[Query]:
    """Yield the queries of a panel that Grafana runs."""
    own = panel.get("datasource")
    targets = list(items(panel.get("targets")))
    # A hidden query runs where an expression, or an alert of before Grafana 11, may need its result.
    needed = isinstance(panel.get("alert"), dict) or any(_asked(one, None) == "__expr__" for _, one in targets)
    for number, target in targets:
        if target.get("hide") is not True or needed:
            ref = target.get("refId")
            source = target.get("datasource") or own
            if isinstance(source, dict) and "type" not in source and dig(own, "uid") == source.get("uid"):
                source = own  # some versions say the type at the panel alone
            yield Query(("targets", number), target, source, ref if isinstance(ref, str) else "")
    for number, one in items(dig(panel, "data", "spec", "queries")):  # of v2
        query, ref = dig(one, "spec", "query"), dig(one, "spec", "refId")
        if isinstance(spec := dig(query, "spec"), dict):
            path = ("data", "spec", "queries", number, "spec", "query", "spec")
            yield Query(path, spec, _source(query), ref if isinstance(ref, str) else "")


def _asked(target: Json, own: Any) -> Any:
    source = target.get("datasource") or own
    return dig(source, "uid") if isinstance(source, dict) else source


def _source(query: Json) -> Json:
    """Return the data source of a query of v2: its kind was the source's type before it became `group`."""
    kind = query.get("group") or query.get("kind")
    return {"type": kind if isinstance(kind, str) and kind != "DataQuery" else ""}


def variables(model: Json) -> Iterator[tuple[Path, Json]]:
    """Yield all variables; those of v2 with the `type` that they have in a classic model."""
    for number, one in items(dig(model, "templating", "list")):
        yield ("templating", "list", number), one
    for number, one in items(model.get("variables")):
        kind = one.get("kind")
        if isinstance(one.get("spec"), dict) and isinstance(kind, str):
            query = one["spec"].get("query")
            source = {"datasource": _source(query)} if isinstance(query, dict) and query.get("group") else {}
            named = {"type": kind.removesuffix("Variable").lower()}
            yield ("variables", number, "spec"), {**one["spec"], **source, **named}


def annotated(model: Json) -> Iterator[tuple[Query, Any]]:
    """Yield the queries of annotations, and the name of each."""
    for number, one in items(dig(model, "annotations", "list")):
        for path, spec in ((("target",), one.get("target")), ((), one)):  # the second is older
            if isinstance(spec, dict) and isinstance(spec.get("expr"), str):
                where = ("annotations", "list", number, *path)
                yield Query(where, spec, spec.get("datasource") or one.get("datasource"), ""), one.get("name")
    for number, one in items(model.get("annotations")):
        query = dig(one, "spec", "query")
        if isinstance(spec := dig(query, "spec"), dict):
            where = ("annotations", number, "spec", "query", "spec")
            yield Query(where, spec, _source(query), ""), dig(one, "spec", "name")


def inputs(model: Json) -> Iterator[tuple[str, Any]]:
    """Yield the names that an import gives values to, and the plugin of those that are data sources."""
    for _, one in items(model.get("__inputs")):
        if isinstance(one.get("name"), str):
            yield one["name"], one.get("pluginId")
