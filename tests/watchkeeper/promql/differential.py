"""Compare the evaluators with a real Prometheus: random expressions on random data.

    python tests/watchkeeper/promql/differential.py --prometheus BINARY --pairs N --seed S [--compat 2|3]

Each pair is an expression and a time, or a range of times. A difference is more than 1e-9 relative and more than 1e-12
of the largest input, other labels or times, or an error on one side alone. Each is shrunk, the expression and the data,
and printed as a test. The last lines count; exit status 1 if there was a difference.
"""

from __future__ import annotations

# ruff: noqa: T201 - a program that prints
import argparse
import math
import re
import sys
import time
from collections import Counter
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).parent))

from diff_data import SPAN_MS, largest, make_histograms, make_series
from diff_expressions import Expressions
from diff_server import Server, running, version
from diff_shrink import shrink_expression, shrink_series

from watchkeeper.engine import Data, Engine, EvalError, Series
from watchkeeper.engine.data import is_stale
from watchkeeper.engine.labels import make
from watchkeeper.promql import ParseError, parse, walk
from watchkeeper.promql.nodes import Aggregate, Binary, Call, DurationLiteral, Subquery, VectorSelector

if TYPE_CHECKING:
    from collections.abc import Iterable

    from watchkeeper.promql.nodes import Duration, Expr

RELATIVE = 1e-9
ABSOLUTE = 1e-12  # of the largest input
EVALUATORS = ("steps", "arrays")
PAIRS_A_WORLD = 500
DAY_MS = 86_400_000
BASE_MS = 1_700_000_000_000
_LITERAL_AT = re.compile(r"(@ )(\d+\.\d+)")
_FILTERS = {"==", "!=", "<", ">", "<=", ">="}
# What two differences of one cause are likely to share.
_WORDS = re.compile(r"[a-z_0-9]+(?= *\(|(?= by| without))|atan2|bool|group_\w+|[-+*/%^<>=!]+|offset|@|:")
# Which of several equal values these keep is left to chance.
_CHOOSING = {"topk", "bottomk", "limitk"}

Rows = dict[Any, list[tuple[int, float]]]


class Answer:
    """What either side says: an error, or rows by their labels; `order` is that of an instant vector."""

    __slots__ = ("annotations", "error", "order", "rows")

    def __init__(self, error: str | None, rows: Rows, order: list[float], annotations: list[str]) -> None:
        self.error, self.rows, self.order, self.annotations = error, rows, order, annotations

    def __str__(self) -> str:
        if self.error is not None:
            return f"error: {self.error}"
        lines = []
        for labels, points in sorted(self.rows.items())[:10]:
            text = " ".join(f"{value!r}@{at}" for at, value in points[:6])
            lines.append(f"{dict(labels)}: {text}{' ...' if len(points) > 6 else ''}")
        more = [f"... {len(self.rows)} rows"] if len(self.rows) > 10 else []
        return "\n    ".join([*lines, *more]) or "nothing"


def theirs(server: Server, expr: str, times: tuple[int, ...]) -> Answer:
    answer = server.query(expr, *times)
    notes = [*answer.get("warnings", ()), *answer.get("infos", ())]
    if answer["status"] != "success":
        return Answer(answer["error"], {}, [], notes)
    data = answer["data"]
    rows: Rows = {}
    order = []
    if data["resultType"] in ("scalar", "string"):
        at, value = data["result"]
        rows[()] = [(round(at * 1000), float(value))]
    else:
        for one in data["result"]:
            points = one["values"] if "values" in one else [one["value"]] if "value" in one else []
            more = one["histograms"] if "histograms" in one else [one["histogram"]] if "histogram" in one else []
            points = sorted((round(at * 1000), float(value)) for at, value in [*points, *_counts(more)])
            rows[make(one["metric"])] = points
            if data["resultType"] == "vector":
                order += [value for _, value in points]
    return Answer(None, rows, order, notes)


def _counts(histograms: list[Any]) -> list[Any]:
    """Histograms are compared by their counts; other functions take them apart."""
    return [(at, histogram["count"]) for at, histogram in histograms]


def _number(value: Any) -> float:
    return value if isinstance(value, float) else value.count


def ours(engine: Engine, data: Data, expr: str, times: tuple[int, ...]) -> Answer:
    seconds = [ms / 1000 for ms in times]
    try:
        result = engine.instant(data, expr, seconds[0]) if len(times) == 1 else engine.range(data, expr, *seconds)
    except (EvalError, ParseError) as error:
        return Answer(f"{type(error).__name__}: {error}", {}, [], [])
    except Exception as error:  # noqa: BLE001 - a crash is a difference, not the end of the run
        import traceback

        last = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{Path(last.filename).name}:{last.lineno}"
        return Answer(f"CRASH {where} {type(error).__name__}: {error}", {("crash", "crash"): []}, [], [])
    notes = [*result.warnings, *result.infos]
    if result.type == "scalar":
        return Answer(None, {(): [(round(result.at * 1000), result.value)]}, [], notes)
    if result.type == "vector":
        at = round(result.at * 1000)
        values = [_number(sample.value) for sample in result.samples]
        rows = {sample.labels: [(at, value)] for sample, value in zip(result.samples, values, strict=True)}
        return Answer(None, rows, values, notes)
    rows = {row[0]: list(zip(row[1], map(_number, row[2]), strict=True)) for row in result.series}
    return Answer(None, rows, [], notes)


