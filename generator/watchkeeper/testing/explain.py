"""Why an alert was silent: the first thing in its expression that gave nothing, in words."""

from __future__ import annotations

from watchkeeper.engine.labels import NAME, format_series, without
from watchkeeper.engine.results import EvalError
from watchkeeper.promql import walk
from watchkeeper.promql.nodes import Aggregate, Binary, Call, Matcher, MatrixSelector, Paren, Subquery, VectorSelector
from watchkeeper.testing import times, wanted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from watchkeeper.engine.data import Series
    from watchkeeper.engine.results import Row
    from watchkeeper.promql.nodes import Expr, Node
    from watchkeeper.ruler.history import AlertSeries, History
    from watchkeeper.ruler.rules import Rule
    from watchkeeper.testing.bench import Bench
    from watchkeeper.testing.runs import Run
    from watchkeeper.testing.wanted import Wanted

COMPARISONS = {">", ">=", "<", "<=", "==", "!="}
MIRRORED = {">": "<", "<": ">", ">=": "<=", "<=": ">="}
_OF_ALERTS = ("ALERTS", "ALERTS_FOR_STATE")
_DEEPEST = 8  # recording rules that read recording rules
_SHOWN = 3


def leaves(bench: Bench, rule: Rule) -> list[tuple[str, tuple[Matcher, ...]]]:
    """The selectors that a rule depends on, those of recording rules among them: text, and matchers with the name's."""
    recorded = bench.recordings
    found = []
    seen = {id(rule)}
    waiting = [rule]
    while waiting:
        one = waiting.pop()
        for node in walk(one.tree):
            if not isinstance(node, VectorSelector) or node.metric_name in _OF_ALERTS:
                continue
            found.append((one.expr[node.start : node.end], matchers(node)))
            for other in recorded.get(node.metric_name or "", ()):
                if id(other) not in seen:
                    seen.add(id(other))
                    waiting.append(other)
    return found


def matchers(node: VectorSelector) -> tuple[Matcher, ...]:
    """The matchers of a selector, that for its name among them."""
    name = () if node.name is None else (Matcher(NAME, "=", node.name, 0, 0, 0, 0),)
    return (*name, *node.matchers)


def stripped(tree: Expr) -> Expr:
    """An expression without parentheses around it."""
    while isinstance(tree, Paren):
        tree = tree.expr
    return tree


def reasons(run: Run, history: History, name: str, labels: Mapping[str, Wanted]) -> list[str]:
    """What the alert did, or why it did nothing, a line each."""
    every = history.alerts(name)
    asked = [one for one in every if wanted.labels_are(labels, one.labels)]
    firing = [one for one in asked if one.firing]
    if firing:
        return [_fired(run, one) for one in firing[:_SHOWN]]
    pending = [one for one in asked if one.pending]
    if pending:
        return [_waited(run, one) for one in pending[:_SHOWN]]
    if every:
        others = [f"{wanted.braces(one.labels)} {'fires' if one.firing else 'is pending'}" for one in every[:_SHOWN]]
        return [f"why: no alert has the labels {wanted.braces(labels)}", *others]
    found = []
    for rule in run.bench.rules(name):
        found += [f"why: {line}" for line in Reasons(run, history, rule).of(rule.tree)]
    return list(dict.fromkeys(found))


def _fired(run: Run, one: AlertSeries) -> str:
    spans = ", ".join(f"{_at(run, first)} to {_at(run, last)}" for first, last in one.firing[:_SHOWN])
    return f"fires {spans}: {wanted.braces(one.labels)}"


def _waited(run: Run, one: AlertSeries) -> str:
    first, last = max(one.pending, key=lambda span: span[1] - span[0])
    waited = times.duration(round((last - first) * 1000))
    needed = times.duration(one.rule.for_ms)
    ended = "the run ended" if round(last * 1000) > run.end - run.step else "its expression gave nothing more"
    return f"why: was pending for only {waited} of {needed}, from {_at(run, first)} to {_at(run, last)}: then {ended}"


def _at(run: Run, seconds: float) -> str:
    return run.told(round(seconds * 1000))


