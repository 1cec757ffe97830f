"""The Python module of a rule file: a constant for each rule, a group for each group, and a pack of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from watchkeeper.importing.constants import Constants
from watchkeeper.importing.literals import WIDTH, argument, literal, width
from watchkeeper.importing.notes import Notes
from watchkeeper.model import Severity
from watchkeeper.subject import Expression, Group

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from watchkeeper.read.comments import Comment
    from watchkeeper.read.source import File
    from watchkeeper.subject import Rule, Text
    from watchkeeper.waivers import Waiver

_INDENT = "    "
_WAIVED = "WAIVED"  # the constant for what is waived in the whole file
_SEVERITIES = {str(severity): f"Severity.{severity.name}" for severity in Severity}
# Labels and annotations that are fields of an alert; an empty one stays what it is, for a field says nothing then.
_LABELS = ("severity", "priority", "team")
_ANNOTATIONS = ("summary", "description", "reason")


def module(file: File, groups: Sequence[Group], comments: Sequence[Comment], origin: str) -> str:
    """Return the text of the module. `origin` says in its first line what was imported."""
    return _Writer(Notes(file, groups, comments)).module(groups, origin)


class _Argument:
    """An argument of a call, with the comma. It is `plain` where it can stand on one line with others."""

    __slots__ = ("lines", "plain")

    def __init__(self, lines: list[str], *, commented: bool = False) -> None:
        self.lines = lines
        self.plain = len(lines) == 1 and not commented


class _Writer:
    def __init__(self, notes: Notes) -> None:
        self.notes = notes
        self.constants = Constants("PACK", _WAIVED)
        self.imported = {"Pack"}

    def module(self, groups: Sequence[Group], origin: str) -> str:
        blocks: list[list[str]] = []
        names = []
        for group in groups:
            self.imported.add("Group")
            rules = []
            for rule in group.rules:
                rules.append(self.constants.take(rule.name.value, "ALERT" if rule.is_alert else "RECORDING"))
                blocks.append([*self.notes.above.get(rule, ()), *self.rule(rule, rules[-1])])
            if below := self.notes.below.get(group):
                blocks.append(below)
            name = "GROUP" if len(groups) == 1 else self.constants.take(group.name.value, "RULES", "_GROUP")
            names.append(name)
            blocks.append([*self.notes.above.get(group, ()), *self.group(group, name, rules)])
        blocks.append(_call("PACK", "Pack", [_listed("groups=", names, "()")]))
        if self.notes.tail:
            blocks.append(self.notes.tail)
        if self.notes.waived:
            self.imported.add("Waiver")
            blocks.insert(0, _waivers(f"{_WAIVED} = ", self.notes.waived, ""))
        head = [[f'"""{origin}"""'], *([self.notes.head] if self.notes.head else [])]
        imports = [f"from watchkeeper import {', '.join(sorted(self.imported))}"]
        return "\n\n".join("\n".join(block) for block in (*head, imports, *blocks)) + "\n"

    def rule(self, rule: Rule, constant: str) -> list[str]:
        """Return the lines of a rule's definition."""
        arguments = [self.text("", rule.name)]
        if not rule.is_alert:
            self.imported.add("Recording")
            arguments += [self.text("", rule.expression), *self.mapping("labels", rule.labels), *self.waivers(rule)]
            return _call(constant, "Recording", arguments, self.notes.below.get(rule, ()))
        self.imported.add("Alert")
        arguments.append(self.text("expr=", rule.expression))
        if rule.for_:
            arguments.append(self.text("for_=", rule.for_))
        if rule.keep_firing_for:
            arguments.append(self.text("keep_firing_for=", rule.keep_firing_for))
        labels, annotations = dict(rule.labels), dict(rule.annotations)
        arguments += self.fields(labels, _LABELS, ("severity", "team"))
        arguments += self.fields(annotations, _ANNOTATIONS, ("summary",))
        arguments += [*self.mapping("labels", labels), *self.mapping("annotations", annotations)]
        arguments += self.waivers(rule)
        return _call(constant, "Alert", arguments, self.notes.below.get(rule, ()), spread=True)

    def fields(self, texts: dict[str, Text], names: Sequence[str], required: Sequence[str]) -> Iterator[_Argument]:
        """Yield the arguments that are fields of an alert, and take them from the texts."""
        for name in names:
            if name in texts and texts[name].value:
                text = texts.pop(name)
                severity = _SEVERITIES.get(text.value) if name == "severity" else None
                if severity:
                    self.imported.add("Severity")
                yield self.text(f"{name}=", text, severity)
            elif name in required:
                yield _Argument([f'{_INDENT}{name}="",'])

    def group(self, group: Group, constant: str, rules: Sequence[str]) -> list[str]:
        """Return the lines of a group's definition."""
        arguments = [self.text("", group.name), _listed("", rules, "[]")]
        if group.interval:
            arguments.append(self.text("interval=", group.interval))
        if group.query_offset:
            arguments.append(self.text("query_offset=", group.query_offset))
        if group.limit:
            arguments.append(self.text("limit=", group.limit, str(whole(group.limit.value))))
        arguments += [*self.mapping("labels", group.labels), *self.waivers(group)]
        return _call(constant, "Group", arguments)

    def mapping(self, field: str, texts: Mapping[str, Text]) -> Iterator[_Argument]:
        """Yield the argument for labels or annotations, if there are any."""
        if not texts:
            return
        one = ", ".join(f"{literal(name)}: {literal(text.value)}" for name, text in texts.items())
        line = f"{_INDENT}{field}={{{one}}},"
        items = [self.text(f"{literal(name)}: ", text, indent=_INDENT * 2) for name, text in texts.items()]
        if all(item.plain for item in items) and width(line) <= WIDTH:
            yield _Argument([line])
        else:
            inner = (line for item in items for line in item.lines)
            yield _Argument([f"{_INDENT}{field}={{", *inner, f"{_INDENT}}},"])

    def waivers(self, owner: Rule | Group) -> Iterator[_Argument]:
        """Yield the argument for what is waived, if anything is."""
        own = self.notes.waivers.get(owner, [])
        shared = [f"*{_WAIVED}"] if self.notes.waived and isinstance(owner, Group) else []
        if own:
            self.imported.add("Waiver")
            yield _Argument(_waivers(f"{_INDENT}waivers=", own, ",", shared))
        elif shared:
            yield _Argument([f"{_INDENT}waivers={_WAIVED},"])

    def text(self, head: str, text: Text | Expression, code: str | None = None, indent: str = _INDENT) -> _Argument:
        """Return an argument or an item with its comments; `code` is what stands there instead of a literal."""
        value = text.text if isinstance(text, Expression) else text.value
        lines = argument(head, value, indent) if code is None else [f"{indent}{head}{code},"]
        above = [f"{indent}{comment}".rstrip() for comment in self.notes.above.get(text, ()) if comment]
        behind = self.notes.behind.get(text)
        if behind and len(lines) == 1 and width(f"{lines[0]}  {behind}") <= WIDTH:
            lines = [f"{lines[0]}  {behind}"]
        elif behind:
            above.append(indent + behind)
        return _Argument([*above, *lines], commented=bool(behind))


