"""What in an expression is newer than Prometheus 2.25, so that the version it is for can be checked.

Versions are from Prometheus' changelog, from its pull requests where that is silent, and for 2.42 and 3.5 measured with
promtool.
"""

from __future__ import annotations

import re

from watchkeeper.promql import lexer
from watchkeeper.promql.functions import FUNCTIONS
from watchkeeper.promql.nodes import (
    Aggregate,
    At,
    Binary,
    Call,
    DurationExpr,
    DurationLiteral,
    Label,
    Matcher,
    MatrixSelector,
    NumberLiteral,
    StringLiteral,
    Subquery,
    VectorSelector,
    walk,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from watchkeeper.promql.functions import Version
    from watchkeeper.promql.nodes import Duration, Expr, Node

# name: first version, first version without a feature flag (None: none yet), the flag
_FEATURES: dict[str, tuple[Version, Version | None, str]] = {
    "@ modifier": ((2, 25), (2, 33), "promql-at-modifier"),
    "negative offset": ((2, 26), (2, 33), "promql-negative-offset"),
    "atan2": ((2, 31), (2, 31), ""),
    "limitk": ((2, 54), None, "promql-experimental-functions"),
    "limit_ratio": ((2, 54), None, "promql-experimental-functions"),
    # Prometheus 2.47 was the first built with Go 1.21, whose Unicode is 15.0, and 2.51 with Go 1.22.
    "script of Unicode 14 or 15 in a regular expression": ((2, 47), (2, 47), ""),
    "(?<name>) in a regular expression": ((2, 51), (2, 51), ""),
    "underscore in a number": ((2, 54), (2, 54), ""),
    "duration as a number": ((2, 54), (2, 54), ""),
    "number as a duration": ((2, 54), (2, 54), ""),
    "quoted metric name": ((3, 0), (3, 0), ""),
    "quoted label name": ((3, 0), (3, 0), ""),
    "colon in a label name": ((3, 0), (3, 0), ""),
    "label name that is no identifier": ((3, 0), (3, 0), ""),
    "offset of 0 with a unit": ((3, 4), (3, 4), ""),
    "sign of a duration": ((3, 4), (3, 4), ""),
    "duration expression": ((3, 4), (3, 14), "promql-duration-expr"),
    "step() in a duration": ((3, 6), (3, 14), "promql-duration-expr"),
    "anchored": ((3, 7), None, "promql-extended-range-selectors"),
    "smoothed": ((3, 7), None, "promql-extended-range-selectors"),
    "fill modifier": ((3, 10), None, "promql-binop-fill-modifiers"),
    "range() in a duration": ((3, 10), (3, 14), "promql-duration-expr"),
    "histogram trim operator": ((3, 11), (3, 11), ""),
    "min_of() in a duration": ((3, 13), (3, 14), "promql-duration-expr"),
    "max_of() in a duration": ((3, 13), (3, 14), "promql-duration-expr"),
}
_FUNCTION_FLAG = "promql-experimental-functions"
_NAME = re.compile(r"[a-zA-Z_]\w*", re.ASCII)
_COMMENT = re.compile(r"#[^\r\n]*")
_NEW_SCRIPT = re.compile(r"\\[pP]\{\^?(?:Cypro_Minoan|Old_Uyghur|Tangsa|Toto|Vithkuqi|Kawi|Nag_Mundari)\}")
# What is plain text in a regular expression: quoted, escaped, or in a class.
_LITERAL = re.compile(r"\\Q.*?(?:\\E|$)|\\.|\[\^?\]?(?:\\.|\[:\^?\w+:\]|[^\]\\])*\]?", re.DOTALL)
# Functions that make a label, and which argument names it.
_MAKES_LABEL = {"label_replace": 1, "label_join": 1}


class Feature:
    """One use of something newer than 2.25, from `start` to `end` in the text.

    `since` is the first version that has it, `stable_since` the first in which it needs no `--enable-feature=flag`
    (None: not by 3.14). `experimental` says that it still needs the flag in 3.14.
    """

    __slots__ = ("end", "flag", "name", "since", "stable_since", "start")

    def __init__(  # noqa: PLR0917  (of this module alone)
        self, name: str, since: Version, stable_since: Version | None, flag: str, node: Node, end: int | None = None
    ) -> None:
        self.name = name
        self.since = since
        self.stable_since = stable_since
        self.flag = flag
        self.start = node.start
        self.end = node.end if end is None else end

    @property
    def experimental(self) -> bool:
        return self.stable_since is None

    def needs(self, version: Version) -> str | None:
        """What a Prometheus of this version lacks for it: None if nothing, else a phrase such as "Prometheus 3.0"."""
        if version < self.since:
            return f"Prometheus {self.since[0]}.{self.since[1]}"
        if self.stable_since is None or version < self.stable_since:
            return f"--enable-feature={self.flag}"
        return None

    def __repr__(self) -> str:
        return f"<Feature {self.name} since {self.since[0]}.{self.since[1]} at {self.start}>"


def features(expr: Expr, text: str, nodes: Iterable[Node] | None = None) -> list[Feature]:
    """Every use of a feature newer than Prometheus 2.25 in an expression, in the order of the text.

    `text` is what was parsed: `1000` and `1_000` are the same in the tree. `nodes` are those of the expression, where
    they are at hand.
    """
    found = [feature for node in nodes or walk(expr) for feature in _of(node, text)]
    found.sort(key=lambda feature: (feature.start, feature.end))
    return found


def _feature(name: str, node: Node, start: int | None = None, end: int | None = None) -> Feature:
    since, stable, flag = _FEATURES[name]
    feature = Feature(name, since, stable, flag, node, end)
    if start is not None:
        feature.start = start
    return feature


def _of(node: Node, text: str) -> Iterator[Feature]:
    """The features that a node uses itself, those below it left out."""
    kind = type(node)
    if kind is Call:
        yield from _of_call(node)  # type: ignore[arg-type]
    elif isinstance(node, Aggregate):
        if node.op in _FEATURES:
            yield _feature(node.op, node, end=node.start + len(node.op))
        if node.op == "count_values":
            yield from _of_made_label(node.param)
    elif isinstance(node, Binary):
        yield from _of_binary(node)
    elif isinstance(node, NumberLiteral):
        if node.duration:
            yield _feature("duration as a number", node)
        yield from _of_number(node, text)
    elif isinstance(node, At):
        yield _feature("@ modifier", node)
        if lexer.is_duration(_spelt(node, text).lstrip("+- \t\r\n")):
            yield _feature("duration as a number", node)
        yield from _of_number(node, text)
    elif isinstance(node, Matcher):
        yield from _of_matcher(node)
    elif isinstance(node, Label):
        if not node.variables:
            if node.end - node.start != len(node.name):
                yield _feature("quoted label name", node)
            elif not _NAME.fullmatch(node.name):
                yield _feature("colon in a label name", node)
    elif isinstance(node, VectorSelector):
        yield from _of_selector(node, text)
    elif isinstance(node, MatrixSelector):
        yield from _of_duration(node.range, text)
    elif isinstance(node, Subquery):
        yield from _of_duration(node.range, text)
        if node.step is not None:
            yield from _of_duration(node.step, text)
        if node.offset is not None:
            yield from _of_offset(node.offset, text)


def _spelt(node: Node, text: str) -> str:
    """How a node is written, comments left out."""
    return _COMMENT.sub("", text[node.start : node.end])


def _of_number(node: Node, text: str) -> Iterator[Feature]:
    if "_" in _spelt(node, text):
        yield _feature("underscore in a number", node)


def _of_call(node: Call) -> Iterator[Feature]:
    function = node.function
    if function is not None and function.since is not None:
        yield Feature(f"{node.name}()", function.since, function.stable_since, _FUNCTION_FLAG, node, node.name_end)
    if node.name in _MAKES_LABEL and len(node.args) > _MAKES_LABEL[node.name]:
        yield from _of_made_label(node.args[_MAKES_LABEL[node.name]])
    if node.name == "label_replace" and isinstance(pattern := node.args[-1], StringLiteral):
        yield from _of_regex(pattern.value, pattern, pattern.start)


def _of_made_label(node: Node | None) -> Iterator[Feature]:
    """A label's name in a string: an older Prometheus loads the rule, and then fails each time it is evaluated."""
    if not isinstance(node, StringLiteral) or not node.value or lexer.has_variables(node.value):
        return
    if not _NAME.fullmatch(node.value):
        yield _feature("label name that is no identifier", node)


def _of_regex(pattern: str, node: Node, start: int) -> Iterator[Feature]:
    if _NEW_SCRIPT.search(pattern):
        yield _feature("script of Unicode 14 or 15 in a regular expression", node, start)
    if "(?<" in _LITERAL.sub("", pattern):
        yield _feature("(?<name>) in a regular expression", node, start)


def _of_binary(node: Binary) -> Iterator[Feature]:
    name = {"atan2": "atan2", "</": "histogram trim operator", ">/": "histogram trim operator"}.get(node.op)
    if name is not None:
        yield _feature(name, node, node.op_start, node.op_start + len(node.op))
    matching = node.matching
    if matching is not None and (matching.fill_left is not None or matching.fill_right is not None):
        yield _feature("fill modifier", matching)


def _of_matcher(node: Matcher) -> Iterator[Feature]:
    if node.name_end == node.value_start:
        yield _feature("quoted metric name", node)
    elif node.name_end - node.start != len(node.label):
        yield _feature("quoted label name", node, end=node.name_end)
    if node.op[-1] == "~":
        yield from _of_regex(node.value, node, node.value_start)


def _of_selector(node: VectorSelector, text: str) -> Iterator[Feature]:
    if node.name is not None and node.name_end - node.name_start != len(node.name):
        yield _feature("quoted metric name", node, node.name_start, node.name_end)
    if node.anchored:
        yield _feature("anchored", node)
    if node.smoothed:
        yield _feature("smoothed", node)
    if node.offset is not None:
        yield from _of_offset(node.offset, text)


def _of_offset(offset: Duration, text: str) -> Iterator[Feature]:
    if isinstance(offset, DurationLiteral):
        if offset.ms < 0:
            yield _feature("negative offset", offset)
        if offset.unit and not offset.ms:
            yield _feature("offset of 0 with a unit", offset)
    yield from _of_duration(offset, text, signs=("", "-"))


def _of_duration(duration: Duration, text: str, signs: tuple[str, ...] = ("",)) -> Iterator[Feature]:
    """What a duration uses, each thing once. `signs` are those that it could always have."""
    if isinstance(duration, DurationLiteral):
        spelt = "".join(_spelt(duration, text).split())
        rest = spelt.lstrip("+-")
        if rest[:1] == "(":  # Prometheus takes any parentheses for an expression
            yield _feature("duration expression", duration)
        elif not duration.unit:
            yield _feature("number as a duration", duration)
        elif spelt[: len(spelt) - len(rest)] not in signs:
            yield _feature("sign of a duration", duration)
        yield from _of_number(duration, text)
        return
    if not isinstance(duration, DurationExpr):
        return
    yield _feature("duration expression", duration)
    for node in walk(duration):
        if isinstance(node, DurationExpr) and node.op in {"step", "range", "min_of", "max_of"}:
            yield _feature(f"{node.op}() in a duration", node)


def known() -> list[str]:
    """The names that `features` can give, for documentation."""
    calls = [f"{name}()" for name, function in FUNCTIONS.items() if function.since is not None]
    return sorted([*_FEATURES, *calls])
