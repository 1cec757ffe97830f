"""Run PromQL cases, as `README.md` beside them describes the files, through both evaluators.

    python tests/watchkeeper/promql/run_cases.py FILE... [-k TEXT] [--evaluator steps|arrays] [--no-rerun] [-v]

Prints each failing case with what was expected and what came, and last `N passed, M failed`; exit status 1 if any
failed. An instant case is evaluated as it stands, as the middle of a range of three steps, and at other times with
`@ t` on its selectors; it passes only if all of that gives the same, by either evaluator.
"""

from __future__ import annotations

# ruff: noqa: T201 - a program that prints
import argparse
import contextlib
import json
import math
import re
import sys
import traceback
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from watchkeeper.engine import Data, Engine, EvalError, Series
from watchkeeper.engine.data import STALE
from watchkeeper.engine.histogram import from_classic, from_fields
from watchkeeper.engine.labels import format_series, get, make, set_, without
from watchkeeper.promql import ParseError, parse, walk
from watchkeeper.promql.durations import parse_duration
from watchkeeper.promql.nodes import At, Call, DurationExpr, MatrixSelector, Subquery, VectorSelector

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

EVALUATORS = ("steps", "arrays")
EPSILON = 1e-6
MINUTE_MS = 60_000
# What gives something else at another time, although every selector is pinned with @.
_TIME_BOUND = {
    *("time", "timestamp", "start_timestamp", "predict_linear", "start", "end", "step", "range", "info"),
    *("minute", "hour", "day_of_week", "day_of_month", "day_of_year", "days_in_month", "month", "year"),
}
_QUERY_BOUND = {"start", "end", "step", "range"}


class Mismatch(Exception):  # noqa: N818
    """The answer is not the one expected."""

    def __init__(self, expected: str, got: str) -> None:
        super().__init__(expected, got)
        self.expected, self.got = expected, got


class Tally:
    """How many queries the evaluators were asked, and how many the arrays left to the steps."""

    def __init__(self) -> None:
        self.asked: Counter[str] = Counter()
        self.left: Counter[str] = Counter()

    @contextlib.contextmanager
    def counting(self, name: str) -> Iterator[None]:
        self.asked[name] += 1
        if name != "arrays":
            yield
            return
        from watchkeeper.engine import arrays

        evaluate = arrays.evaluate

        def counted(query: Any) -> Any:
            found = evaluate(query)
            self.left[name] += found is None
            return found

        arrays.evaluate = counted
        try:
            yield
        finally:
            arrays.evaluate = evaluate


# Loading


def load_number(value: Any) -> Any:
    """A value of the JSON as a float, or a native histogram."""
    if isinstance(value, dict):
        return from_fields(value["hist"])
    return STALE if value == "stale" else float(value)


def expand(values: Iterable[Any]) -> list[Any]:
    """The values of a series, None for what is missing; {"hist_series": [h, "+", by, n]} is h and n more."""
    found: list[Any] = []
    for value in values:
        if isinstance(value, dict) and "hist_series" in value:
            first, sign, by, count = value["hist_series"]
            found.append(load_number({"hist": first}))
            step = load_number({"hist": by})
            for _ in range(count):
                found.append(found[-1].add(step) if sign == "+" else found[-1].sub(step))
        else:
            found.append(None if value is None else load_number(value))
    return found


_START = re.compile(r"(?P<first>[+-]?[0-9a-z]+?)(?P<by>[+-][0-9a-z]+?)?(?:x(?P<times>\d+))?")


def starts(raw: list[str], gap_ms: int) -> list[int | None]:
    """Start timestamps in ms, of offsets from the time of each sample: `_`, `-30s`, `-30s-1mx2`."""
    found: list[int | None] = []
    for item in raw:
        if item.startswith("_"):
            found += [None] * int(item[2:] or 1)
            continue
        match = _START.fullmatch(item)
        assert match, item
        offset, by = _offset(match["first"]), _offset(match["by"] or "0")
        for number in range(int(match["times"] or 0) + 1):
            found.append(len(found) * gap_ms + offset + number * by)
    return found


def _offset(text: str) -> int:
    sign = -1 if text.startswith("-") else 1
    text = text.lstrip("+-")
    return 0 if text == "0" else sign * parse_duration(text)


def load_series(load: dict[str, Any]) -> list[Series]:
    gap = load["gap_ms"]
    found = []
    for series in load["series"]:
        values = expand(series["values"])
        begins = series.get("st") or (starts(series["st_raw"], gap) if "st_raw" in series else None)
        kept = [number for number, value in enumerate(values) if value is not None]
        # 0 is no start timestamp, as in Prometheus.
        begun = [(begins[n] if n < len(begins) else None) or 0 for n in kept] if begins else None
        found.append(Series(make(series["metric"]), [n * gap for n in kept], [values[n] for n in kept], begun))
    if load["with_nhcb"]:
        found += custom_buckets(found)
    return found


