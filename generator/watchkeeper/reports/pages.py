"""What a check is about, and where its page is."""

from __future__ import annotations

from importlib import import_module

from watchkeeper.checks import NAMES

PAGES = "docs/checks/"

# Findings that no check yields, but the reading of files or of waivers.
_OTHERS = {
    "yaml/parse": "A file that is not YAML.",
    "yaml/key": "Keys that a file may not have.",
    "yaml/value": "Values that a key may not have.",
    "json/parse": "A file that is not JSON.",
    "waiver/expired": "Waivers whose time is over.",
    "waiver/syntax": "Waivers that can't be read.",
    "waiver/unused": "Waivers of nothing.",
}


def about(check: str) -> str:
    """Return in one line what findings of this id are about."""
    name = check.replace("/", "_").replace("-", "_")
    if name in NAMES:
        doc = import_module(f"watchkeeper.checks.{name}").__doc__ or ""
        return doc.partition("\n")[0]
    return _OTHERS.get(check, check)


def page(check: str, docs: str) -> str:
    """Return where the page about a check is, below docs; empty where it has none."""
    has_one = check in _OTHERS or check.replace("/", "_").replace("-", "_") in NAMES
    return f"{docs}{check.replace('/', '-')}.md" if has_one else ""
