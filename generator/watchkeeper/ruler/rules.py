"""Rules as they are evaluated, read from the plain data of a rule file.

Checked as Prometheus checks a rule file when it loads it (rulefmt): unknown keys, names, durations, PromQL, templates.
"""

from __future__ import annotations

import re

from watchkeeper.promql import ParseError, parse
from watchkeeper.promql.durations import DurationError, parse_duration

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from typing import Any

    from watchkeeper.findings import Place
    from watchkeeper.promql.nodes import Expr

ALERT = "alert"
RECORD = "record"

# Templates that are surely right; others are parsed. Loading the template language takes longer than many a test.
_PLAIN_TEMPLATE = (
    r"(?:[^{]|\{(?!\{)|\{\{ *(?:(?:\$labels|\.Labels)\.[A-Za-z_][A-Za-z0-9_]*|\$value|\.Value)"
    r"(?: *\| *(?:humanize(?:1024|Duration|Percentage|Timestamp)?|title|toUpper|toLower|stripPort))* *\}\}"
    r'|\{\{ *printf "[^"\\{}]*" +(?:\$value|\$labels\.[A-Za-z_][A-Za-z0-9_]*) *\}\})*'
)

_FILE_KEYS = ("groups",)
_GROUP_KEYS = ("name", "interval", "query_offset", "limit", "rules", "labels")
_RULE_KEYS = ("record", "alert", "expr", "for", "keep_firing_for", "labels", "annotations")


class Fault:
    """What is wrong with a file, and where: lines count from 1, 0 where none is known."""

    __slots__ = ("file", "line", "message")

    def __init__(self, message: str, file: str = "", line: int = 0) -> None:
        self.message = message
        self.file = file
        self.line = line

    def __str__(self) -> str:
        place = ":".join(str(part) for part in (self.file, self.line) if part)
        return f"{place}: {self.message}" if place else self.message


class RuleError(ValueError):
    """A rule file that can't be used; `faults` tell each thing that is wrong with it."""

    def __init__(self, faults: list[Fault]) -> None:
        super().__init__("\n".join(map(str, faults)))
        self.faults = faults


class Rule:
    """One rule. `kind` is "alert" or "record"; `labels` hold the group's too; `expr` is the text of `tree`.

    `for_ms` and `keep_firing_ms` are in milliseconds. `file` and `line` say where it is written.
    """

    __slots__ = ("annotations", "expr", "file", "for_ms", "keep_firing_ms", "kind", "labels", "line", "name", "tree")

    def __init__(  # noqa: PLR0917  (data, given by name)
        self,
        kind: str,
        name: str,
        expr: str,
        tree: Expr,
        for_ms: int = 0,
        keep_firing_ms: int = 0,
        labels: Mapping[str, str] | None = None,
        annotations: Mapping[str, str] | None = None,
        file: str = "",
        line: int = 0,
    ) -> None:
        self.kind = kind
        self.name = name
        self.expr = expr
        self.tree = tree
        self.for_ms = for_ms
        self.keep_firing_ms = keep_firing_ms
        self.labels: Mapping[str, str] = labels or {}
        self.annotations: Mapping[str, str] = annotations or {}
        self.file = file
        self.line = line

    @property
    def place(self) -> Place:
        """Where the rule is written."""
        from watchkeeper.findings import Place

        return Place(self.file, self.line)

    @property
    def is_alert(self) -> bool:
        """Whether it is an alerting rule."""
        return self.kind == ALERT

    def __repr__(self) -> str:
        return f"Rule({self.kind} {self.name}: {self.expr})"


class RuleGroup:
    """Rules evaluated one after the other. `interval_ms` 0 is the default; `limit` 0 is none."""

    __slots__ = ("file", "interval_ms", "labels", "limit", "name", "query_offset_ms", "rules")

    def __init__(  # noqa: PLR0917  (data, given by name)
        self,
        name: str,
        rules: list[Rule],
        interval_ms: int = 0,
        limit: int = 0,
        query_offset_ms: int = 0,
        labels: Mapping[str, str] | None = None,
        file: str = "",
    ) -> None:
        self.name = name
        self.rules = rules
        self.interval_ms = interval_ms
        self.limit = limit
        self.query_offset_ms = query_offset_ms
        self.labels: Mapping[str, str] = labels or {}
        self.file = file

    def __repr__(self) -> str:
        return f"RuleGroup({self.name}, {len(self.rules)} rules)"


def groups_of(document: Mapping[str, Any], file: str = "") -> list[RuleGroup]:
    """The groups in a rule file. Mappings that know the `lines` of their keys make errors tell them.

    Raises RuleError with all that is wrong.
    """
    reader = _Reader(file)
    groups = reader.groups(document)
    if reader.faults:
        raise RuleError(reader.faults)
    return groups


