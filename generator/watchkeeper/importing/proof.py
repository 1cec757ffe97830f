"""The proof of an import: the module is run, and what its pack renders to is held against what was read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from watchkeeper.importing.module import whole
from watchkeeper.render.rules import rule_file

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from watchkeeper.model import Group as GroupDefinition
    from watchkeeper.pack import Pack
    from watchkeeper.settings import Settings
    from watchkeeper.subject import Group, Rule


def pack_of(text: str, path: str, name: str) -> Pack:
    """Run the text of a module, which will lie at the path and be imported by the name; return its pack."""
    names: dict[str, Any] = {"__name__": name}
    exec(compile(text, path, "exec"), names)  # noqa: S102 - we wrote it: literals, and calls of our own classes
    pack: Pack = names["PACK"]
    return pack


def differing(groups: Sequence[Group], definitions: Sequence[GroupDefinition], settings: Settings) -> str:
    """Return the name of the first group or rule that renders to something else than was read, empty if none does."""
    if len(groups) != len(definitions):
        return "the number of groups"
    for group, definition in zip(groups, definitions, strict=True):
        (rendered,) = rule_file(definition, settings, {})["groups"]
        read = group_data(group)
        for one, other in zip(read["rules"], rendered["rules"], strict=False):
            if one != other:
                return f"group {group.name.value}, rule {one.get('alert', one.get('record'))}"
        if read != rendered:
            return f"group {group.name.value}"
    return ""


def group_data(group: Group) -> dict[str, Any]:
    """Return a group that was read as the plain data that a rule file of ours has."""
    data: dict[str, Any] = {"name": group.name.value}
    for key, text in (("interval", group.interval), ("query_offset", group.query_offset)):
        if text and text.value:
            data[key] = text.value
    if group.limit and (limit := whole(group.limit.value)):
        data["limit"] = limit
    if group.labels:
        data["labels"] = {name: text.value for name, text in group.labels.items()}
    return {**data, "rules": [rule_data(rule) for rule in group.rules]}


def rule_data(rule: Rule) -> dict[str, Any]:
    """Return a rule that was read as the plain data that a rule file of ours has."""
    data: dict[str, Any] = {"alert" if rule.is_alert else "record": rule.name.value, "expr": rule.expression.text}
    for key, text in (("for", rule.for_), ("keep_firing_for", rule.keep_firing_for)):
        if rule.is_alert and text and text.value:  # a recording rule may say `for: 0s`, which is nothing
            data[key] = text.value
    for key, texts in (("labels", rule.labels), ("annotations", rule.annotations)):
        if texts:
            data[key] = {name: text.value for name, text in texts.items()}
    return data
