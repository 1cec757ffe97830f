"""Variables that are used and not defined, defined twice, or defined and not used."""

from __future__ import annotations

import re
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from watchkeeper.findings import Finding, nearest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from watchkeeper.findings import Place
    from watchkeeper.project import Project
    from watchkeeper.read.dashboards import Dashboard
    from watchkeeper.render.grafana import Rendered
    from watchkeeper.subject import Text

ID = "dashboard/variable"

# As Grafana finds them: `$name`, `${name}`, `${name.field:format}`, `[[name]]`, `[[name:format]]`. A name that starts
# with a digit is a group of a regular expression, such as `$1` in label_replace.
_USE = re.compile(r"\$(?:([A-Za-z_]\w*)|\{([A-Za-z_]\w*)(?:\.[^:}]+)?(?::[^}]+)?\})|\[\[([A-Za-z_]\w*)(?::[^\]]+)?\]\]")

# grafana.com/docs/grafana/latest/visualizations/dashboards/variables/global-variables/, and those of data links.
BUILT_IN = frozenset(
    {
        "__all_variables", "__auto", "__cell", "__cell_0", "__cell_1", "__cell_2", "__cell_3", "__dashboard", "__data",
        "__field", "__from", "__interval", "__interval_ms", "__name", "__org", "__range", "__range_ms", "__range_s",
        "__rate_interval", "__rate_interval_ms", "__searchFilter", "__series", "__scopes", "__sourcePanel",
        "__timeFilter", "__timezone", "__to", "__url", "__url_time_range", "__user", "__value", "timeFilter",
    }
)  # fmt: skip


def check(project: Project) -> Iterator[Finding]:
    """Yield a finding for each variable of each dashboard with which something is wrong."""
    for dashboard in project.dashboards:
        yield from _check(dashboard)
    for board in project.boards:
        yield from _of_file(board)


def _check(dashboard: Rendered) -> Iterator[Finding]:
    defined: dict[str, dict[str, Any]] = {}
    for one in _variables(dashboard.model):
        name = one.get("name")
        if not isinstance(name, str):
            continue
        if name in defined:
            why = "Grafana keeps one of them, and which one is not said"
            what = f'the variable "{name}" is defined twice'
            yield Finding(ID, what, dashboard.place, why=why, fix="rename one of them, and what uses it")
        defined[name] = one
    used: set[str] = set()
    for where, place, names in _uses(dashboard, used):
        used |= names
        for name in sorted(names - defined.keys() - BUILT_IN):
            hint = nearest(name, sorted({*defined, *BUILT_IN} if name.startswith("__") else defined))
            yield Finding(
                ID,
                f"{where} uses the variable ${name}, which is not defined{hint}",
                place,
                why="Grafana leaves the text as it is: the query fails, or finds nothing",
                fix=f'define it in `variables`, or correct the name of "${name}"',
            )
    for name, one in defined.items():
        # Ad hoc filters act without being named; a chosen data source may be there for links.
        if name not in used and one.get("type") not in ("adhoc", "groupby", "datasource", "system"):
            yield Finding(
                ID,
                f'the variable "{name}" is used nowhere',
                dashboard.place,
                why="whoever changes it expects the panels to follow, and they don't",
                fix=f'use it, such as {name}=~"${name}", or take it out',
                severity="warning",
            )


def _of_file(board: Dashboard) -> Iterator[Finding]:
    """Look at the queries alone: whether a variable is there for a link, or for a panel's title, no one can tell."""
    uses: dict[str, list[tuple[bool, str, Text, tuple[int, int]]]] = {}
    for owner, text, known in board.texts:
        if "$" in text.value or "[[" in text.value:
            for name, span, quoted in _undefined(text.value, board.variables):
                if known or not name.startswith("__"):  # another data source may know others
                    uses.setdefault(name, []).append((quoted, owner, text, span))
    for name, found in uses.items():
        quoted, owner, text, span = min(found, key=itemgetter(0))  # where it is worst
        more = len(found) - 1
        others = f", {more} more time{'s' if more > 1 else ''} in this dashboard" if more else ""
        near = nearest(name, sorted({*board.variables, *BUILT_IN} if name.startswith("__") else board.variables))
        why = "Grafana leaves the text as it is, and " + (
            "the label is compared with that" if quoted else "Prometheus refuses the query"
        )
        yield text.finding(
            ID,
            f"{owner} uses the variable ${name}, which is not defined{others}{near}",
            *span,
            why=why,
            fix="define it in the dashboard's variables, or correct the name",
            severity="warning" if quoted else "error",
        )


