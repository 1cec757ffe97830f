"""A pack made into a project, with everything that it becomes: once for checks, rendering and tests alike."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from types import CodeType, FunctionType, MethodType
from typing import TYPE_CHECKING, Any

from watchkeeper.checks import PARTS, RULES, WHOLE, run
from watchkeeper.findings import Finding, Place, sort
from watchkeeper.load import explain, foreign
from watchkeeper.project import Project, panels_of
from watchkeeper.proof.catalogue import Catalogue
from watchkeeper.render.grafana import Rendered, to_classic, to_text
from watchkeeper.render.grafana.context import items, sub
from watchkeeper.render.rules import rule_file
from watchkeeper.render.runbooks import page
from watchkeeper.render.yaml_text import to_yaml
from watchkeeper.sharing import run_on_rules
from watchkeeper.subject import Expression, Group, Rule, Text, Written
from watchkeeper.variable_query import variable_query

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from watchkeeper.model import Alert
    from watchkeeper.model import Group as GroupDefinition
    from watchkeeper.pack import Dashboard, Pack
    from watchkeeper.settings import Settings

    Track = Callable[[Iterable[Any], str, int], Iterable[Any]]
    Spread = Callable[[Callable[[Any], Any], Sequence[Any]], Iterable[Any]]


@dataclass(frozen=True)
class Board:
    """One dashboard, done: what is left of it is its text, where its panels are, and what is wrong with it."""

    rendered: Rendered | None
    file: dict[str, str]
    expressions: tuple[Expression, ...]
    findings: list[Finding]


def build(
    pack: Pack,
    settings: Settings,
    *,
    track: Track | None = None,
    spread: Spread | None = None,
    previous: Callable[[str], str | None] = lambda _: None,
    keep: bool = True,
) -> tuple[Project, list[Finding]]:
    """Return the project, and all that is wrong with it. Pure but for the functions of the user's own.

    Without `keep`, dashboards' models and expressions are dropped once they were looked at: those of a thousand
    dashboards would fill a gigabyte. `track` shows progress, `spread` maps over several cores, and `previous` returns
    the text of a generated file as it lies there, None where there is none.
    """
    track = track or (lambda items, *_: items)
    whole = Project(pack, settings, Catalogue.of_pack(pack))
    alerts = pack.alerts
    removed = frozenset(entry.name for entry in pack.removed)
    boards = (spread or map)(lambda source: _board(source, whole, alerts, removed, keep=keep), pack.dashboards)
    findings: list[Finding] = []
    dashboards: list[Rendered] = []
    expressions: list[Expression] = []
    files: dict[str, str] = {}
    for board in track(boards, "dashboards", len(pack.dashboards)):
        findings += board.findings
        expressions += board.expressions
        files |= board.file
        if board.rendered:
            dashboards.append(board.rendered)
    panel_of = {
        name: place for name, places in panels_of(pack, dashboards).items() for place in [_one(places)] if place
    }
    documents: list[tuple[GroupDefinition, dict[str, Any]]] = []
    groups: list[Group] = []
    for definition in track(pack.groups, "rule groups", len(pack.groups)):
        document = rule_file(definition, settings, panel_of)
        name = f"rules/{definition.name}.yaml"
        group = _group(definition, document["groups"][0], name)
        groups.append(group)
        documents.append((definition, document))
        files[name] = to_yaml(document, _header(definition))
    files |= _runbooks(pack, settings, panel_of)
    rules = tuple(rule.expression for group in groups for rule in group.rules)
    findings += run_on_rules(replace(whole, expressions=rules, groups=tuple(groups)), RULES, ())
    expressions += rules if keep else ()
    whole = replace(
        whole,
        dashboards=tuple(dashboards),
        expressions=tuple(expressions),
        groups=tuple(groups),
        documents=tuple(documents),
        files=files,
    )
    if pack.routing:
        from watchkeeper import routed  # which most have none of

        config, found = routed.read(pack.routing)
        files |= routed.files(pack.routing, settings)
        findings += found
        whole = replace(whole, alertmanagers=(config,) if config else ())
    if settings.outputs:
        from watchkeeper import outputs  # which most have none of

        folder_of = {dashboard.uid: dashboard.folder for dashboard in dashboards}
        made = outputs.Made(pack, settings, files, tuple(documents), panel_of, folder_of, previous)
        more, found = outputs.files(made, settings.outputs)
        whole = replace(whole, files=files | more)
        findings += found
    findings += run(whole, WHOLE)
    return whole, sort(_plainest(findings))


def _plainest(findings: list[Finding]) -> list[Finding]:
    """Leave out a schema's word about a place of which another check reports an error in plainer words."""
    told = {f.place for f in findings if f.severity == "error" and not f.check.endswith("/schema")}
    return [finding for finding in findings if not finding.check.endswith("/schema") or finding.place not in told]