def near(left: float, right: float, bar: float) -> bool:
    if left == right or (math.isnan(left) and math.isnan(right)):
        return True
    if not math.isfinite(left) or not math.isfinite(right):
        return False
    difference = abs(left - right)
    return difference <= bar or difference <= RELATIVE * max(abs(left), abs(right))


def difference(expr: str, mine: Answer, other: Answer, bar: float) -> str | None:
    """What differs, in a few words; None if nothing does."""
    if mine.error is not None or other.error is not None:
        if mine.error is None or other.error is None or mine.rows:
            return "an error on one side"
        return None
    if "count_values" in expr:
        mine, other = _rounded(mine), _rounded(other)
    fault = None
    if mine.rows.keys() != other.rows.keys():
        fault = "other series"
    else:
        for labels, points in mine.rows.items():
            others = other.rows[labels]
            if [at for at, _ in points] != [at for at, _ in others]:
                fault = "other times"
            elif not all(near(a, b, bar) for (_, a), (_, b) in zip(points, others, strict=True)):
                fault = "other values"
    if fault is None:
        is_sort = expr.startswith(("sort(", "sort_desc("))
        if is_sort and not all(near(a, b, bar) for a, b in zip(mine.order, other.order, strict=True)):
            return "another order"
        return None
    if _choice_among_equals(expr, mine, other, bar):
        return None
    return fault


def _rounded(answer: Answer) -> Answer:
    """With the values that count_values has put into labels cut to 9 digits: the last ones depend on libm."""
    rows = {}
    for labels, points in answer.rows.items():
        key = tuple((name, f"{float(value):.9g}" if name == "v" else value) for name, value in labels)
        rows[key] = points
    return Answer(answer.error, rows, answer.order, answer.annotations)


def _choice_among_equals(expr: str, mine: Answer, other: Answer, bar: float) -> bool:
    """Whether topk and the like are in it, and both sides have the same values at each time, if for other series."""
    if not any(isinstance(node, Aggregate) and node.op in _CHOOSING for node in walk(parse(expr))):
        return False
    columns = []
    for rows in (mine.rows, other.rows):
        column: dict[int, list[float]] = {}
        for points in rows.values():
            for at, value in points:
                column.setdefault(at, []).append(value)
        columns.append({at: sorted(values, key=lambda v: (v != v, v)) for at, values in column.items()})
    left, right = columns
    return left.keys() == right.keys() and all(
        len(left[at]) == len(right[at]) and all(near(a, b, bar) for a, b in zip(left[at], right[at], strict=True))
        for at in left
    )


def is_known(release: tuple[int, int], expr: str, mine: Answer, other: Answer) -> bool:
    """Whether a difference is one of those that have a reason.

    - In a subquery with a negative offset whose first step is the query's own start, 2.42 and 3.5 move what has `@` by
      that offset. At other starts they don't.
    - 3.14, which compat "3" stands for, refuses several matches on the one side of a comparison before it compares; 3.5
      only among those that pass.
    - 3.14 lets label_replace(), label_join() and functions of ranges make the same labels of several series, unless at
      one time (Prometheus #15114, #14695); 3.5 does not.
    - 3.5's info() takes the labels of another series where one is missing at a step (Prometheus #17134).
    """
    nodes = list(walk(parse(expr)))
    if any(isinstance(node, Subquery) and _is_negative(node.offset) and _is_pinned(node.expr) for node in nodes):
        return True
    if not (3, 0) <= release < (3, 14):
        return False
    if release < (3, 6) and any(isinstance(node, Call) and node.name == "info" for node in nodes):
        times = {at for answer in (mine, other) for points in answer.rows.values() for at, _ in points}
        return len(times) > 1 or any(isinstance(node, Subquery) for node in nodes)
    if other.error is not None:
        return "same labelset" in other.error and mine.error is None
    compares = any(isinstance(node, Binary) and node.op in _FILTERS and not node.return_bool for node in nodes)
    return compares and "multiple matches for labels" in (mine.error or "")


def _is_negative(offset: Duration | None) -> bool:
    return isinstance(offset, DurationLiteral) and offset.ms < 0


