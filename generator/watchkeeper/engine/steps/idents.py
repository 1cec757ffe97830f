"""Label sets as objects: equal labels are one object within a query, so that comparing and hashing them is cheap."""

from __future__ import annotations

from watchkeeper.engine.labels import METADATA, NAME

TYPE_CHECKING = False
if TYPE_CHECKING:
    from watchkeeper.engine.labels import Labels


class Ident:
    """One label set. `pending` tells that its name is to be dropped in the end (delayed name removal).

    `plain` is the ident of the same labels without that mark: itself, where there is none. Duplicates are told by it.
    """

    __slots__ = ("dropped", "labels", "pending", "plain")

    def __init__(self, labels: Labels, pending: Ident | None) -> None:
        self.labels = labels
        self.pending = pending is not None
        self.plain = self if pending is None else pending
        self.dropped: Ident | None = None

    def get(self, name: str) -> str:
        """The value of a label, "" where it is absent."""
        for key, value in self.labels:
            if key == name:
                return value
        return ""


class Idents:
    """The label sets of one query."""

    __slots__ = ("_known", "_metadata", "delayed", "name_kept_by")

    def __init__(self, delayed: bool, compat: str) -> None:
        self.delayed = delayed
        # The operator behind which 2.42 forgets to drop the name.
        self.name_kept_by = "atan2" if compat == "2" else ""
        self._known: dict[Labels, Ident] = {}
        self._metadata = frozenset({NAME}) if compat == "2" else METADATA

    def of(self, labels: Labels) -> Ident:
        """The ident of a label set."""
        ident = self._known.get(labels)
        if ident is None:
            ident = self._known[labels] = Ident(labels, None)
        return ident

    def drop(self, ident: Ident) -> Ident:
        """The ident after the metric's name was dropped, or is marked to be."""
        found = ident.dropped
        if found is None:
            if not self.delayed:
                found = self.nameless(ident)
            elif ident.pending:
                found = ident
            else:
                found = Ident(ident.labels, ident)
            ident.dropped = found
        return found

    def nameless(self, ident: Ident) -> Ident:
        """The ident without the metric's name and what else goes with it."""
        metadata = self._metadata
        return self.of(tuple([pair for pair in ident.labels if pair[0] not in metadata]))

    def marked(self, ident: Ident, pending: bool) -> Ident:
        """The ident with the mark, or without it."""
        return self.drop(ident) if pending and self.delayed else ident.plain
