"""The step-wise evaluator: plain Python, one time after the other, the complete semantics.

`compiler` turns the tree into a program of nodes (`nodes`), `build` makes the node of one expression. Selectors and the
windows of ranges are in `windows`, functions of ranges in `range_call`, `rates`, `over_time` and `extended`, functions
of vectors in `calls`, `formulas`, `label_calls`, `classic` and `info`, aggregations in `aggregations` and `picks`,
operators in `binary` and `matching`. Native histograms take the paths that `histograms` lists.
"""

from __future__ import annotations

from watchkeeper.engine.labels import METADATA
from watchkeeper.engine.results import EvalError
from watchkeeper.engine.steps.compiler import Program
from watchkeeper.engine.steps.extended import extended_points
from watchkeeper.engine.steps.nodes import DUPLICATES
from watchkeeper.engine.steps.windows import WindowSource

TYPE_CHECKING = False
if TYPE_CHECKING:
    from watchkeeper.engine.engine import Query
    from watchkeeper.engine.labels import Labels
    from watchkeeper.engine.results import Row, Value
    from watchkeeper.engine.steps.idents import Ident


def evaluate(query: Query) -> list[Row]:
    """The rows of a query's answer, in the order in which they arise; for a scalar a single one without labels.

    For an instant query each row has one value, or for a range selector the samples in the range. Raises EvalError.
    """
    program = Program(query)
    context = program.context
    program.fixed.once()
    frame = program.frame
    root = frame.root
    rows: dict[Ident, tuple[Ident, list[int], list[Value]]] = {}
    instant: list[Row] = []
    for t in frame.times():
        if isinstance(root, WindowSource):
            return _ranges(root)
        out = root.out
        if type(out) is float:
            out = [(context.idents.of(()), out)]
        context.kept += len(out)
        context.check(0)
        if query.instant:
            instant = [(_final(ident), [t], [value]) for ident, value in out]
            if len({labels for labels, _, _ in instant}) < len(instant):
                raise EvalError(DUPLICATES)
            return instant
        for ident, value in out:
            row = rows.get(ident.plain)
            if row is None:
                rows[ident.plain] = (ident, [t], [value])
                continue
            if row[1][-1] == t:
                raise EvalError(DUPLICATES)
            row[1].append(t)
            row[2].append(value)
    return _merged(list(rows.values()))


def _final(ident: Ident) -> Labels:
    """The labels of a result: a name whose removal was delayed goes now."""
    if not ident.pending:
        return ident.labels
    return tuple([pair for pair in ident.labels if pair[0] not in METADATA])


def _merged(rows: list[tuple[Ident, list[int], list[Value]]]) -> list[Row]:
    """Rows under their final labels. Several of the same labels become one, unless they have a time in common."""
    merged: dict[Labels, Row] = {}
    for ident, times, values in rows:
        labels = _final(ident)
        other = merged.get(labels)
        if other is None:
            merged[labels] = (labels, times, values)
            continue
        samples = dict(zip(other[1], other[2], strict=True))
        samples.update(zip(times, values, strict=True))
        if len(samples) < len(times) + len(other[1]):
            raise EvalError(DUPLICATES)
        ordered = sorted(samples)
        merged[labels] = (labels, ordered, [samples[time] for time in ordered])
    return list(merged.values())


def _ranges(source: WindowSource) -> list[Row]:
    """What a range selector or a subquery shows by itself."""
    rows: list[Row] = []
    for window in source.windows:
        lo, hi = window.lo, window.hi
        times, values = list(window.times[lo:hi]), list(window.values[lo:hi])
        if source.extension and not window.floats_only:
            from watchkeeper.engine.steps.histogram_ranges import points

            times, values = points(window, source)
        elif source.extension:
            found = extended_points(
                times, values, 0, len(times), source.start, source.end, source.extension == "smoothed"
            )
            times, values = found or ([], [])
        if times:
            rows.append((_final(window.ident), times, values))
    return rows
