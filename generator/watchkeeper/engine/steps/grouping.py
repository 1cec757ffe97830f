"""Which group a sample belongs to."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from watchkeeper.engine.labels import Labels
    from watchkeeper.engine.steps.idents import Ident
    from watchkeeper.engine.steps.nodes import Context


class Grouping:
    """`by (names)` or `without (names)`: the labels of the group of a label set, remembered per ident."""

    __slots__ = ("_cache", "_context", "_names", "_without")

    def __init__(self, context: Context, names: tuple[str, ...], without: bool) -> None:
        self._context = context
        self._without = without
        # Without the name goes, and with it what says of which kind the metric was.
        self._names = frozenset((*names, "__name__")) if without else frozenset(names)
        self._cache: dict[Ident, Ident] = {}

    def of(self, ident: Ident) -> Ident:
        """The ident of the group."""
        group = self._cache.get(ident)
        if group is None:
            group = self._cache[ident] = self._context.idents.of(self.labels(ident.labels))
        return group

    def labels(self, labels: Labels) -> Labels:
        """The labels of the group of a label set."""
        names = self._names
        if self._without:
            return tuple([pair for pair in labels if pair[0] not in names])
        return tuple([pair for pair in labels if pair[0] in names])

    def cut(self, vector: list[tuple[Ident, float]]) -> dict[Ident, list[tuple[Ident, float]]]:
        """A vector cut into groups, in the order in which they are first met."""
        cache = self._cache
        groups: dict[Ident, list[tuple[Ident, float]]] = {}
        for sample in vector:
            ident = sample[0]
            group = cache.get(ident) or self.of(ident)
            members = groups.get(group)
            if members is None:
                groups[group] = [sample]
            else:
                members.append(sample)
        return groups