def custom_buckets(series: Iterable[Series]) -> list[Series]:
    """Native histograms with custom buckets, made of the classic histograms among the series."""
    collected: dict[Any, dict[int, dict[str, Any]]] = {}
    for one in series:
        name = get(one.labels, "__name__")
        base, _, kind = name.rpartition("_")
        le = get(one.labels, "le")
        if kind not in ("bucket", "count", "sum") or (kind == "bucket" and not le):
            continue
        labels = set_(without(one.labels, ("le",)) if kind == "bucket" else one.labels, "__name__", base)
        at = collected.setdefault(labels, {})
        for time, value in zip(one.times, one.values, strict=True):
            if isinstance(value, float) and not math.isnan(value):
                fields = at.setdefault(time, {"buckets": {}})
                if kind == "bucket":
                    fields["buckets"][float(le)] = value
                else:
                    fields[kind] = value
    made = []
    for labels, at in collected.items():
        found = {time: from_classic(f["buckets"], f.get("count"), f.get("sum")) for time, f in sorted(at.items())}
        kept = {time: value for time, value in found.items() if value is not None}
        made.append(Series(labels, list(kept), list(kept.values())))
    return made


# Comparing


def same_float(expected: float, got: float, epsilon: float = EPSILON) -> bool:
    if math.isnan(expected) or math.isnan(got):
        return math.isnan(expected) and math.isnan(got)
    if expected == got:
        return True
    difference, size = abs(expected - got), abs(expected) + abs(got)
    if expected == 0 or got == 0 or size < sys.float_info.min:
        return difference < epsilon * sys.float_info.min
    return difference / min(size, sys.float_info.max) < epsilon


def same(expected: Any, got: Any) -> bool:
    if isinstance(expected, dict):
        return not isinstance(got, float) and same_histogram(expected["hist"], got)
    return isinstance(got, float) and same_float(float(expected), got)


def same_histogram(fields: dict[str, Any], got: Any) -> bool:
    """Whether a histogram is the one described. A counter reset hint counts only where it is given."""
    wanted = load_number({"hist": fields})
    if "counter_reset_hint" in fields and str(wanted.counter_reset_hint) != str(got.counter_reset_hint):
        return False
    if wanted.schema != got.schema or wanted.zero_threshold != got.zero_threshold:
        return False
    pairs = [(wanted.count, got.count), (wanted.sum, got.sum), (wanted.zero_count, got.zero_count)]
    mine, theirs = _buckets(wanted), _buckets(got)
    if mine.keys() != theirs.keys() or not _same_all(_bounds(wanted), _bounds(got)):
        return False
    pairs += [(mine[key], theirs[key]) for key in mine]
    return all(same_float(a, b) for a, b in pairs)


def _same_all(left: list[float], right: list[float]) -> bool:
    return len(left) == len(right) and all(same_float(a, b) for a, b in zip(left, right, strict=True))


def _bounds(histogram: Any) -> list[float]:
    return list(histogram.custom_values or ())


def _buckets(histogram: Any) -> dict[tuple[str, int], float]:
    """The buckets with something in them, by sign and index."""
    found = {}
    for sign in ("positive", "negative"):
        for index, count in dict(getattr(histogram, sign)).items():
            if count:
                found[sign, index] = count
    return found


def rows(result: Any) -> list[tuple[Any, list[int], list[Any]]]:
    if result.type == "vector":
        at = round(result.at * 1000)
        return [(sample.labels, [at], [sample.value]) for sample in result.samples]
    return [(row[0], list(row[1]), list(row[2])) for row in result.series]


def shown(result: Any) -> str:
    if result.type in ("scalar", "string"):
        return f"{result.type} {result.value!r}"
    found = [f"{format_series(labels)} {_stamped(times, values)}" for labels, times, values in rows(result)]
    return f"{result.type} of {len(found)}" + "".join(f"\n      {row}" for row in found)


def _stamped(times: list[int], values: list[Any]) -> str:
    return " ".join(f"{_text(value)}@{time}" for time, value in zip(times, values, strict=True))


def _text(value: Any) -> str:
    if isinstance(value, dict):
        return str(from_fields(value["hist"]))
    return repr(value) if isinstance(value, float) else str(value)


def wanted_rows(case: dict[str, Any]) -> list[tuple[Any, list[int], list[Any]]]:
    expect = case["expect"]
    if expect["type"] == "vector":
        return [(make(one["metric"]), [case["at_ms"]], one["values"][:1]) for one in expect["series"]]
    start = expect.get("start_ms", case.get("start_ms"))
    step = expect.get("step_ms", case.get("step_ms"))
    found = []
    for one in expect["series"]:
        kept = [(start + n * step, value) for n, value in enumerate(one["values"]) if value is not None]
        if kept:
            found.append((make(one["metric"]), [time for time, _ in kept], [value for _, value in kept]))
    return found


