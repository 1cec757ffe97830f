"""Rule files as checks see them: the groups in a file, and what keeps Prometheus from loading it.

What is refused is what `promtool check rules` of Prometheus 3 refuses (model/rulefmt), with the places of it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from watchkeeper.names import milliseconds
from watchkeeper.read.loader import is_null
from watchkeeper.read.structure import KEY, VALUE, Reader
from watchkeeper.subject import Expression, Group, Rule, Text

if TYPE_CHECKING:
    from watchkeeper.findings import Finding
    from watchkeeper.read.source import File

    Node = Any

__all__ = ["rule_groups"]

_FILE = ("groups",)
# The last is Thanos' alone: rule files of its ruler look no different, and the operator takes it.
_GROUP = ("name", "interval", "query_offset", "limit", "labels", "rules", "partial_response_strategy")
_RULE = dict.fromkeys(("alert", "record", "expr", "for", "keep_firing_for", "labels", "annotations"))
_WHY = "Prometheus refuses the file"

# What Mimir knows besides: its files have a namespace.
_MIMIR = ("source_tenants", "evaluation_delay", "align_evaluation_time_on_interval", "remote_write")

# What Go's YAML reads as an integer, or as a number without a fraction.
_INTEGER = re.compile(
    r"[-+]?(?:0x[0-9a-fA-F_]+|0b[01_]+|0o[0-7_]+|[0-9][0-9_]*(?:\.0*)?|\d+(?:\.\d+)?[eE][-+]?\d+)\Z", re.ASCII
)
_LARGEST = 2**63 - 1


def rule_groups(node: Node, file: File) -> tuple[list[Group], list[Finding]]:
    """Return the groups of a mapping with the key `groups`, and what is wrong with it."""
    reader = _Rules(file, _WHY)
    if node.id == "scalar" and is_null(node):
        return [], []
    if node.id != "mapping":
        reader.fault(
            VALUE, "a rule file is a mapping with the key groups", node, fix='write "groups:" above the groups'
        )
        return [], reader.findings
    known: tuple[str, ...] = _FILE
    if any(key.value == "namespace" for key, _ in node.value):
        known = (*_FILE, "namespace")
        reader.group_keys += _MIMIR
    return reader.groups(reader.fields(node, known, "a rule file").get("groups"), node), reader.findings


class _Rules(Reader):
    def __init__(self, file: File, why: str) -> None:
        super().__init__(file, why)
        self.group_keys: tuple[str, ...] = _GROUP
        self.durations = {"0"}  # those that are right: few, and often repeated

    def groups(self, node: Node | None, parent: Node) -> list[Group]:
        items = self.items(node, "a rule file", "groups")
        if not items and not self.findings:
            fix = "leave the file out until it holds rules"
            self.fault(VALUE, "the file has no groups", node or parent, fix=fix, severity="warning")
        found = []
        names: dict[str, int] = {}
        for number, item in enumerate(items, 1):
            if item.id == "scalar" and is_null(item):
                self.fault(VALUE, f"group {number} is empty", item, fix="leave it out", severity="warning")
            elif item.id != "mapping":
                self.fault(VALUE, f"group {number} is no mapping", item, fix='begin it with "- name:"')
            else:
                found.append(self.group(item, number, names))
        return found

    def group(self, node: Node, number: int, names: dict[str, int]) -> Group:
        fields = self.fields(node, self.group_keys, f"group {number}")
        named = fields.get("name")
        name = self.text(named, f"group {number}", "name") if named else None
        if name is None or not name.value:
            if not named or name:
                fix = "give it one: alerts are found by it in the server's log and pages"
                self.fault(VALUE, f"group {number} has no name", named or node, fix=fix)
            name = Text("", self.span(named or node))
        elif name.value in names:
            message = f"group {name.value} is already there, on line {names[name.value]}"
            self.fault(VALUE, message, named, fix="put the rules into one group, or rename this one")
        else:
            names[name.value] = named.start_mark.line + 1 if named else 0
        what = f"group {name.value or number}"
        labels = self.strings(fields.get("labels"), what, "labels")
        self.label_names(fields.get("labels"), labels, what)
        group = Group(
            name,
            self.file.name,
            labels=labels,
            interval=self.duration(fields, "interval", what),
            query_offset=self.duration(fields, "query_offset", what),
            limit=self.limit(fields.get("limit"), what),
        )
        self.strategy(fields.get("partial_response_strategy"), what)
        items = self.items(fields.get("rules"), what, "rules")
        if not items and (fields.get("rules") is None or fields["rules"].id != "mapping"):
            self.fault(
                VALUE, f"{what} has no rules", node, fix="a style point: leave it out until it has", severity="note"
            )
        for n, item in enumerate(items, 1):
            if item.id == "scalar" and is_null(item):
                self.fault(VALUE, f"{what}: rule {n} is empty", item, fix="leave it out", severity="warning")
            elif item.id != "mapping":
                fix = 'begin it with "- alert:" or "- record:"'
                self.fault(VALUE, f"{what}: rule {n} is {'a text' if item.id == 'scalar' else 'a list'}", item, fix=fix)
            else:
                rule = self.rule(item, group, n)
                if rule is not None:
                    group.rules.append(rule)
        return group

    def rule(self, node: Node, group: Group, number: int) -> Rule | None:
        what = f"group {group.name.value}, rule {number}"
        fields = self.fields(node, _RULE, what)
        texts = {key: self.text(fields[key], what, key) for key in ("alert", "record", "expr") if key in fields}
        alert, record, expr = texts.get("alert"), texts.get("record"), texts.get("expr")
        name = alert if alert and alert.value else record if record and record.value else None
        if alert and record and alert.value and record.value:
            fix = "leave one of them: an alert's expression may have a recording rule of its own"
            self.fault(VALUE, f"{what} has both alert and record", fields["record"], fix=fix)
        if name is None:
            if None not in texts.values():
                self.fault(VALUE, f"{what} has neither alert nor record", node, fix="name it with alert or record")
            return None
        is_alert = name is alert
        what = f"{'alert' if is_alert else 'recording rule'} {name.value}"
        labels = self.strings(fields.get("labels"), what, "labels")
        if labels:
            self.label_names(fields["labels"], labels, what)
        annotations = self.strings(fields.get("annotations"), what, "annotations")
        for_ = self.duration(fields, "for", what)
        keep = self.duration(fields, "keep_firing_for", what)
        if not is_alert:
            if "{" in name.value or "}" in name.value:
                fix = "write the labels below labels; a selector belongs into expr"
                self.fault(VALUE, f"{what}: braces in a metric's name", fields["record"], fix=fix)
            alone = {"annotations": bool(annotations), "for": _lasts(for_), "keep_firing_for": _lasts(keep)}
            for key in (key for key, given in alone.items() if given):
                self.fault(KEY, f"{what}: {key} is for alerts alone", fields[key], fix="leave it out")
        if expr is None or not expr.value:
            if "expr" not in texts or expr:
                self.fault(
                    VALUE, f"{what} has no expr", fields.get("expr") or node, fix="give it the PromQL to evaluate"
                )
            return None
        return Rule(
            group,
            name,
            Expression(expr.value, what, expr.source),
            is_alert=is_alert,
            labels=labels,
            annotations=annotations,
            for_=for_,
            keep_firing_for=keep,
        )

    def label_names(self, node: Node | None, labels: dict[str, Text], what: str) -> None:
        for name in ("", "__name__"):
            if name in labels and node is not None:
                key = next((key for key, _ in node.value if key.value == name), node)
                fix = "record names the metric" if name else "name it"
                self.fault(KEY, f'{what}: "{name}" can\'t be the name of a label', key, fix=fix)

    def duration(self, fields: dict[str, Node], key: str, what: str) -> Text | None:
        node = fields.get(key)
        if node is None or (node.id == "scalar" and is_null(node)):
            return None
        text = self.text(node, what, key)
        if text is None or text.value in self.durations:
            return text
        if milliseconds(text.value) is not None:
            self.durations.add(text.value)
            return text
        fix = "write whole numbers and units, such as 5m or 1h30m, or leave it out"
        self.fault(VALUE, f'{what}: {key} is no duration: "{text.value}"', node, fix=fix)
        return None

    def limit(self, node: Node | None, what: str) -> Text | None:
        if node is None or (node.id == "scalar" and is_null(node)):
            return None
        text = self.text(node, what, "limit")
        if text is None or (not node.style and _is_integer(text.value)):
            return text
        written = f'"{text.value}"' if node.style else text.value
        self.fault(VALUE, f"{what}: limit is no whole number: {written}", node, fix="write digits, without quotes")
        return None

    def strategy(self, node: Node | None, what: str) -> None:
        text = self.text(node, what, "partial_response_strategy") if node else None
        if text and text.value.lower() not in ("", "abort", "warn"):
            self.fault(VALUE, f'{what}: no partial_response_strategy: "{text.value}"', node, fix="write abort or warn")


def _lasts(duration: Text | None) -> bool:
    return duration is not None and milliseconds(duration.value) != 0


def _is_integer(text: str) -> bool:
    if not _INTEGER.match(text):
        return False
    digits = text.replace("_", "")
    try:
        value = int(digits, 0)
    except ValueError:  # 017, 1.0, 1e3
        number = float(digits) if not digits.lower().lstrip("+-").startswith("0x") else 0.5
        return number.is_integer() and abs(number) < _LARGEST
    return abs(value) <= _LARGEST
