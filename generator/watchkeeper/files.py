"""Anyone's files, checked: rule files, PrometheusRule manifests, Alertmanager configurations, dashboards."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, cast

from watchkeeper.checks import ACROSS, FILES, ROUTES, RULES, run
from watchkeeper.findings import Finding, Place, sort
from watchkeeper.project import Project
from watchkeeper.proof.catalogue import Catalogue
from watchkeeper.proof.known import declared
from watchkeeper.read.files import Unreadable, load
from watchkeeper.read.paths import Paths
from watchkeeper.sharing import run_on_rules

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Any

    from watchkeeper.pack import Pack
    from watchkeeper.read.dashboards import Dashboard
    from watchkeeper.read.scrape import Published
    from watchkeeper.read.source import File
    from watchkeeper.scopes import Lines
    from watchkeeper.settings import Settings
    from watchkeeper.subject import Expression, Group, Text
    from watchkeeper.waivers.held import Held

    Track = Callable[[Iterable[Any], str, int], Iterable[Any]]


class _NoPack:
    """The pack of a project of files: nothing is defined in Python, and to load what defines takes a while."""

    metrics = groups = rules = dashboards = ()
    alerts: Mapping[str, Any] = {}
    runbooks = routing = None


class Contents:
    """What is in the files. `nodes` are those that hold groups of rules, of which waivers ask for lines."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.folders: list[str] = []
        self.nodes: list[tuple[File, Any]] = []
        self.groups: list[Group] = []
        self.dashboards: list[Dashboard] = []
        self.alertmanagers: list[Any] = []
        self.findings: list[Finding] = []


def read(names: Iterable[str], track: Track) -> Contents:
    """Read files, and those below folders: of these, what is none of ours is passed over. `track` shows progress."""
    found = Contents()
    paths = Paths(names)
    found.names, found.folders = [name for name, _ in paths.files], paths.folders
    found.findings += paths.findings
    for name, named in track(paths.files, "files", len(paths.files)):
        try:
            file = load(name)
        except Unreadable as error:
            found.findings.append(error.finding)
            continue
        if name.endswith(".json") or file.text.lstrip()[:1] in ("{", "["):
            _json(file, found, named=named)
        else:
            _yaml(file, found, named=named)
    return found


def _json(file: File, found: Contents, *, named: bool) -> None:
    from watchkeeper.read.dashboards import dashboards
    from watchkeeper.read.json_values import value_of

    value, findings = value_of(file)
    boards = dashboards(value, file)
    if boards:
        found.dashboards += boards
        found.findings += findings
    elif value is None and _LIKE_DASHBOARD.search(file.text):
        found.findings += findings
    elif not file.name.endswith(".json") or _LIKE_RULES.search(file.text):
        _yaml(file, found, named=named)  # whoever reads rules takes JSON for the YAML that it is
    elif named:
        found.findings += findings or [_unknown(file)]


_LIKE_DASHBOARD = re.compile(r'"(?:panels|schemaVersion|templating)"\s*:')
_LIKE_RULES = re.compile(r"\b(?:groups|rules|alert|record|route|receivers|kind)\b")


def _yaml(file: File, found: Contents, *, named: bool) -> None:
    from watchkeeper.read import kinds

    known = False
    for kind, node, findings in kinds.parts(file):
        if kind in (kinds.UNKNOWN, kinds.DASHBOARD) and not (named and (findings or kind == kinds.DASHBOARD)):
            continue
        known = True
        found.findings += findings if kind != kinds.DASHBOARD else [_not_json(file)]
        if kind == kinds.RULES:
            from watchkeeper.read.rules import rule_groups

            groups, faults = rule_groups(node, file)
            found.groups += groups
            found.findings += faults
            found.nodes.append((file, node))
        elif kind == kinds.ALERTMANAGER:
            from watchkeeper.read.alertmanager import config

            configured, faults = config(node, file)
            found.findings += faults
            found.alertmanagers += [configured] if configured else []
    if not known and named:
        found.findings.append(_unknown(file))


def _unknown(file: File) -> Finding:
    what = "nothing in it is known: no rules, no PrometheusRule, no Alertmanager configuration, no dashboard"
    fix = "a rule file begins with `groups:`, an Alertmanager configuration has `route:` and `receivers:`"
    return Finding("yaml/kind", what, Place(file.name, 1, 1), fix=fix)