def _is_pinned(expr: Expr) -> bool:
    return any(isinstance(node, VectorSelector | Subquery) and node.at is not None for node in walk(expr))


class World:
    """One server with its data, and our engines with the same."""

    def __init__(
        self, server: Server, series: list[Series], engines: dict[str, Engine], release: tuple[int, int]
    ) -> None:
        self.server, self.series, self.engines, self.release = server, series, engines, release
        self.data = Data(series)
        self.shift = 0
        server.write(series)

    def faults(self, expr: str, times: tuple[int, ...]) -> tuple[list[tuple[str, str, Answer]], Answer]:
        """Each evaluator that differs, with what differs and its answer; and the answer of Prometheus."""
        other = theirs(self.server, expr, times)
        bar = ABSOLUTE * largest(self.series, expr)
        found = []
        for name, engine in self.engines.items():
            mine = ours(engine, self.data, expr, times)
            fault = difference(expr, mine, other, bar)
            if fault and not is_known(self.release, expr, mine, other) and not self.undecided(expr, times):
                found.append((name, fault, mine))
        return found, other

    def undecided(self, expr: str, times: tuple[int, ...]) -> bool:
        """Whether topk, bottomk or limitk had to choose among equal values somewhere below the top."""
        choosing = [node for node in walk(parse(expr)) if isinstance(node, Aggregate) and node.op in _CHOOSING]
        for node in choosing:
            answer = ours(
                self.engines[next(iter(self.engines))], self.data, expr[node.expr.start : node.expr.end], times
            )
            columns: dict[int, list[str]] = {}
            for points in answer.rows.values():
                for at, value in points:
                    columns.setdefault(at, []).append(f"{value:.9g}")
            if any(len(set(column)) < len(column) for column in columns.values()):
                return True
        return False

    def shrunk(self, expr: str, times: tuple[int, ...]) -> tuple[str, tuple[int, ...], list[Series]]:
        """A smaller expression, fewer times and less data that still differ."""
        if len(times) == 3:
            for at in range(times[0], times[1] + 1, times[2]):
                if self.faults(expr, (at,))[0]:
                    times = (at,)
                    break
        expr = shrink_expression(expr, lambda candidate: bool(self.faults(candidate, times)[0]))
        named = [one for one in self.series if dict(one.labels)["__name__"] in expr]
        state = [self.series]

        def differs(series: list[Series]) -> bool:
            if not series:
                return False
            if self._moved(series, expr, times):
                state[0] = series
                return True
            return False

        if named and differs(named):
            shrink_series(named, differs)
        return expr, times, [one for one in state[0] if one.times]

    def _moved(self, series: list[Series], expr: str, times: tuple[int, ...]) -> bool:
        """Whether there is a difference on other data: stored a day later, where the server has nothing yet."""
        self.shift += DAY_MS
        moved = [Series(one.labels, [at + self.shift for at in one.times], one.values) for one in series]
        self.server.write(moved)
        data, self.data = self.data, Data(moved)
        try:
            steps = times[2:]
            return bool(self.faults(shifted(expr, self.shift), (*(at + self.shift for at in times[:2]), *steps))[0])
        finally:
            self.data = data


def shifted(expr: str, shift: int) -> str:
    return _LITERAL_AT.sub(lambda match: f"{match[1]}{float(match[2]) + shift / 1000:.3f}", expr)


def as_test(expr: str, times: tuple[int, ...], series: list[Series], compat: str, expected: Answer) -> str:
    """A test to paste: data, expression, and what Prometheus answered."""
    lines = ["def test_difference():", "    data = Data(["]
    for one in series:
        values = ", ".join(_value(value) for value in one.values)
        lines.append(f"        Series({dict(one.labels)!r}, {list(one.times)!r}, [{values}]),")
    call = "instant" if len(times) == 1 else "range"
    moments = ", ".join(str(ms / 1000) for ms in times)
    lines += ["    ])", f"    result = Engine(compat={compat!r}).{call}(data, {expr!r}, {moments})"]
    if expected.error is not None:
        lines.append(f"    # Prometheus: {expected.error}")
    else:
        lines.append(f"    # Prometheus: {dict(list(expected.rows.items())[:5])!r}")
    return "\n".join(lines)


def _value(value: float) -> str:
    if not isinstance(value, float):
        return repr(value)
    if is_stale(value):
        return "STALE"
    return repr(value) if math.isfinite(value) else f'float("{value}")'


def a_time(random: Random, base_ms: int) -> tuple[int, ...]:
    """One time, or start, end and step of a range; mostly where there is data."""
    at = base_ms + random.randrange(-60_000, SPAN_MS + 400_000)
    if random.random() < 0.4:
        at -= at % 15_000
    if random.random() < 0.45:
        return (at,)
    step = random.choice((15_000, 60_000, 30_000, 7_000, 17_500, 300_000))
    start = base_ms + random.randrange(SPAN_MS)
    if random.random() < 0.4:
        start -= start % step
    return (start, start + step * random.randrange(20) + random.choice((0, 0, 1)), step)