def compare(case: dict[str, Any], result: Any, *, ordered: bool) -> None:
    """Raise Mismatch where the result is not what the case expects."""
    expect = case["expect"]
    if expect["type"] in ("scalar", "string"):
        good = result.type == expect["type"] and (
            same(expect["value"], result.value) if result.type == "scalar" else result.value == expect["value"]
        )
        if not good:
            raise Mismatch(f"{expect['type']} {expect['value']!r}", shown(result))
        return
    if result.type != expect["type"]:
        raise Mismatch(f"a {expect['type']}", shown(result))
    wanted, got = wanted_rows(case), rows(result)
    if not ordered:
        wanted.sort(key=lambda row: row[0])
        got.sort(key=lambda row: row[0])
    if len(wanted) != len(got) or not all(map(_same_row, wanted, got)):
        text = "".join(f"\n      {format_series(labels)} {_stamped(t, v)}" for labels, t, v in wanted)
        raise Mismatch(f"{expect['type']} of {len(wanted)}{text}", shown(result))


def _same_row(wanted: Any, got: Any) -> bool:
    return wanted[0] == got[0] and wanted[1] == got[1] and all(map(same, wanted[2], got[2]))


def compare_annotations(case: dict[str, Any], result: Any) -> None:
    annotations = case["annotations"]
    for key, texts in (("warn", result.warnings), ("info", result.infos)):
        if annotations.get(f"no_{key}") and texts:
            raise Mismatch(f"no_{key}", f"{texts}")
        for wanted in annotations.get(key, ()):
            if not any(_matches(wanted, text) for text in texts):
                raise Mismatch(f"{key} {wanted or 'of any text'}", f"{texts}")


def _matches(wanted: dict[str, str], text: str) -> bool:
    bare = re.sub(r"^PromQL (?:warning|info): ", "", text)
    if "msg" in wanted:
        return bare == re.sub(r"^PromQL (?:warning|info): ", "", wanted["msg"])
    return "regex" not in wanted or re.search(wanted["regex"], text) is not None


# Running


class Runner:
    """Runs cases of one file; keeps the data that several of them load."""

    def __init__(self, loads: dict[str, Any], evaluators: Iterable[str] = EVALUATORS, *, rerun: bool = True) -> None:
        self.loads = loads
        self.engines = {
            name: Engine(compat="3", delayed_name_removal=True, evaluator=name)  # type: ignore[arg-type]
            for name in evaluators
        }
        self.rerun = rerun
        self.tally = Tally()
        self._data: dict[tuple[str, ...], Data] = {}

    def data(self, names: list[str]) -> Data:
        key = tuple(names)
        if key not in self._data:
            self._data[key] = Data([series for name in names for series in load_series(self.loads[name])])
        return self._data[key]

    def fault(self, case: dict[str, Any]) -> str | None:
        """What is wrong with the answer to a case; None if nothing is. Never raises."""
        for name in self.engines:
            what = name
            try:
                for what, check in self._checks(case, name):  # noqa: B007 - for the message
                    check()
            except Mismatch as mismatch:
                return f"{what}:\n    expected {mismatch.expected}\n    got      {mismatch.got}"
            except Exception as error:  # noqa: BLE001 - a traceback is a failure of this case alone
                last = traceback.extract_tb(error.__traceback__)[-1]
                place = f"{Path(last.filename).name}:{last.lineno}" if not isinstance(error, EvalError) else "error"
                return f"{what}:\n    expected {case['expect']['type']}\n    got      {place}: {_error(error)}"
        return None

    def _checks(self, case: dict[str, Any], name: str) -> Iterator[tuple[str, Callable[[], None]]]:
        yield f"{name}, {case['mode']}", lambda: self._as_it_stands(case, name)
        expect = case["expect"]["type"]
        if not self.rerun or case["mode"] != "instant" or expect not in ("vector", "scalar"):
            return
        tree = parse(case["expr"])
        calls = {node.name for node in walk(tree) if isinstance(node, Call)}
        calls |= {node.op for node in walk(tree) if isinstance(node, DurationExpr)}
        calls |= {node.function for node in walk(tree) if isinstance(node, At) and node.function}
        if calls & _QUERY_BOUND:
            return
        if not case["ordered"]:
            yield f"{name}, as a range", lambda: self._as_range(case, name)
        if calls & _TIME_BOUND:
            return
        pinned = pin(case["expr"], case["at_ms"])
        for at in other_times(case["at_ms"]):
            yield f"{name}, {pinned} at {at / 1000:g} s", lambda at=at: self._pinned(case, name, pinned, at)

    def _evaluate(self, name: str, case: dict[str, Any], expr: str, *times: int) -> Any:
        data = self.data(case["loads"])
        seconds = [time / 1000 for time in times]
        with self.tally.counting(name):
            if len(seconds) == 1:
                return self.engines[name].instant(data, expr, seconds[0])
            return self.engines[name].range(data, expr, *seconds)

    def _as_it_stands(self, case: dict[str, Any], name: str) -> None:
        expect = case["expect"]
        times = [case[key] for key in ("at_ms", "start_ms", "end_ms", "step_ms") if key in case]
        try:
            result = self._evaluate(name, case, case["expr"], *times)
        except (EvalError, ParseError) as error:
            text = getattr(error, "message", str(error))
            wanted = expect.get("msg")
            if expect["type"] != "fail":
                raise Mismatch(expect["type"], f"{type(error).__name__}: {error}") from None
            if wanted is not None and wanted not in text:
                raise Mismatch(f"fail: {wanted}", f"{type(error).__name__}: {error}") from None
            if "regex" in expect and not re.search(expect["regex"], text):
                raise Mismatch(f"fail like {expect['regex']}", f"{type(error).__name__}: {error}") from None
            return
        if expect["type"] == "fail":
            raise Mismatch(f"fail {expect.get('msg') or expect.get('regex') or ''}", shown(result))
        compare(case, result, ordered=case["ordered"])
        compare_annotations(case, result)

    def _as_range(self, case: dict[str, Any], name: str) -> None:
        at = case["at_ms"]
        result = self._evaluate(name, case, case["expr"], at - MINUTE_MS, at + MINUTE_MS, MINUTE_MS)
        middle = []
        for labels, times, values in rows(result):
            middle += [(labels, [at], [value]) for time, value in zip(times, values, strict=True) if time == at]
        result.series = middle
        if case["expect"]["type"] == "scalar":
            case = {
                **case,
                "expect": {"type": "vector", "series": [{"metric": {}, "values": [case["expect"]["value"]]}]},
            }
        expect = {**case["expect"], "type": "matrix", "start_ms": at, "end_ms": at, "step_ms": MINUTE_MS}
        compare({**case, "expect": expect}, result, ordered=False)

    def _pinned(self, case: dict[str, Any], name: str, pinned: str, at: int) -> None:
        result = self._evaluate(name, case, pinned, at)
        compare({**case, "at_ms": at}, result, ordered=case["ordered"])