def _not_json(file: File) -> Finding:
    what = "a dashboard in YAML" if file.text.lstrip()[:1] != "{" else "a dashboard without a model in its `spec`"
    fix = "give it as JSON: that is what Grafana loads from files"
    return Finding("yaml/kind", f"{what}: nothing in it is looked at", Place(file.name, 1, 1), fix=fix)


def check(
    contents: Contents, settings: Settings, *, published: Sequence[Published] | None = None
) -> tuple[Project, list[Finding]]:
    """Return what the files are as a project, and all that is wrong with them, in the order of the places.

    `published` is the contract, where one is known.
    """
    expressions: list[Expression] = [rule.expression for group in contents.groups for rule in group.rules]
    project = Project(
        cast("Pack", _NoPack()),
        settings,
        _catalogue(contents.groups, published),
        expressions=tuple(expressions),
        groups=tuple(contents.groups),
        alertmanagers=tuple(contents.alertmanagers),
        boards=tuple(contents.dashboards),
    )
    texts = [file.text for file, _ in contents.nodes]
    findings = [*contents.findings, *run_on_rules(project, RULES, texts), *run(project, ACROSS)]
    if contents.alertmanagers:
        findings += run(project, ROUTES)
    if contents.dashboards:
        queries = tuple(expression for board in contents.dashboards for expression in board.expressions)
        findings += run(replace(project, expressions=queries, groups=()), RULES)
        findings += run(replace(project, expressions=queries), FILES)
    return project, sort(findings)


def _catalogue(groups: list[Group], published: Sequence[Published] | None) -> Catalogue:
    """Return the series there are: what the rules record and, where that is known, what is published."""
    recordings = [
        (rule.name.value, rule.expression.text, _values({**group.labels, **rule.labels}))
        for group in groups
        for rule in group.rules
        if not rule.is_alert
    ]
    catalogue = Catalogue(recordings=recordings, closed=published is not None)
    if published:
        from watchkeeper.contract import Histogram, Info, Metric

        for one in published:
            kind = Histogram if one.histogram else Info if one.is_info else Metric
            metric = kind(one.histogram or one.name, "", unit=one.unit)
            catalogue.series[one.name] = declared(one.kind, metric, one.labels, None)
    return catalogue


def _values(labels: Mapping[str, Text]) -> dict[str, str]:
    return {name: text.value for name, text in labels.items()}


def scopes(contents: Contents) -> dict[str, list[Lines]]:
    """Return, by file, the lines of the groups and of the rules, each with the comments above it."""
    from watchkeeper.read.comments import comments
    from watchkeeper.scopes import with_comments

    files = {file.name: file for file, _ in contents.nodes}
    return {name: with_comments(files[name], comments(files[name]), lines) for name, lines in _ranges(contents).items()}


def _ranges(contents: Contents) -> dict[str, list[tuple[int, int]]]:
    found: dict[str, list[tuple[int, int]]] = {}
    for file, node in contents.nodes:
        for group in _items(node, "groups"):
            lines = [_lines(group), *(_lines(rule) for rule in _items(group, "rules"))]
            found.setdefault(file.name, []).extend(lines)
    return found


def _items(node: Any, key: str) -> list[Any]:
    if node.id != "mapping":
        return []
    listed = next((value for name, value in node.value if name.value == key), None)
    return list(listed.value) if listed is not None and listed.id == "sequence" else []


def _lines(node: Any) -> tuple[int, int]:
    return node.start_mark.line + 1, node.end_mark.line + (node.end_mark.column > 0)


def waivers(contents: Contents) -> tuple[list[Held], list[Finding]]:
    """Return the waivers in the files' comments, and what is wrong with them."""
    files = {file.name: file for file, _ in contents.nodes if "watchkeeper:" in file.text}
    if not files:
        return [], []
    from watchkeeper.checks import ids
    from watchkeeper.read.comments import comments
    from watchkeeper.waivers.comments import of_file

    held: list[Held] = []
    findings: list[Finding] = []
    lines = _ranges(contents)
    for name, file in files.items():
        more, faults = of_file(file, comments(file), lines.get(name, []), ids())
        held += more
        findings += faults
    return held, findings
