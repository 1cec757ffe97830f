"""Receivers of an Alertmanager configuration and what their integrations need. No secret of theirs is shown."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from watchkeeper.proof.routing import Receiver
from watchkeeper.read.alertmanager import keys as known
from watchkeeper.read.alertmanager.nodes import CONFIG, Nodes, is_null

if TYPE_CHECKING:
    from watchkeeper.read.alertmanager.nodes import Entries


def receivers(nodes: Nodes, top: Entries) -> dict[str, Receiver]:
    """Return the receivers by name; look at `global` too, since they fall back to it."""
    first = len(nodes.findings)
    defaults: set[str] = set()
    if "global" in top:
        entries = nodes.mapping(top["global"][1], known.GLOBAL, "global", open_ended=True)
        defaults = given(entries)
        _client(nodes, entries, "global")
        for name in known.keys(known.GLOBAL):
            if name in defaults and f"{name}_file" in defaults:
                nodes.fault(CONFIG, entries[name][0], f"global has both {name} and {name}_file", "keep one of them")
    nodes.secretly(first)
    found: dict[str, Receiver] = {}
    for node in nodes.items(top, "receivers", "mapping", "the configuration"):
        entries = nodes.mapping(node, known.RECEIVER, "a receiver")
        label = nodes.text(entries["name"][1]) if "name" in entries else nodes.place(node)
        if not label.value:
            nodes.fault(CONFIG, node, "a receiver without a name", "give it a name that routes can use")
        elif label.value in found:
            nodes.fault(CONFIG, entries["name"][1], f'receiver "{label.value}" is defined twice', "rename or merge one")
        first = len(nodes.findings)
        ways: list[str] = []
        for key in known.INTEGRATIONS:
            for item in nodes.items(entries, key, "mapping", "a receiver"):
                ways.append(key)
                _integration(nodes, key, item, defaults)
        nodes.secretly(first)
        found.setdefault(label.value, Receiver(label, tuple(ways)))
    return found


def given(entries: Entries) -> set[str]:
    """Return the keys that have a value."""
    return {name for name, (_, value) in entries.items() if value.value and not is_null(value)}


def _integration(nodes: Nodes, key: str, node: Any, defaults: set[str]) -> None:
    what = f"an entry of {key}"
    entries = nodes.mapping(node, known.INTEGRATIONS[key], what, open_ended=True)
    _client(nodes, entries, what)
    written = Nodes(nodes.file).entries(node, what)  # those with a wrong value too: that has been told
    here = given(written)
    for need in known.NEEDS[key]:
        own, _, fallback = need.partition("|")
        choices = own.split()
        if here.isdisjoint(choices) and defaults.isdisjoint(fallback.split()):
            also = f", or {fallback.split()[0]} in global" if fallback else ""
            nodes.fault(CONFIG, node, f"{what} has no {' or '.join(choices)}", f"add {choices[0]}{also}")
    for name in sorted(here):
        if f"{name}_file" in here and name != "chat_id":
            nodes.fault(CONFIG, written[name][0], f"{what} has both {name} and {name}_file", "keep one of them")


def _client(nodes: Nodes, entries: Entries, what: str) -> None:
    """Look into `http_config` and into the TLS settings."""
    inner = entries
    if "http_config" in entries:
        inner = nodes.mapping(entries["http_config"][1], known.HTTP, f"http_config of {what}", open_ended=True)
    for source, name in ((inner, "tls_config"), (entries, "smtp_tls_config")):
        if name in source:
            nodes.mapping(source[name][1], known.TLS, f"{name} of {what}", open_ended=True)
