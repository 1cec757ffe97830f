"""label_replace, label_join, sort, sort_by_label."""

# ruff: noqa: ARG002  (functions and nodes are called alike, whatever they look at)
# ruff: noqa: PLR0124  (x != x asks for NaN)
from __future__ import annotations

import re
from functools import cmp_to_key

from watchkeeper.engine import annotations as texts
from watchkeeper.engine import regex as regexes
from watchkeeper.engine.labels import NAME, set_
from watchkeeper.engine.results import EvalError
from watchkeeper.engine.steps.aggregations import is_label_name
from watchkeeper.engine.steps.nodes import DUPLICATES, Context, Frame, Node

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from watchkeeper.engine.steps.idents import Ident
    from watchkeeper.engine.steps.nodes import Instant

# Of one value of a label that is made, in characters. Nested calls multiply it, and Prometheus knows no limit.
LONGEST = 1 << 20
# Beyond what labels have, so many characters of a value that is made weigh as much as a sample.
_USUAL = 1024
_SAMPLE = 16
_REFERENCE = re.compile(r"\$(?:\$|(\w+)|\{(\w+)\})")


class Relabel(Node):
    """A function that sets one label, whatever the values are."""

    __slots__ = ("argument", "cache", "target")

    def __init__(self, context: Context, place: int, argument: Node, target: str) -> None:
        super().__init__(context, place)
        self.argument = argument
        self.target = target
        self.cache: dict[Ident, Ident] = {}

    def value_for(self, ident: Ident) -> str | None:
        """The new value of the label; None to leave it."""
        raise NotImplementedError

    def step(self, t: int) -> None:
        cache = self.cache
        out = []
        for ident, value in self.argument.out:
            renamed = cache.get(ident)
            if renamed is None:
                renamed = cache[ident] = self._renamed(ident)
            out.append((renamed, value))
        if len(out) > 1 and len({ident.plain for ident, _ in out}) < len(out):
            raise EvalError(DUPLICATES)
        self.out = out

    def _renamed(self, ident: Ident) -> Ident:
        try:
            value = self.value_for(ident)
        except EvalError as error:
            raise EvalError(error.message, self.place) from None
        if value is None:
            return ident
        if len(value) > _USUAL:
            self.context.kept += len(value) // _SAMPLE
            self.context.check(0)
        idents = self.context.idents
        renamed = idents.of(set_(ident.labels, self.target, value))
        # A name that is set by hand is not dropped any more.
        return idents.marked(renamed, ident.pending and self.target != NAME)


class LabelReplace(Relabel):
    """label_replace(v, dst, replacement, src, regex)."""

    __slots__ = ("match", "pieces", "replacement", "source")

    def __init__(self, context: Context, place: int, argument: Node, texts: Sequence[str]) -> None:
        target, replacement, source, pattern = texts
        super().__init__(context, place, argument, target)
        try:
            self.match = regexes.fullmatch(pattern)
        except regexes.RegexUnavailableError as error:
            raise EvalError(str(error), place) from None
        except regexes.RegexError:
            raise EvalError(f"invalid regular expression in label_replace(): {pattern}", place) from None
        if not is_label_name(target, context.two):
            raise EvalError(f"invalid destination label name in label_replace(): {target}", place)
        self.source = source
        self.replacement = replacement

    def value_for(self, ident: Ident) -> str | None:
        match = self.match(ident.get(self.source))
        return None if match is None else expand(self.replacement, match)


def expand(template: str, match: regexes.Match) -> str:
    """Go's Regexp.Expand: `$1`, `${1}`, `$name`, `$$`; a name is as long as it can be, an unknown one is empty.

    Raises EvalError for more than LONGEST characters.
    """
    length = 0

    def value(reference: re.Match[str]) -> str:
        nonlocal length
        text = _referred(reference, match)
        length += len(text)
        if length > LONGEST:
            raise EvalError(too_long())
        return text

    return _REFERENCE.sub(value, template)


