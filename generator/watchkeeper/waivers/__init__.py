"""Findings that somebody looked at and accepts: written beside the definition or the rule, with a reason."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from watchkeeper.fields import hold, text
from watchkeeper.findings import Place, caller

if TYPE_CHECKING:
    from watchkeeper.findings import Finding

__all__ = ["Waived", "Waiver"]


@dataclass(frozen=True)
class Waiver:
    """The findings of one check are accepted, for a reason, where they are about the definition that has the waiver.

    `until` is the last day on which it holds, such as `2027-01-31`, empty for always.
    """

    check: str
    reason: str = field(kw_only=True)
    until: str = field(default="", kw_only=True)
    place: Place = field(default_factory=caller, kw_only=True, compare=False, repr=False)

    def __post_init__(self) -> None:
        hold(self, check=text, reason=text, until=text)


class Waived(NamedTuple):
    """A finding that is not reported, and why."""

    finding: Finding
    waiver: Waiver
