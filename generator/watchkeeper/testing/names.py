"""Names that nobody knows: an error at once, with the nearest that is known."""

from __future__ import annotations

from watchkeeper.findings import nearest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection


class UnknownNameError(LookupError):
    """A test names an alert, a series or a label that there is none of. No failed assertion, but a mistyped test."""


def unknown(what: str, name: str, known: Collection[str]) -> UnknownNameError:
    """The error for a name, with the nearest of those that are known."""
    return UnknownNameError(f'{what} "{name}"{nearest(name, sorted(known))}')