def _referred(reference: re.Match[str], match: regexes.Match) -> str:
    name = reference.group(1) or reference.group(2)
    if name is None:
        return "$"
    if name.isascii() and name.isdigit():
        number = int(name) if len(name) < 9 else -1
        return (match.group(number) or "") if 0 <= number <= regexes.group_count(match) else ""
    number = regexes.group_names(match).get(name, -1)
    return (match.group(number) or "") if number >= 0 else ""


def joined(separator: str, values: Sequence[str]) -> str:
    """What label_join makes. Raises EvalError for more than LONGEST characters."""
    if sum(map(len, values)) + len(separator) * (len(values) - 1) > LONGEST:
        raise EvalError(too_long())
    return separator.join(values)


def too_long() -> str:
    return f"a label value of more than {LONGEST} characters would be made"


class LabelJoin(Relabel):
    """label_join(v, dst, separator, src...)."""

    __slots__ = ("separator", "sources")

    def __init__(self, context: Context, place: int, argument: Node, texts: Sequence[str]) -> None:
        target, separator, *sources = texts
        super().__init__(context, place, argument, target)
        if not is_label_name(target, context.two):
            raise EvalError(f"invalid destination label name in label_join(): {target}", place)
        for source in sources:
            if not is_label_name(source, context.two):
                raise EvalError(f"invalid source label name in label_join(): {source}", place)
        self.separator = separator
        self.sources = sources

    def value_for(self, ident: Ident) -> str | None:
        return joined(self.separator, [ident.get(source) for source in self.sources])


class Sort(Node):
    """sort, sort_desc, sort_by_label, sort_by_label_desc. Over several times they are without effect."""

    __slots__ = ("argument", "labels", "name", "single")

    def __init__(self, context: Context, place: int, name: str, argument: Node, labels: list[str]) -> None:
        super().__init__(context, place)
        self.name = name
        self.argument = argument
        self.labels = labels
        self.single = True

    def begin(self, frame: Frame) -> None:
        self.single = frame.single
        if not self.single:
            self.context.annotations.add(texts.ineffective_sort(), self.place)

    def step(self, t: int) -> None:
        vector: Instant = self.argument.out
        if self.name in {"sort", "sort_desc"}:
            # Histograms have no order and are left out.
            floats = [sample for sample in vector if type(sample[1]) is float]
            descending = self.name == "sort_desc"
            floats.sort(key=lambda sample: _key(sample[1], descending))
            self.out = floats
            return
        self.out = sorted(vector, key=cmp_to_key(self._descending if self.name.endswith("_desc") else self._ascending))

    def _descending(self, a: tuple[Ident, object], b: tuple[Ident, object]) -> int:
        return -self._compare(a[0], b[0])

    def _ascending(self, a: tuple[Ident, object], b: tuple[Ident, object]) -> int:
        return self._compare(a[0], b[0])

    def _compare(self, a: Ident, b: Ident) -> int:
        for label in self.labels:
            first, second = a.get(label), b.get(label)
            if first != second:
                return -1 if natural_less(first, second) else 1
        return -1 if a.labels < b.labels else int(a.labels > b.labels)


def _key(value: float, descending: bool) -> tuple[bool, float]:
    """NaN is last either way."""
    if value != value:
        return True, 0.0
    return False, -value if descending else value


_CHUNK = re.compile(r"[0-9]+|[^0-9]+")


def natural_less(a: str, b: str) -> bool:
    """Whether `a` comes before `b` where digits count as numbers: "node2" before "node10"."""
    chunks_a = _CHUNK.findall(a)
    chunks_b = _CHUNK.findall(b)
    for index, first in enumerate(chunks_a):
        if index >= len(chunks_b):
            return False
        second = chunks_b[index]
        numbers = _number(first), _number(second)
        if None not in numbers and numbers[0] != numbers[1]:
            return bool(numbers[0] < numbers[1])  # type: ignore[operator]
        if first != second and None in numbers:
            return bool(first < second)
        if index == len(chunks_a) - 1:
            return True
        if index == len(chunks_b) - 1:
            return False
    return True  # an empty text comes first


def _number(chunk: str) -> int | None:
    """The number that a chunk is, if Go's int holds it."""
    if not chunk[0].isdigit() or len(chunk) > 4000:
        return None
    number = int(chunk)
    return number if number < 2**63 else None
