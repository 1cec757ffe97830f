"""What a check is about, and where its page is."""

from __future__ import annotations

from importlib import import_module

from watchkeeper.checks import COMMANDS, NAMES, OTHERS

PAGES = "docs/checks/"


def about(check: str) -> str:
    """Return in one line what findings of this id are about."""
    name = check.replace("/", "_").replace("-", "_")
    if name in NAMES:
        doc = import_module(f"watchkeeper.checks.{name}").__doc__ or ""
        return doc.partition("\n")[0]
    return {**OTHERS, **COMMANDS}.get(check, check)


def page(check: str, docs: str) -> str:
    """Return where the page about a check is, below docs; empty where it has none."""
    has_one = check in OTHERS or check in COMMANDS or check.replace("/", "_").replace("-", "_") in NAMES
    return f"{docs}{check.replace('/', '-')}.md" if has_one else ""