class Reasons:
    """Looks for the part of a rule's expression that left it without an answer."""

    __slots__ = ("depth", "history", "rule", "run")

    def __init__(self, run: Run, history: History, rule: Rule, depth: int = 0) -> None:
        self.run = run
        self.history = history
        self.rule = rule
        self.depth = depth

    def text(self, node: Node) -> str:
        """How a part of the expression is written."""
        return self.rule.expr[node.start : node.end]

    def rows(self, tree: Expr) -> list[Row]:
        """What a part of the expression gives over the run; raises EvalError."""
        run = self.run
        found = run.engine.range(
            self.history.series, tree, run.start / 1000, run.end / 1000, run.step / 1000, self.rule.expr
        )
        return [row for row in found.series if row[1]]

    def of(self, tree: Expr) -> list[str]:
        """The reasons why a part of the expression gives nothing; empty where it gives something."""
        tree = stripped(tree)
        if isinstance(tree, MatrixSelector):
            return self.of_window(tree)
        if isinstance(tree, Subquery):
            return self.of(tree.expr)
        try:
            if self.rows(tree):
                return []
        except EvalError as error:
            return [f"{self.text(tree)} fails: {error.message}"]
        if isinstance(tree, Binary):
            return self.of_binary(tree)
        if isinstance(tree, VectorSelector):
            return self.of_selector(tree)
        below = [reason for child in _expressions(tree) for reason in self.of(child)]
        return below or [f"{self.text(tree)} gives nothing"]

    def of_binary(self, tree: Binary) -> list[str]:
        left, right = self.of(tree.lhs), self.of(tree.rhs)
        if tree.op == "or":
            return [*left, *right]
        if tree.op == "unless" and not left:
            return [f"all of {self.text(tree.lhs)} is taken away by `unless` {self.text(tree.rhs)}"]
        if left:
            return left
        if right:
            side = f"the `{tree.op}` side" if tree.op == "and" else f"what stands behind `{tree.op}`"
            return [f"{side} gives nothing: {reason}" for reason in right]
        if tree.op == "and":
            return [*self.apart(tree)]
        if tree.op in COMPARISONS:
            return [self.below(tree)]
        return [*self.apart(tree)]

    def apart(self, tree: Binary) -> Iterator[str]:
        """Both sides give something: not at one time, or with labels that do not meet."""
        yield f"both sides of `{tree.op}` give something, never at the same time with labels that match"
        for word, side in (("left", tree.lhs), ("right", tree.rhs)):
            labels, moments, _ = self.rows(stripped(side))[0]
            yield (
                f"  {word}: {self.text(side)} has {_braces(labels)} "
                f"from {self.run.told(moments[0])} to {self.run.told(moments[-1])}"
            )

    def below(self, tree: Binary) -> str:
        """How near a comparison came to hold."""
        left, right = self.rows(stripped(tree.lhs)), self.rows(stripped(tree.rhs))
        left_text, right_text, op = self.text(tree.lhs), self.text(tree.rhs), tree.op
        if tree.lhs.type == "scalar" and tree.rhs.type != "scalar":  # 0.5 < x
            left, right, left_text, right_text = right, left, right_text, left_text
            op = MIRRORED.get(op, op)
        limits = {
            moment: value for _, moments, values in right[:1] for moment, value in zip(moments, values, strict=True)
        }
        if len(right) > 1 or (tree.rhs.type != "scalar" and tree.lhs.type != "scalar"):
            limits = {}
        best = None
        for labels, moments, values in left:
            for moment, value in zip(moments, values, strict=True):
                if type(value) is float and value == value:  # noqa: PLR0124 - a NaN holds no comparison
                    gap = value - limits.get(moment, 0.0)
                    rank = gap if op in {">", ">="} else -gap if op in {"<", "<="} else -abs(gap)
                    if best is None or rank > best[0]:
                        best = (rank, labels, moment, value)
        if best is None:
            return f"{left_text} is never a number"
        _, labels, moment, value = best
        word = {">": "maximum", ">=": "maximum", "<": "minimum", "<=": "minimum"}.get(op, "nearest")
        where = "below" if op in {">", ">="} else "above" if op in {"<", "<="} else "off"
        limit = f"{limits[moment]:g}" if limits else f"{right_text}"
        return (
            f"{where} the threshold: the {word} of {left_text} is {value:g} at {self.run.told(moment)}"
            f" {_braces(labels)}, and it takes {op} {limit}"
        )

    def of_window(self, tree: MatrixSelector) -> list[str]:
        selected = self.of(tree.selector)
        if selected:
            return selected
        return [f"{self.text(tree)} never holds the samples that its function needs (two, as a rule)"]

    def of_selector(self, tree: VectorSelector) -> list[str]:
        name = tree.metric_name
        matching = self.history.series.select(matchers(tree))
        if matching:
            return [f"{self.text(tree)} has no sample at any evaluation"]
        recorded = self.run.bench.recordings.get(name or "", [])
        if recorded and self.depth < _DEEPEST:
            return [
                f"{name} is not recorded: {reason}"
                for rule in recorded
                for reason in Reasons(self.run, self.history, rule, self.depth + 1).of(rule.tree)
            ] or [f"no series matches {self.text(tree)}; {name} is recorded with other labels"]
        named = [one for one in self.history.series.series if dict(one.labels).get(NAME) == name]
        return [f"no series matches {self.text(tree)}; {_instead(name, named)}"]


def _instead(name: str | None, named: list[Series]) -> str:
    if not named:
        return f"there is none of {name or 'any such'} name" if name is None else f"there is no {name} at all"
    return "there is " + ", ".join(format_series(one.labels) for one in named[:_SHOWN])


def _braces(labels: tuple[tuple[str, str], ...]) -> str:
    return wanted.braces(dict(without(labels, (NAME,))))


def _expressions(tree: Expr) -> list[Expr]:
    if isinstance(tree, Call):
        return [arg for arg in tree.args if arg.type in {"vector", "matrix"}]
    if isinstance(tree, Aggregate):
        return [tree.expr]
    return [child for child in tree.children() if isinstance(child, (VectorSelector, MatrixSelector, Call, Binary))]