# A comment, a string, or a variable outside of both.
_PART = re.compile(
    rf"""\#[^\n]*|(?P<string>"[^"\\]*(?:\\.[^"\\]*)*"|'[^'\\]*(?:\\.[^'\\]*)*'|`[^`]*`)|{_USE.pattern}""", re.DOTALL
)


def _undefined(text: str, defined: frozenset[str]) -> Iterator[tuple[str, tuple[int, int], bool]]:
    """Yield the variables of a query that are not there: the name, the place, and whether it is in a string."""
    if all(_is_known(use, defined) for use in _USE.finditer(text)):
        return  # as nearly always
    for part in _PART.finditer(text):
        if part[0].startswith("#"):
            continue
        quoted = part["string"] is not None
        for use in _USE.finditer(text, *part.span()):
            name = use[1] or use[2] or use[3]
            if not _is_known(use, defined) and f"(?P<{name}>" not in text:  # what label_replace takes out of a label
                yield name, use.span(), quoted


def _is_known(use: re.Match[str], defined: frozenset[str]) -> bool:
    name = use[1] or use[2] or use[3]
    if name in defined or name in BUILT_IN:
        return True
    # Of an interval that is left to Grafana; and what is put in before Grafana sees it, as by envsubst.
    return name.startswith("__auto_interval") or (use[2] is not None and name.isupper())


def _variables(model: dict[str, Any]) -> Iterator[dict[str, Any]]:
    templating = model.get("templating")
    listed = templating.get("list") if isinstance(templating, dict) else None
    yield from (one for one in listed if isinstance(one, dict)) if isinstance(listed, list) else ()


def _uses(dashboard: Rendered, sources: set[str]) -> Iterator[tuple[str, Place, set[str]]]:
    """Yield what uses variables, its place, and the names; those that only choose a data source are added to `sources`.

    Whether those exist is told by dashboard/datasource.
    """
    for panel in dashboard.panels:
        part = dashboard.panel(panel)
        names = used_in(part, sources, without=("panels",) if part.get("type") == "row" else ())
        if isinstance(repeat := part.get("repeat"), str) and repeat:
            names.add(repeat.removeprefix("$"))
        yield f'panel "{panel.title}"', panel.place, names
    for one in _variables(dashboard.model):
        # Its options and current value are what Grafana found, not what the author wrote.
        names = used_in(one, sources, without=("options", "current", "name"))
        yield f'the variable "{one.get("name")}"', dashboard.place, names - {str(one.get("name"))}
    yield "the dashboard", dashboard.place, used_in(dashboard.model, sources, without=("panels", "templating"))


def used_in(value: dict[str, Any], sources: set[str], without: tuple[str, ...] = ()) -> set[str]:
    """Return the names of the variables in all strings below value, but for those members of it, and data sources."""
    from watchkeeper.render.grafana.sources import variable  # takes a while to load, and files do without

    names: set[str] = set()
    waiting: list[Any] = [{name: member for name, member in value.items() if name not in without}]
    while waiting:
        item = waiting.pop()
        if type(item) is str:
            if "$" in item or "[[" in item:
                names.update(one or two or three for one, two, three in _USE.findall(item))
        elif type(item) is dict:
            if "datasource" not in item:
                waiting += item.values()
                continue
            source = item["datasource"]
            if type(source) is dict and type(source.get("uid")) is str:
                sources.add(variable(source["uid"]))
                if source["uid"] == "__expr__":
                    continue  # in an expression, $A is the query A
            waiting += [member for name, member in item.items() if name != "datasource"]
        elif type(item) is list:
            waiting += item
    return names