def run(
    binary: str,
    pairs: int,
    seed: int,
    compat: str,
    evaluators: Iterable[str],
    *,
    show: int = 5,
    notes: bool = False,
    histograms: bool = False,
) -> tuple[int, Counter[str]]:
    """Compare so many pairs. Returns the number of differences, and counts for the summary."""
    release = version(binary)
    counts: Counter[str] = Counter()
    engines = {name: Engine(compat=compat, evaluator=name) for name in evaluators}
    shown: set[str] = set()
    for number in range(0, pairs, PAIRS_A_WORLD):
        random = Random(f"{seed} {number}")
        base_ms = BASE_MS + random.randrange(DAY_MS)
        with running(binary) as server:
            series_of = make_histograms if histograms else make_series
            world = World(server, series_of(random, base_ms), engines, release)
            expressions = Expressions(random, release, base_ms)
            for _ in range(min(PAIRS_A_WORLD, pairs - number)):
                expr = expressions.of_histograms() if histograms else expressions.any()
                times = a_time(random, base_ms)
                found, other = world.faults(expr, times)
                counts["pairs"] += 1
                counts["errors"] += other.error is not None
                counts["not empty"] += bool(other.rows)
                if notes and other.error is None and not found:
                    _compare_notes(engines, world, expr, times, other, counts)
                if not found:
                    continue
                counts["differences"] += 1
                for name, fault, _ in found:
                    counts[f"{name}: {fault}"] += 1
                if len(shown) < show:
                    _show(world, expr, times, found, other, compat, shown)
    return counts["differences"], counts


def _compare_notes(
    engines: dict[str, Engine], world: World, expr: str, times: tuple[int, ...], other: Answer, counts: Counter[str]
) -> None:
    for name, engine in engines.items():
        mine = ours(engine, world.data, expr, times)
        if _bare(mine.annotations) != _bare(other.annotations) and len(other.annotations) < 10:
            counts[f"{name}: other annotations"] += 1
            if counts[f"{name}: other annotations"] <= 5:
                print(f"annotations of {expr}\n    {name}: {mine.annotations}\n    Prometheus: {other.annotations}")


def _bare(notes: list[str]) -> list[str]:
    """Without what 3.5 and 3.14 say differently: the empty name of a metric, that sort does nothing in a range."""
    return sorted(note.replace(' for metric name ""', "") for note in notes if "sort is ineffective" not in note)


def _show(
    world: World, expr: str, times: tuple[int, ...], found: Any, other: Answer, compat: str, shown: set[str]
) -> None:
    """Shrink and print a difference, unless one of the same functions and operators was printed before."""
    small, moments, series = world.shrunk(expr, times)
    found, other = world.faults(small, moments)
    shape = " ".join(sorted(_WORDS.findall(small)))
    if shape in shown:
        return
    shown.add(shape)
    print(f"DIFFERENCE in {expr} at {times}, shrunk to {small} at {moments}")
    for name, fault, mine in found:
        print(f"  {name}: {fault}\n    {mine}")
    print(f"  Prometheus:\n    {other}")
    if sum(len(one.times) for one in series) < 200:
        print(as_test(small, moments, series, compat, other))
    print(flush=True)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--prometheus", required=True, metavar="BINARY")
    parser.add_argument("--pairs", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--compat", choices=["2", "3"], help="default: the major version of the binary")
    parser.add_argument("--evaluator", choices=EVALUATORS, help="only this one")
    parser.add_argument("--show", type=int, default=5, help="how many differences to shrink and print")
    parser.add_argument("--annotations", action="store_true", help="compare warnings and infos, too")
    parser.add_argument("--histograms", action="store_true", help="native histograms instead of floats; needs 3.x")
    options = parser.parse_args(arguments)
    release = version(options.prometheus)
    compat = options.compat or str(release[0])
    evaluators = [options.evaluator] if options.evaluator else EVALUATORS
    start = time.monotonic()
    differences, counts = run(
        options.prometheus,
        options.pairs,
        options.seed,
        compat,
        evaluators,
        show=options.show,
        notes=options.annotations,
        histograms=options.histograms,
    )
    pairs = max(1, counts["pairs"])
    for key, count in sorted(counts.items()):
        if ":" in key:
            print(f"{key}: {count}")
    print(
        f"Prometheus {release[0]}.{release[1]}, compat {compat}, seed {options.seed}: {counts['pairs']} pairs in "
        f"{time.monotonic() - start:.0f} s, {counts['not empty'] / pairs:.0%} not empty, "
        f"{counts['errors'] / pairs:.0%} errors, {differences} differences"
    )
    return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main())