def whole(text: str) -> int:
    """Return a whole number as Go's YAML reads it: `10`, `1_000`, `0x10`, `1e3`, and `010`, which is 8."""
    digits = text.replace("_", "")
    unsigned = digits.lstrip("+-")
    if unsigned.isdigit() and unsigned.startswith("0") and not set("89") & set(unsigned):
        return int(digits, 8)
    try:
        return int(digits, 0)
    except ValueError:
        return int(float(digits))


def _listed(head: str, names: Sequence[str], brackets: str) -> _Argument:
    """Return the argument that is a list or a tuple of constants."""
    opens, closes = brackets[0], brackets[1]
    comma = "," if brackets == "()" and len(names) == 1 else ""
    line = f"{_INDENT}{head}{opens}{', '.join(names)}{comma}{closes},"
    if width(line) <= WIDTH:
        return _Argument([line])
    return _Argument([f"{_INDENT}{head}{opens}", *(f"{_INDENT * 2}{name}," for name in names), f"{_INDENT}{closes},"])


def _waivers(head: str, waivers: Sequence[Waiver], end: str, shared: Sequence[str] = ()) -> list[str]:
    """Return a tuple of waivers, with what leads to it and what ends it."""
    items = [*shared, *(_waiver(waiver) for waiver in waivers)]
    line = f"{head}({', '.join(items)}{',' if len(items) == 1 else ''}){end}"
    if width(line) <= WIDTH:
        return [line]
    indent = head[: len(head) - len(head.lstrip())]
    inner = indent + _INDENT
    lines = [f"{inner}{item}," for item in shared]
    for waiver in waivers:
        one = f"{inner}{_waiver(waiver)},"
        if width(one) <= WIDTH:
            lines.append(one)
            continue
        until = [f'{inner}{_INDENT}until="{waiver.until}",'] if waiver.until else []
        reason = argument("reason=", waiver.reason, inner + _INDENT)
        lines += [f"{inner}Waiver(", f'{inner}{_INDENT}"{waiver.check}",', *reason, *until, f"{inner}),"]
    return [f"{head}(", *lines, f"{indent}){end}"]


def _waiver(waiver: Waiver) -> str:
    until = f', until="{waiver.until}"' if waiver.until else ""
    return f'Waiver("{waiver.check}", reason={literal(waiver.reason)}{until})'


def _call(
    constant: str, kind: str, arguments: Sequence[_Argument], below: Sequence[str] = (), *, spread: bool = False
) -> list[str]:
    """Return a definition, on one line where it fits and has no comments, unless it is to be spread."""
    lines = [line for one in arguments for line in one.lines]
    one = f"{constant} = {kind}({', '.join(line.strip()[:-1] for line in lines)})"
    if not spread and not below and all(argument.plain for argument in arguments) and width(one) <= WIDTH:
        return [one]
    return [f"{constant} = {kind}(", *lines, *(f"{_INDENT}{line}" for line in below if line), ")"]