def _error(error: Exception) -> str:
    return f"{type(error).__name__}: {str(error)[:300]}"


def other_times(at: int) -> list[int]:
    return [at - 90_000, at - 1, at + 1, at + 10 * MINUTE_MS, 0]


def pin(expr: str, at_ms: int) -> str:
    """The expression with `@ at` behind each selector and subquery that has none; what is in a subquery is left."""
    places: list[int] = []
    stack: list[Any] = [parse(expr)]
    while stack:
        node = stack.pop()
        if isinstance(node, Subquery):
            if node.at is None:
                places.append(node.end)
        elif isinstance(node, MatrixSelector):
            if node.selector.at is None:
                places.append(node.end)
        elif isinstance(node, VectorSelector):
            if node.at is None:
                places.append(node.end)
        else:
            stack += node.children()
    for place in sorted(places, reverse=True):
        expr = f"{expr[:place]} @ {at_ms / 1000:.3f}{expr[place:]}"
    return expr


def read(path: Path) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The loads of a file by their ids, and its evals."""
    with path.open(encoding="utf-8") as lines:
        entries = [json.loads(line) for line in lines if line.strip()]
    loads = {entry["id"]: entry for entry in entries if entry["type"] == "load"}
    return loads, [entry for entry in entries if entry["type"] == "eval"]


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE")
    parser.add_argument("-k", metavar="TEXT", help="only cases with TEXT in their id or expression")
    parser.add_argument("--evaluator", choices=EVALUATORS, help="only this one")
    parser.add_argument("--no-rerun", action="store_true", help="each case only as it stands")
    parser.add_argument("-v", action="store_true", help="print the ids that pass, too")
    options = parser.parse_args(arguments)
    passed = failed = 0
    tally = Tally()
    for path in options.files:
        loads, cases = read(path)
        runner = Runner(loads, [options.evaluator] if options.evaluator else EVALUATORS, rerun=not options.no_rerun)
        runner.tally = tally
        for case in cases:
            if options.k and options.k not in case["id"] and options.k not in case["expr"]:
                continue
            fault = runner.fault(case)
            passed, failed = passed + (fault is None), failed + (fault is not None)
            if fault is not None:
                print(f"FAILED {case['id']} {case['expr']}\n  {fault}")
            elif options.v:
                print(f"passed {case['id']}")
    for name, asked in sorted(tally.asked.items(), reverse=True):
        print(f"{name}: {asked - tally.left[name]} of {asked} evaluated natively")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
