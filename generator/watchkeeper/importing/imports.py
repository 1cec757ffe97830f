"""Rule files in, modules out: what each becomes, where it goes, and the proof that nothing was lost."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from watchkeeper.building import build
from watchkeeper.checks import ids
from watchkeeper.findings import Finding, Place, sort
from watchkeeper.importing.constants import module_name
from watchkeeper.importing.module import module
from watchkeeper.importing.proof import differing, pack_of
from watchkeeper.pack import Pack
from watchkeeper.promql.errors import LimitError
from watchkeeper.read.comments import comments
from watchkeeper.read.files import Unreadable, load
from watchkeeper.read.kinds import BROKEN, RULES, parts
from watchkeeper.read.loader import is_merge
from watchkeeper.read.rules import rule_groups
from watchkeeper.read.source import Span
from watchkeeper.waivers.held import apply, of_definitions
from watchkeeper.walking import walk

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import date
    from typing import Any

    from watchkeeper.read.source import File
    from watchkeeper.settings import Settings
    from watchkeeper.subject import Group


_SUFFIXES = (".yml", ".yaml")
# What a group's definition can say: the rest is for other programs than Prometheus.
_GROUP = ("name", "interval", "query_offset", "limit", "labels", "rules")


class DiffersError(Exception):
    """A module that would not render back to what was read; `finding` says where."""

    def __init__(self, finding: Finding) -> None:
        super().__init__(finding.message)
        self.finding = finding


class Source:
    """A rule file that was read, and the path of its module below the folder that modules go to."""

    __slots__ = ("file", "groups", "path")

    def __init__(self, file: File, groups: list[Group], path: Path) -> None:
        self.file = file
        self.groups = groups
        self.path = path


class Module:
    """A module that was made: its path, its text, its pack, and how many rules and groups it has."""

    __slots__ = ("groups", "pack", "path", "rules", "text")

    def __init__(self, path: Path, text: str, pack: Pack) -> None:
        self.path = path
        self.text = text
        self.pack = pack
        self.groups = len(pack.groups)
        self.rules = sum(1 for _ in pack.rules)


def sources(names: Sequence[str]) -> tuple[list[Source], list[Finding]]:
    """Return the rule files among names and below folders, and all that is wrong with them.

    A file below a folder that holds no rules is passed over.
    """
    found: list[Source] = []
    findings: list[Finding] = []
    seen: set[str] = set()
    paths: set[Path] = set()
    for top in names:
        for name, named in _below(top):
            real = os.path.realpath(name)
            if real in seen:
                continue
            seen.add(real)
            try:
                file = load(name)
                groups, faults = _read(file, named=named)
            except Unreadable as error:
                findings.append(error.finding)
                continue
            findings += faults
            if groups:
                found.append(Source(file, groups, _free(_module_path(name, "" if named else top), paths)))
            elif named and not faults:
                fix = "name a rule file, which begins with `groups:`, or a PrometheusRule"
                findings.append(Finding("import/rules", "there are no rules in it", Place(name), fix=fix))
    return found, sort(findings)


def _below(top: str) -> Iterator[tuple[str, bool]]:
    """Yield the file itself, or the YAML files below the folder; and whether it was named."""
    if not Path(top).is_dir():
        yield top, True
        return
    for folder, files in walk(top):
        yield from ((str(Path(folder, name)), False) for name in files if Path(name).suffix in _SUFFIXES)


def _read(file: File, *, named: bool) -> tuple[list[Group], list[Finding]]:
    """Return a file's groups, and what is wrong with it; where it was not named itself, with the rules in it."""
    groups: list[Group] = []
    findings: list[Finding] = []
    for kind, node, faults in parts(file):
        if kind == RULES:
            found, more = rule_groups(node, file)
            groups += found
            findings += [*faults, *(more or _left_out(node, file))]
        elif named or kind == BROKEN:
            findings += faults
    for group in groups:
        for rule in group.rules:
            error = rule.expression.error
            if error and not isinstance(error, LimitError):  # a limit of ours changes no text
                why, where = "Prometheus refuses the file", (error.position, error.end)
                findings.append(rule.expression.finding("promql/syntax", error.message, *where, why=why))
    return groups, findings


def _left_out(node: Any, file: File) -> Iterator[Finding]:
    """Yield a warning for each key of valid rules that definitions can't say, such as Thanos' of a group."""
    yield from _unknown(node, ("groups",), "the file", file)
    for groups in _values(node, "groups"):
        for group in groups.value:
            yield from _unknown(group, _GROUP, "the group", file)


def _values(node: Any, name: str) -> list[Any]:
    return [value for key, value in node.value if key.value == name]


def _unknown(node: Any, known: Sequence[str], owner: str, file: File) -> Iterator[Finding]:
    for key, _ in node.value:
        if key.value not in known and not is_merge(key):
            place, excerpt = Span(file, key.start_mark.index, key.end_mark.index).at()
            what = f"{key.value} of {owner} is left out"
            why = "definitions have no such field, and what they render to lacks it"
            yield Finding("import/lost", what, place, excerpt, why, severity="warning")


def _module_path(name: str, top: str) -> Path:
    """Return the path of a file's module: below a folder that was named, the files keep their folders."""
    path = Path(os.path.relpath(name, top)) if top else Path(Path(name).name)
    stem = path.name
    while (shorter := Path(stem).stem) != stem and Path(stem).suffix in _SUFFIXES:
        stem = shorter
    return Path(*(module_name(part) for part in path.parts[:-1]), f"{module_name(stem)}.py")


def _free(path: Path, taken: set[Path]) -> Path:
    free, number = path, 2
    while free in taken:
        free = path.with_name(f"{path.stem}_{number}.py")
        number += 1
    taken.add(free)
    return free


def made(source: Source, path: Path, settings: Settings) -> Module:
    """Return the module of a file, which will lie at the path.

    Raises:
        DiffersError: it would not render back to the same rules, which is a fault of ours.
    """
    text = module(source.file, source.groups, comments(source.file), f"Rules imported from {_shown(source.file.name)}.")
    pack = pack_of(text, str(path), path.stem)
    different = differing(source.groups, pack.groups, settings)
    if different:
        message = f"{different} would not be what it is in the file"
        raise DiffersError(Finding("import/differs", message, Place(source.file.name), fix="report this file to us"))
    return Module(path, text, pack)


def _shown(name: str) -> str:
    """Return a file's name without what would end a docstring."""
    return "".join(c if c.isprintable() and c not in '"\\' else "_" for c in Path(name).name)


def to_do(modules: Sequence[Module], settings: Settings, today: date) -> list[Finding]:
    """Return what keeps `watchkeeper generate` from taking the packs, all together."""
    pack = Pack(place=Place("")).add(*(one.pack for one in modules))
    _, findings = build(pack, settings)
    held, faults = of_definitions(pack, ids())
    kept, _ = apply([*findings, *faults], held, today)
    return kept
