"""What a test wants of labels and texts: in part, as a pattern, or to the letter."""

from __future__ import annotations

import re

from watchkeeper import contract

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import TypeAlias

    # A text, or a compiled pattern of Python's; for labels also the contract's `re("...")` and `not_("...")`.
    Wanted: TypeAlias = str | re.Pattern[str]


def label_is(wanted: Wanted, value: str) -> bool:
    """Whether a label has the wanted value. A `re` of the contract matches as Prometheus matches, the whole value."""
    if isinstance(wanted, re.Pattern):
        return wanted.search(value) is not None
    if isinstance(wanted, contract.not_):
        plain = contract.re(wanted) if wanted.pattern else str(wanted)
        return not label_is(plain, value)
    if isinstance(wanted, contract.re):
        from watchkeeper.engine.regex import predicate

        return predicate(str(wanted))(value)
    return wanted == value


def labels_are(wanted: Mapping[str, Wanted], labels: Mapping[str, str]) -> bool:
    """Whether labels hold all that is wanted; a label that is absent has the value ""."""
    return all(label_is(value, labels.get(name, "")) for name, value in wanted.items())


def text_is(wanted: Wanted, text: str, *, exact: bool) -> bool:
    """Whether an annotation holds the wanted text or pattern; with `exact` it must be all of it."""
    if isinstance(wanted, re.Pattern):
        return (wanted.fullmatch(text) if exact else wanted.search(text)) is not None
    return wanted == text if exact else wanted in text


def told(wanted: Wanted) -> str:
    """What is wanted, for a message."""
    return f"/{wanted.pattern}/" if isinstance(wanted, re.Pattern) else f'"{wanted}"'


def braces(labels: Mapping[str, Wanted]) -> str:
    """Labels in braces: {gpu="3", instance="n1"}."""
    return "{" + ", ".join(f"{name}={told(value)}" for name, value in sorted(labels.items())) + "}"
