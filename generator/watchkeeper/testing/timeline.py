"""A small picture in text of what an alert did: its value against the threshold, pending and firing over time."""

from __future__ import annotations

from watchkeeper.engine.labels import NAME, without
from watchkeeper.engine.results import EvalError
from watchkeeper.promql.nodes import Binary, Paren
from watchkeeper.testing import wanted
from watchkeeper.testing.explain import COMPARISONS, MIRRORED, Reasons, stripped

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import TypeVar

    from watchkeeper.promql.nodes import Expr
    from watchkeeper.ruler.history import AlertSeries, History
    from watchkeeper.ruler.rules import Rule
    from watchkeeper.testing.runs import Run
    from watchkeeper.testing.wanted import Wanted

    Item = TypeVar("Item")

_WIDTH = 72
_SHOWN = 3
_BARS = "▁▂▃▄▅▆▇█"
_NOTHING = "·"
_STATES = {"inactive": _NOTHING, "pending": "p", "firing": "F"}
_RANK = {"inactive": 0, "pending": 1, "firing": 2}


def timeline(run: Run, history: History, name: str, labels: Mapping[str, Wanted]) -> list[str]:
    """The lines of the picture: up to three alerts, or the series that came nearest to one."""
    lines = []
    for rule in run.bench.rules(name):
        lines += _of_rule(run, history, rule, labels)
    return lines


def _of_rule(run: Run, history: History, rule: Rule, labels: Mapping[str, Wanted]) -> list[str]:
    reader = Reasons(run, history, rule)
    value, op, limit_of = _sides(rule.tree)
    values = _by_labels(reader, value)
    limits = {} if limit_of is None else _by_labels(reader, limit_of)
    alerts = [one for one in history.alerts(rule.name) if one.rule is rule]
    alerts.sort(key=lambda one: (not wanted.labels_are(labels, one.labels), not one.firing, one.key))
    shown: list[tuple[Mapping[str, str], AlertSeries | None, dict[int, float]]]
    if alerts:
        shown = [(one.labels, one, _match(values, one, rule)) for one in alerts[:_SHOWN]]
    else:
        shown = [(dict(key), None, points) for key, points in list(values.items())[:_SHOWN]]
    if not shown:
        return []
    lines = [f"  {rule.expr}"]
    more = (len(alerts) or len(values)) - len(shown)
    for own, alert, points in shown:
        lines.append(f"  {wanted.braces(own)}")
        limit = _limit(limits, own)
        lines += _rows(history, alert, points, limit, op)
    if more > 0:
        lines.append(f"  and {more} more")
    return [*lines, *_scale(run, history)]


def _sides(tree: Expr) -> tuple[Expr, str, Expr | None]:
    """What is compared with what, in the comparison that decides: at the top, or on the left of `and` and `unless`."""
    top = tree
    while isinstance(tree, Paren) or (isinstance(tree, Binary) and tree.op in {"and", "unless", "or"}):
        tree = tree.expr if isinstance(tree, Paren) else tree.lhs
    if not isinstance(tree, Binary) or tree.op not in COMPARISONS:
        return top, "", None
    if tree.lhs.type == "scalar" and tree.rhs.type != "scalar":  # 0.5 < x
        return tree.rhs, MIRRORED.get(tree.op, tree.op), tree.lhs
    return tree.lhs, tree.op, tree.rhs


def _by_labels(reader: Reasons, tree: Expr) -> dict[tuple[tuple[str, str], ...], dict[int, float]]:
    try:
        rows = reader.rows(stripped(tree))
    except EvalError:
        return {}
    return {
        without(labels, (NAME,)): {
            moment: value for moment, value in zip(moments, values, strict=True) if type(value) is float
        }
        for labels, moments, values in rows
    }


def _match(
    values: Mapping[tuple[tuple[str, str], ...], dict[int, float]], alert: AlertSeries, rule: Rule
) -> dict[int, float]:
    """The values of the series that an alert came from: the one with its labels, its rule's own left aside."""
    own = {key: value for key, value in alert.labels.items() if key not in rule.labels and key != "alertname"}
    for key, points in values.items():
        if {name: value for name, value in key if name not in rule.labels} == own:
            return points
    return {}


def _limit(limits: Mapping[tuple[tuple[str, str], ...], dict[int, float]], own: Mapping[str, str]) -> dict[int, float]:
    """The values to compare with that go with these labels: the only ones there are, or those that agree most."""
    if not limits:
        return {}
    return limits[max(limits, key=lambda key: sum(own.get(name) == value for name, value in key))]


def _rows(
    history: History,
    alert: AlertSeries | None,
    points: dict[int, float],
    limit: dict[int, float],
    op: str,
) -> list[str]:
    moments = history.clock.times
    pick = min if op in {"<", "<="} else max
    finite = [value for value in (*points.values(), *limit.values()) if abs(value) < float("inf")]
    low, high = (min(finite), max(finite)) if finite else (0.0, 0.0)
    lines = []
    for word, some in (("value", points), ("limit", limit)):
        steady = len(set(some.values())) == 1 and word == "limit"
        if some and not steady:
            row = "".join(_bar([some[m] for m in column if m in some], pick, low, high) for column in _columns(moments))
            lines.append(f"    {word}  {row}  {min(some.values()):g} to {max(some.values()):g}")
    if lines and limit and len(lines) == 1:
        lines[0] += f"; it takes {op} {next(iter(limit.values())):g}"
    if alert is not None:
        states = [alert.state(index) for index in range(len(moments))]
        row = "".join(_STATES[max(column, key=_RANK.__getitem__)] for column in _columns(states))
        lines.append(f"    state  {row}  p pending, F firing")
    else:
        lines.append(f"    state  {_NOTHING * len(_columns(moments))}  never pending")
    return lines


def _columns(items: Sequence[Item]) -> list[Sequence[Item]]:
    """The items in portions, one a character."""
    size = -(-len(items) // _WIDTH)
    return [items[at : at + size] for at in range(0, len(items), size)]


def _bar(values: list[float], pick: Callable[[Iterable[float]], float], low: float, high: float) -> str:
    numbers = [value for value in values if value == value]  # noqa: PLR0124 - NaN
    if not numbers:
        return _NOTHING if not values else "?"
    value = min(max(pick(numbers), low), high)
    share = (value - low) / (high - low) if high > low else 0.0
    return _BARS[min(int(share * len(_BARS)), len(_BARS) - 1)]


def _scale(run: Run, history: History) -> list[str]:
    moments = history.clock.times
    size = -(-len(moments) // _WIDTH)
    width = -(-len(moments) // size)
    marks = range(0, width, 18)
    ticks = "".join("|" if place in marks else " " for place in range(width)).rstrip()
    words = ""
    for place in marks:
        word = run.told(moments[place * size]).partition(" ")[0]
        words = words.ljust(place) + word if len(words) <= place else words
    return [f"           {ticks}", f"           {words}", f"           one character is {_each(run, size)}"]


def _each(run: Run, size: int) -> str:
    from watchkeeper.testing.times import duration

    return duration(run.step * size)