def _board(
    source: Dashboard, whole: Project, alerts: dict[str, Alert], removed: frozenset[str], *, keep: bool
) -> Board:
    place = _place(source, whole.pack)
    try:
        with foreign():
            rendered, findings = to_classic(
                whole.pack.build(source),
                place=place,
                alerts=alerts,
                removed=removed,
                runbook_url=whole.settings.runbook,
                grafana=whole.settings.targets.grafana,
            )
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001 - a dashboard is the user's function and may raise anything
        finding = explain(error, "making the dashboard", whole.settings.root)
        return Board(None, {}, (), [finding if finding.place else replace(finding, place=place)])
    file = {f"dashboards/{rendered.uid}.json": to_text(rendered.model)}
    queries = tuple(_panel_expressions(rendered))
    findings += run(replace(whole, dashboards=(rendered,), expressions=queries, files=file), PARTS)
    return Board(rendered if keep else replace(rendered, model={}), file, queries if keep else (), findings)


def _runbooks(pack: Pack, settings: Settings, panel_of: dict[str, tuple[str, int]]) -> dict[str, str]:
    """Return the pages that an alert names."""
    alerts: dict[str, list[Alert]] = {}
    for alert in pack.alerts.values():
        alerts.setdefault(alert.runbook, []).append(alert)
    pages = (runbook for runbook in pack.runbooks or () if runbook.name in alerts)
    return {f"runbooks/{p.name}.md": page(p, alerts[p.name], settings, panel_of) for p in pages}


def _place(source: Dashboard, pack: Pack) -> Place:
    """Return where the dashboard's function is written, one in a partial or of a class too; else the pack's place."""
    while isinstance(source, partial):
        source = source.func
    function = source if isinstance(source, (FunctionType, MethodType)) else vars(type(source)).get("__call__")
    code = getattr(function, "__code__", None)
    return Place(code.co_filename, code.co_firstlineno) if isinstance(code, CodeType) else pack.place


def _one(places: list[tuple[str, str, int]]) -> tuple[str, int] | None:
    return (places[0][0], places[0][2]) if len(places) == 1 else None


def _header(group: GroupDefinition) -> str:
    source = group.place.module or "its definition"
    return f"Generated by watchkeeper from {source}.\nDo not edit: change that module and run `watchkeeper generate`."


def _group(definition: GroupDefinition, data: dict[str, Any], file: str) -> Group:
    """Return a group of definitions as checks see it: what its rule file says, at the places of the definitions."""
    group = Group(
        _text(definition.name, definition.place),
        file,
        labels={name: _text(value, definition.place) for name, value in definition.labels.items()},
        definition=definition,
        **{
            name: _text(str(data[name]), definition.place)
            for name in ("interval", "query_offset", "limit")
            if name in data
        },
    )
    for rule, written in zip(definition.rules, data["rules"], strict=True):
        owner = f"{'alert' if 'alert' in written else 'recording rule'} {rule.name}"
        group.rules.append(
            Rule(
                group,
                Text(rule.name, Written(rule.place)),
                Expression(rule.expr, owner, Written(rule.place, rule.expr)),
                is_alert="alert" in written,
                labels={name: _text(value, rule.place) for name, value in written.get("labels", {}).items()},
                annotations={name: _text(value, rule.place) for name, value in written.get("annotations", {}).items()},
                for_=_text(written["for"], rule.place) if "for" in written else None,
                keep_firing_for=_text(written["keep_firing_for"], rule.place) if "keep_firing_for" in written else None,
                definition=rule,
            )
        )
    return group


def _text(value: str, place: Place) -> Text:
    return Text(value, Written(place, value))


def _panel_expressions(dashboard: Rendered) -> Iterator[Expression]:
    for panel in dashboard.panels:
        for target in items(dashboard.panel(panel), "targets"):
            if isinstance(target.get("expr"), str) and _is_prometheus(target):
                owner = f'panel "{panel.title}" of dashboard {dashboard.uid}, query {target.get("refId", "?")}'
                legend = target.get("legendFormat")
                yield Expression(
                    target["expr"],
                    owner,
                    Written(panel.place, target["expr"]),
                    in_dashboard=True,
                    legend=_text(legend, panel.place) if isinstance(legend, str) and "{{" in legend else None,
                )
    for variable in items(sub(dashboard.model, "templating"), "list"):
        query = variable_query(variable) if _is_prometheus(variable) else None
        if query and query.expr:
            owner = f"variable {variable.get('name')} of dashboard {dashboard.uid}"
            label = _text(query.label, dashboard.place) if query.label else None
            source = Written(dashboard.place, query.expr)
            yield Expression(query.expr, owner, source, in_dashboard=True, is_variable=True, label=label)


def _is_prometheus(item: dict[str, Any]) -> bool:
    source = item.get("datasource")
    return not isinstance(source, dict) or source.get("type", "prometheus") == "prometheus"
