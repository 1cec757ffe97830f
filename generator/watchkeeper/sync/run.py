"""A run of a sync: what a project wants at each of its servers, what would be done there, and doing it."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from watchkeeper.sync import grafana_rules
from watchkeeper.sync.alert_groups import ALERT_GROUP, AlertGroup, from_file
from watchkeeper.sync.apply import KINDS, apply
from watchkeeper.sync.grafana import DELETES, READS, WRITES, connect
from watchkeeper.sync.http import Client
from watchkeeper.sync.judge import DASHBOARD, FOLDER, conflict, judge, named
from watchkeeper.sync.objects import Dashboard, Folder, Refused
from watchkeeper.sync.plan import is_drift, plan
from watchkeeper.sync.rule_groups import RULE_GROUP, RuleGroup
from watchkeeper.sync.ruler import MARKS, Ruler
from watchkeeper.sync.secret import GRAFANA, RULER, token_from

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from watchkeeper.settings import Settings
    from watchkeeper.sync.apply import Outcome
    from watchkeeper.sync.audit import Audit
    from watchkeeper.sync.judge import Kind
    from watchkeeper.sync.objects import Change, Server, Thing

__all__ = ["Made", "Remote", "Result", "applied", "boards", "planned", "remotes"]


ALERTS_FILE = "deploy/grafana/alerting/rules.yaml"  # of the output grafana-alerts
ALERTS_FOLDER = "watchkeeper-alerts"  # the uid, where the settings have no folder of that title


@dataclass(frozen=True)
class Made:
    """What a project has become, as far as a sync brings it somewhere: its files, and its rule files as data."""

    settings: Settings
    folder_of: Mapping[str, str]  # of dashboards, by uid
    files: Mapping[str, str]
    groups: Sequence[Mapping[str, Any]]


@dataclass(frozen=True)
class Remote:
    """A server, the kinds of objects that are brought there, and what is wanted there, by kind.

    `obstacle` returns why a wanted object can't be written, whatever is live under its uid; empty where it can.
    """

    url: str
    owner: str
    server: Server
    kinds: Mapping[str, Kind]
    wanted: Mapping[str, Sequence[Thing]]
    obstacle: Callable[[Any], str] = lambda _wanted: ""


@dataclass(frozen=True)
class Result:
    """What is to be done at a server, and what came of it where it was done."""

    remote: Remote
    changes: Sequence[Change]
    outcomes: Sequence[Outcome] = field(default=())

    @property
    def drifted(self) -> bool:
        """Whether the server differs from the definitions."""
        return any(is_drift(change) for change in self.changes)


def remotes(
    made: Made,
    environment: Mapping[str, str],
    ca_file: str,
    *,
    writes: bool,
    deletes: bool,
    at_end: Callable[[Callable[[], None]], object],
) -> list[Remote]:
    """Return the servers that the settings name, after asking each whether the token may do what is needed.

    `at_end` is told what closes the connections.
    """
    options = made.settings.sync
    found: list[Remote] = []
    if options and options.grafana_url:
        client = Client(options.grafana_url, token_from(GRAFANA, environment), ca_file=ca_file)
        at_end(client.close)
        rights = (DELETES if deletes else WRITES) if writes else READS
        target = made.settings.targets.grafana
        server = connect(client, options.owner, target=target, rights=rights)
        folders = dict(made.settings.folders)
        alerts = _alerts(made)
        if alerts:
            folder, groups = alerts
            folders.setdefault(folder.uid, folder)
        wanted: dict[str, Sequence[Thing]] = {"folder": tuple(folders.values()), "dashboard": boards(made)}
        found.append(Remote(client.url, options.owner, server, KINDS, wanted))
        if alerts:
            rules = grafana_rules.connect(client, options.owner, writes=writes)
            remote = _one_kind(client.url, options.owner, rules, ALERT_GROUP, groups)
            found.append(replace(remote, obstacle=rules.obstacle))
    if options and options.ruler_url:
        client = Client(options.ruler_url, token_from(RULER, environment, required=False), ca_file=ca_file)
        at_end(client.close)
        ruler = Ruler(client, options.owner, options.ruler_namespace, options.ruler_tenant)
        named_ = [RuleGroup(group["name"], group) for group in made.groups]
        if any(group.uid == MARKS for group in named_):
            raise Refused("exists", f"a group of rules can't be called {MARKS}: the marks of a sync have this name")
        found.append(_one_kind(client.url, options.owner, ruler, RULE_GROUP, named_))
    return found


def _one_kind(url: str, owner: str, server: Server, kind: Kind, wanted: Sequence[Thing]) -> Remote:
    return Remote(url, owner, server, {kind.name: kind}, {kind.name: wanted})


def _alerts(made: Made) -> tuple[Folder, list[AlertGroup]] | None:
    """Return the groups of Grafana's own alert rules, where the settings choose them, and the folder they are in."""
    chosen = made.settings.outputs.get("grafana-alerts")
    if chosen is None:
        return None
    import yaml

    folders = made.settings.folders.values()
    folder = next((one for one in folders if one.title == chosen.folder and not one.parent), None)
    folder = folder or Folder(ALERTS_FOLDER, chosen.folder)
    document = yaml.safe_load(made.files[ALERTS_FILE])
    return folder, from_file(document, folder.uid, made.settings.targets.grafana)


