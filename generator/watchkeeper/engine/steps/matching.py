"""Binary operators between vectors: who meets whom, and what the result is called (promql/engine.go, VectorBinop)."""

# ruff: noqa: ARG002  (functions and nodes are called alike, whatever they look at)
from __future__ import annotations

from watchkeeper.engine.labels import NAME, format_, get, only, set_, without
from watchkeeper.engine.results import EvalError
from watchkeeper.engine.steps.binary import COMPARISONS, evaluate
from watchkeeper.engine.steps.nodes import Context, Node
from watchkeeper.engine.steps.numbers import ARITHMETIC
from watchkeeper.promql.nodes import ONE_TO_MANY, ONE_TO_ONE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from watchkeeper.engine.labels import Labels
    from watchkeeper.engine.results import Value
    from watchkeeper.engine.steps.idents import Ident
    from watchkeeper.engine.steps.nodes import Instant
    from watchkeeper.promql.nodes import Binary, VectorMatching


class Signatures:
    """The labels that must agree, remembered per ident."""

    __slots__ = ("_cache", "_context", "_names", "_on")

    def __init__(self, context: Context, matching: VectorMatching) -> None:
        self._context = context
        self._on = matching.on
        names = [label.name for label in matching.labels]
        self._names = frozenset(names if matching.on else (*names, NAME))
        self._cache: dict[Ident, Ident] = {}

    def labels(self, labels: Labels) -> Labels:
        """The matching labels of a label set."""
        return only(labels, self._names) if self._on else without(labels, self._names)

    def of(self, ident: Ident) -> Ident:
        """The ident of the matching labels."""
        found = self._cache.get(ident)
        if found is None:
            found = self._cache[ident] = self._context.idents.of(self.labels(ident.labels))
        return found


class SetOperation(Node):
    """and, or, unless."""

    __slots__ = ("lhs", "op", "rhs", "signatures")

    def __init__(self, context: Context, place: int, binary: Binary, lhs: Node, rhs: Node) -> None:
        super().__init__(context, place)
        assert binary.matching is not None
        self.op = binary.op
        self.lhs = lhs
        self.rhs = rhs
        self.signatures = Signatures(context, binary.matching)

    def step(self, t: int) -> None:
        of = self.signatures.of
        left: Instant = self.lhs.out
        right: Instant = self.rhs.out
        if self.op == "or":
            known = {of(ident) for ident, _ in left}
            out = left + [sample for sample in right if of(sample[0]) not in known]
            self.context.unique(out)
            self.out = out
            return
        known = {of(ident) for ident, _ in right}
        if self.op == "and":
            self.out = [sample for sample in left if of(sample[0]) in known] if known else []
        else:
            self.out = [sample for sample in left if of(sample[0]) not in known] if known else left


class Match(Node):
    """Arithmetic and comparisons. `many` is the side that may have several samples of one match group."""

    __slots__ = ("binary", "fill_many", "fill_one", "many", "matching", "one", "results", "signatures", "swapped")

    def __init__(self, context: Context, place: int, binary: Binary, lhs: Node, rhs: Node) -> None:
        super().__init__(context, place)
        matching = binary.matching
        assert matching is not None
        self.binary = binary
        self.matching = matching
        self.signatures = Signatures(context, matching)
        self.swapped = matching.card == ONE_TO_MANY
        self.many, self.one = (rhs, lhs) if self.swapped else (lhs, rhs)
        # With group_right Prometheus swaps the sides, but not what fills them: fill_right still fills the one side.
        self.fill_many, self.fill_one = matching.fill_left, matching.fill_right
        self.results: dict[tuple[Ident, Ident], Ident] = {}

    def step(self, t: int) -> None:
        many: Instant = self.many.out
        one: Instant = self.one.out
        out: Instant = []
        self.out = out
        if (not many and self.fill_many is None) or (not one and self.fill_one is None):
            return
        of = self.signatures.of
        partners: dict[Ident, tuple[Ident, Value]] = {}
        for sample in one:
            signature = of(sample[0])
            other = partners.setdefault(signature, sample)
            if other is not sample:
                raise self._many_to_many(signature, other[0], sample[0])
        state: dict[Ident, set[Ident]] = {}
        for ident, value in many:
            signature = of(ident)
            partner = partners.get(signature)
            if partner is None:
                if self.fill_one is None:
                    continue
                partner = (signature, self.fill_one)
            self._combine(signature, ident, value, partner, state)
        if self.fill_many is not None:
            met = {of(ident) for ident, _ in many}
            for signature, partner in partners.items():
                if signature not in met:
                    self._combine(signature, signature, self.fill_many, partner, state)
        self.context.unique(out)

    def _combine(
        self,
        signature: Ident,
        ident: Ident,
        value: Value,
        partner: tuple[Ident, Value],
        state: dict[Ident, set[Ident]],
    ) -> None:
        binary = self.binary
        one_ident, one_value = partner
        lhs, rhs = (one_value, value) if self.swapped else (value, one_value)
        labels = self._result(ident, one_ident)
        # Up to 3.9 (#17668) only what a comparison lets through could be one match too many.
        if not self.context.two:
            self._once(signature, labels, state)
        found = evaluate(binary.op, lhs, rhs, self.context, self.place, binary.return_bool)
        if found is None:
            return
        result, holds = found
        if binary.return_bool:
            result = 1.0 if holds else 0.0
        elif not holds:
            return
        if self.context.two:
            self._once(signature, labels, state)
        self.out.append((labels, result))

    def _once(self, signature: Ident, labels: Ident, state: dict[Ident, set[Ident]]) -> None:
        """Raise EvalError where a match group gives one result too many."""
        inserted = state.get(signature)
        if inserted is None:
            state[signature] = {labels.plain}
        elif self.matching.card == ONE_TO_ONE:
            raise EvalError(
                "multiple matches for labels: many-to-one matching must be explicit (group_left/group_right)",
                self.place,
            )
        elif labels.plain in inserted:
            raise EvalError("multiple matches for labels: grouping labels must ensure unique matches", self.place)
        else:
            inserted.add(labels.plain)

    def _result(self, ident: Ident, one: Ident) -> Ident:
        """The labels of a result: those of the many side, less the name for arithmetic, and what is included."""
        found = self.results.get((ident, one))
        if found is not None:
            return found
        binary = self.binary
        matching = self.matching
        idents = self.context.idents
        base = ident.plain
        if binary.op in ARITHMETIC and binary.op != idents.name_kept_by:
            base = idents.nameless(base)
        labels = base.labels
        if matching.card == ONE_TO_ONE:
            names = frozenset([label.name for label in matching.labels])
            labels = only(labels, names) if matching.on else without(labels, names)
        for label in matching.include:
            labels = set_(labels, label.name, get(one.labels, label.name))
        result = idents.of(labels)
        if binary.return_bool or (ident.pending and binary.op in COMPARISONS):
            result = idents.drop(result)
        self.results[ident, one] = result
        return result

    def _many_to_many(self, signature: Ident, first: Ident, second: Ident) -> EvalError:
        side = "left" if self.swapped else "right"
        if self.context.two:
            first, second = second, first
        return EvalError(
            f"found duplicate series for the match group {format_(signature.labels)} on the {side} hand-side of the "
            f"operation: [{format_(first.labels)}, {format_(second.labels)}];many-to-many matching not allowed: "
            "matching labels must be unique on one side",
            self.place,
        )