class _Reader:
    def __init__(self, file: str) -> None:
        self.file = file
        self.faults: list[Fault] = []

    def fault(self, message: str, where: Any = None, key: str | None = None) -> None:
        self.faults.append(Fault(message, self.file, line_of(where, key)))

    def groups(self, document: Any) -> list[RuleGroup]:
        if document is None:
            return []
        if not isinstance(document, dict):
            self.fault("a rule file is a mapping with the key groups", document)
            return []
        self.unknown(document, _FILE_KEYS, "a rule file")
        found = []
        names: dict[str, int] = {}
        for number, group in enumerate(self.list_(document, "groups"), 1):
            if not isinstance(group, dict):
                self.fault(f"group {number} is no mapping", document, "groups")
                continue
            self.unknown(group, _GROUP_KEYS, "a group")
            name = self.text(group, "name")
            if not name:
                self.fault(f"group {number} has no name", group)
            elif name in names:
                self.fault(f'the group name "{name}" is repeated in one file', group, "name")
            names[name] = number
            found.append(self.group(group, name))
        return found

    def group(self, group: dict[str, Any], name: str) -> RuleGroup:
        labels = self.strings(group, "labels", f'group "{name}"')
        self.label_names(labels, group, f'group "{name}"')
        rules = []
        for number, rule in enumerate(self.list_(group, "rules"), 1):
            if not isinstance(rule, dict):
                self.fault(f'rule {number} of group "{name}" is no mapping', group, "rules")
                continue
            made = self.rule(rule, labels, f'group "{name}", rule {number}')
            if made is not None:
                rules.append(made)
        return RuleGroup(
            name,
            rules,
            self.duration(group, "interval"),
            self.integer(group, "limit"),
            self.duration(group, "query_offset"),
            labels,
            self.file,
        )

    def rule(self, rule: dict[str, Any], group_labels: dict[str, str], where: str) -> Rule | None:
        self.unknown(rule, _RULE_KEYS, "a rule")
        record, alert = self.text(rule, "record"), self.text(rule, "alert")
        if record and alert:
            self.fault(f"{where}: only one of record and alert may be set", rule)
        if not record and not alert:
            self.fault(f"{where}: one of record and alert must be set", rule)
            return None
        name = alert or record
        where = f'{where}, "{name}"'
        expr = self.text(rule, "expr")
        labels = self.strings(rule, "labels", where)
        annotations = self.strings(rule, "annotations", where)
        self.label_names(labels, rule, where)
        for_ms, keep_ms = self.duration(rule, "for"), self.duration(rule, "keep_firing_for")
        if record:
            for key, given in (("annotations", annotations), ("for", for_ms), ("keep_firing_for", keep_ms)):
                if given:
                    self.fault(f"{where}: a recording rule has no {key}", rule, key)
            if "{" in record or "}" in record:
                self.fault(f"{where}: braces in the name of a recording rule; is the name a selector?", rule, "record")
        else:
            for text in (*labels.values(), *annotations.values()):
                self.template(text, name, rule, where)
        if not expr:
            self.fault(f"{where}: the rule has no expr", rule)
            return None
        try:
            tree = parse(expr)
        except ParseError as error:
            self.fault(f"{where}: could not parse expression: {error}", rule, "expr")
            return None
        return Rule(
            ALERT if alert else RECORD,
            name,
            expr,
            tree,
            for_ms,
            keep_ms,
            {**group_labels, **labels} if group_labels else labels,
            annotations,
            self.file,
            line_of(rule, "alert" if alert else "record"),
        )

    def template(self, text: str, alert: str, rule: dict[str, Any], where: str) -> None:
        if "{{" not in text or re.fullmatch(_PLAIN_TEMPLATE, text):
            return
        from watchkeeper.ruler.template import Template, TemplateError

        try:
            Template(text, alert=alert)
        except TemplateError as error:
            self.fault(f"{where}: {error}", rule, "annotations" if "annotations" in rule else "labels")

    def label_names(self, labels: Mapping[str, str], rule: dict[str, Any], where: str) -> None:
        for name in labels:
            if not name or name == "__name__":
                self.fault(f'{where}: invalid label name "{name}"', rule, "labels")

    def unknown(self, mapping: dict[str, Any], known: Collection[str], what: str) -> None:
        for key in mapping:
            if key not in known:
                from watchkeeper.findings import nearest

                self.fault(f'{what} has no field "{key}"{nearest(str(key), list(known))}', mapping, key)

    def text(self, mapping: dict[str, Any], key: str) -> str:
        value = mapping.get(key)
        if value is None:
            return ""
        if isinstance(value, (dict, list)):
            self.fault(f"{key} must be a string", mapping, key)
            return ""
        return value if isinstance(value, str) else _plain(value)

    def list_(self, mapping: dict[str, Any], key: str) -> list[Any]:
        value = mapping.get(key)
        if value is None or value == "":
            return []
        if not isinstance(value, list):
            self.fault(f"{key} must be a list", mapping, key)
            return []
        return value

    def strings(self, mapping: dict[str, Any], key: str, where: str) -> dict[str, str]:
        value = mapping.get(key)
        if value is None or value == "":
            return {}
        if not isinstance(value, dict):
            self.fault(f"{where}: {key} must be a mapping", mapping, key)
            return {}
        found = {}
        for name in value:
            text = value[name]
            if isinstance(text, (dict, list)):
                self.fault(f"{where}: {key}.{name} must be a string", value, name)
                continue
            found[str(name)] = text if isinstance(text, str) else "" if text is None else _plain(text)
        return found

    def duration(self, mapping: dict[str, Any], key: str) -> int:
        text = self.text(mapping, key)
        if text in ("", "0"):
            return 0
        try:
            return parse_duration(text)
        except DurationError as error:
            self.fault(f"{key}: {error}", mapping, key)
            return 0

    def integer(self, mapping: dict[str, Any], key: str) -> int:
        text = self.text(mapping, key)
        try:
            return int(text or 0)
        except ValueError:
            self.fault(f"{key} must be a whole number, not {text}", mapping, key)
            return 0


def _plain(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def line_of(mapping: Any, key: str | None = None) -> int:
    """The line of a mapping's key, or of its start; 0 where that is not known."""
    lines = getattr(mapping, "lines", None)
    if not lines:
        return 0
    return int(lines.get(key, getattr(mapping, "line", 0)))