def boards(made: Made) -> list[Dashboard]:
    """Return the dashboards, read from their generated files."""
    found = []
    for uid, folder in made.folder_of.items():
        model = json.loads(made.files[f"dashboards/{uid}.json"])
        found.append(Dashboard(uid, model.get("title") or uid, folder, model))
    return found


def planned(
    remote: Remote, *, prune: bool = False, only: Collection[str] = (), overwrite: Collection[str] = ()
) -> list[Change]:
    """Return what is to be done at a server, unchanged objects included.

    `prune` does not delete all that there is of a kind, unless `only` names it: a pack without any is seldom meant.
    """
    owner = remote.owner
    wanted = [thing for things in remote.wanted.values() for thing in things]
    if remote.kinds is KINDS:
        live = [
            one
            for kind, things in remote.wanted.items()
            for one in remote.server.list(kind, {thing.uid for thing in things})
        ]
        things = [thing for thing in wanted if isinstance(thing, (Folder, Dashboard))]
        spared = prune and not only and not remote.wanted[DASHBOARD.name]
        changes = plan(things, live, owner, prune=prune and not spared, only=only, overwrite=overwrite)
        return [_spared(change) for change in changes] if spared else changes
    found = []
    for kind in remote.kinds.values():
        wants = {thing.uid: thing for thing in remote.wanted[kind.name]}
        lives = {one.object.uid: one for one in remote.server.list(kind.name, wants.keys())}
        spared = prune and not only and not wants
        for uid in sorted(wants.keys() | lives.keys()):
            said = wants[uid] if uid in wants else lives[uid].object
            if not only or named(only, said):
                forced = named(overwrite, said)
                change = judge(
                    kind, wants.get(uid), lives.get(uid), owner, prune=prune and not spared, overwrite=forced
                )
                if change and change.writes and change.wanted and (why := remote.obstacle(change.wanted)):
                    change = conflict(change, why)
                if change:
                    found.append(_spared(change) if spared else change)
    return found


def _spared(change: Change) -> Change:
    """Return a conflict for what `prune` would have deleted; a folder goes only when it is empty, and may stay."""
    if change.action != "orphan" or change.kind == FOLDER.name or not (change.live and change.live.applied):
        return change
    how = f"no {change.kind} at all is in the definitions: if all are to go, name them with --only"
    return conflict(change, *change.detail, how)


def applied(result: Result, audit: Audit, progress: Callable[[Outcome], None] = lambda _outcome: None) -> Result:
    """Make the changes, and return the result with what came of them."""
    remote = result.remote
    outcomes = apply(result.changes, remote.server, remote.owner, kinds=remote.kinds, audit=audit, progress=progress)
    return Result(remote, result.changes, outcomes)
