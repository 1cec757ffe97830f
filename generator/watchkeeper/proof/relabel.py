"""label_replace and label_join: what becomes of the label that they set."""

from __future__ import annotations

import re

from watchkeeper.promql import nodes
from watchkeeper.proof.branches import Branch, Labels
from watchkeeper.proof.facts import (
    MAYBE,
    METADATA,
    NEVER,
    SURE,
    either,
    perhaps,
    physical,
    relabelled,
    relabelled_empty,
    relabelled_perhaps,
    variable,
)
from watchkeeper.proof.matchers import has_variable, matches, unanchored

TYPE_CHECKING = False
if TYPE_CHECKING:
    from watchkeeper.promql.nodes import Call, Expr
    from watchkeeper.proof.facts import Fact

_REFERENCE = re.compile(r"\$(?:\$|(\w+)|\{(\w+)\})")
_WHOLE = frozenset({".*", ".+", "(.*)", "(.+)"})


def texts(args: tuple[Expr, ...]) -> list[str] | None:
    """The values of arguments that are strings; None where one of them is not written out."""
    found = []
    for arg in args:
        while isinstance(arg, nodes.Paren):
            arg = arg.expr  # noqa: PLW2901 - parentheses come off
        if not isinstance(arg, nodes.StringLiteral):
            return None
        found.append(arg.value)
    return found


def label_replace(node: Call, inner: Labels) -> Labels:
    """What `label_replace(v, dst, replacement, src, regex)` gives."""
    given = texts(node.args[1:])
    if given is None or has_variable(given[0]) or has_variable(given[2]):
        return Labels(tuple([any_label(branch, node) for branch in inner.branches]), inner.cause, inner.bounds)
    given[3] = unanchored(given[3])
    return Labels(tuple([_replaced(branch, node, given) for branch in inner.branches]), inner.cause, inner.bounds)


def any_label(branch: Branch, node: nodes.Node) -> Branch:
    """The branch after something that is not known may have set or emptied any label."""
    anything: Fact = (MAYBE, variable, node, None)
    return Branch(dict.fromkeys(branch.facts, anything), anything, anything, branch.source)


def _replaced(branch: Branch, node: Call, given: list[str]) -> Branch:
    target, replacement, source, pattern = given
    src = branch.fact(source)
    if source == "__name__":
        src = physical(src)
    elif not source:  # no label has that name: a way to set a constant
        src = (NEVER, *src[1:])
    dst = branch.pinned(target)
    outcomes: list[Fact] = []
    if src[0] != SURE:  # the source label may be empty: every group is, then
        kept: Fact = (NEVER, *src[1:]) if source == target else dst
        matched = matches(pattern, "")
        if matched is not True:
            outcomes.append(kept)
        if matched is not False:
            outcomes.append(_made(node, _of_nothing(replacement)))
    if src[0] != NEVER:
        kept = dst
        if source == target and target != "__name__":
            kept = (SURE, *dst[1:]) if dst[0] == MAYBE else dst
        matched = True if pattern in _WHOLE else False if pattern == "" else None
        if matched is not True:
            outcomes.append(kept)
        if matched is not False:
            outcomes.append(_made(node, _of_something(replacement, pattern)))
    fact = outcomes[0]
    for other in outcomes[1:]:
        fact = either(fact, other)
    if fact[0] == MAYBE and fact[1] is relabelled_empty:
        fact = _made(node, MAYBE)
    return _with(branch, target, fact, node)


def _with(branch: Branch, target: str, fact: Fact, node: Call) -> Branch:
    if target in METADATA:
        fact = perhaps(fact, relabelled_perhaps, node)
    return branch.having(target, fact)


def _made(node: Call, status: int) -> Fact:
    return (status, (relabelled_empty, relabelled_perhaps, relabelled)[status], node, None)


def _of_nothing(replacement: str) -> int:
    """What a replacement gives for an empty source: its own text alone."""
    if "[[" in replacement:
        return MAYBE
    names = [match.group(1) or match.group(2) for match in _REFERENCE.finditer(replacement)]
    if _REFERENCE.sub("", replacement) or None in names:
        return SURE
    # A name may be that of a dashboard variable; a number is a group.
    return NEVER if all(name.isascii() and name.isdigit() for name in names) else MAYBE


def _of_something(replacement: str, pattern: str) -> int:
    """What a replacement gives for a source that is not empty, where the pattern matches."""
    if _of_nothing(replacement) == SURE:
        return SURE
    names = [match.group(1) or match.group(2) for match in _REFERENCE.finditer(replacement)]
    if "[[" in replacement or not all(name.isascii() and name.isdigit() for name in names):
        return MAYBE
    numbers = {int(name) for name in names if len(name) < 9}
    if 0 in numbers or (1 in numbers and pattern in {"(.*)", "(.+)"}):
        return SURE
    return MAYBE if numbers and "(" in pattern else NEVER


def label_join(node: Call, inner: Labels) -> Labels:
    """What `label_join(v, dst, separator, src...)` gives."""
    given = texts(node.args[1:])
    if given is None or any(map(has_variable, given)):
        return Labels(tuple([any_label(branch, node) for branch in inner.branches]), inner.cause, inner.bounds)
    target, separator, *sources = given
    branches = []
    for branch in inner.branches:
        facts = [branch.fact(source) for source in sources]
        status = max(
            [(physical(fact) if s == "__name__" else fact)[0] for s, fact in zip(sources, facts, strict=True)],
            default=NEVER,
        )
        if len(sources) > 1 and separator:
            status = SURE
        branches.append(_with(branch, target, _made(node, status), node))
    return Labels(tuple(branches), inner.cause, inner.bounds)
