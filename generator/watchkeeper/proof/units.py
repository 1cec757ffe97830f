"""Units followed through an expression: bytes divided by seconds are bytes per second, and no bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from watchkeeper.promql import nodes, walk
from watchkeeper.proof.shape import COMPARISONS, KEEPS, PICKS, bare, number

if TYPE_CHECKING:
    from collections.abc import Sequence

    from watchkeeper.promql.nodes import Expr, Node
    from watchkeeper.proof.catalogue import Catalogue

_PER_SECOND = frozenset({"rate", "irate", "deriv"})
_SAME = KEEPS | {
    "increase", "delta", "idelta", "predict_linear", "avg_over_time", "sum_over_time", "stddev_over_time",
    "mad_over_time", "quantile_over_time", "double_exponential_smoothing",
}  # fmt: skip
_SECONDS = frozenset({"time", "timestamp"})
_MODIFIES = frozenset({"sum", "avg", "stddev"}) | PICKS
# The ends of names that leave no doubt where no contract speaks.
_WORDS = frozenset({
    "bytes", "seconds", "milliseconds", "microseconds", "nanoseconds", "celsius", "fahrenheit", "volts", "amperes",
    "joules", "watts",
})  # fmt: skip
_BUCKETS_OF = "buckets of "
_DEPTH = 8  # of recording rules that read recording rules
# What recorded series are in, worked out when first asked for.
_RECORDED: WeakKeyDictionary[Catalogue, dict[str, Unit | None]] = WeakKeyDictionary()


class Unit:
    """Powers of base units, such as bytes 1 and seconds -1; none for a ratio. `sure`: by more than a name."""

    __slots__ = ("powers", "sure")

    def __init__(self, powers: dict[str, int], *, sure: bool) -> None:
        self.powers = {word: power for word, power in powers.items() if power}
        self.sure = sure

    def times(self, other: Unit, power: int = 1) -> Unit:
        """Return the unit of a product, or with -1 of a quotient."""
        words = self.powers.keys() | other.powers.keys()
        powers = {word: self.powers.get(word, 0) + power * other.powers.get(word, 0) for word in words}
        return Unit(powers, sure=self.sure and other.sure)

    def differs(self, other: Unit) -> bool:
        """Tell whether values in the two can't be compared.

        Names alone tell less: `node_network_speed_bytes` is per second, so then only other words count.
        """
        if self.sure and other.sure:
            return self.powers != other.powers
        ours, theirs = self.powers, other.powers
        return {*ours} - {"seconds"} != {*theirs} - {"seconds"}

    def __str__(self) -> str:
        above = [_power(word, power) for word, power in sorted(self.powers.items()) if power > 0]
        below = [_power(word, -power, one=True) for word, power in sorted(self.powers.items()) if power < 0]
        text = " ".join(above) or ("1" if below else "a ratio")
        return " per ".join([text, *below])


def _power(word: str, power: int, *, one: bool = False) -> str:
    return (word.removesuffix("s") if one else word) + (f"^{power}" if power > 1 else "")


_RATIO = Unit({}, sure=True)
_TIME = Unit({"seconds": 1}, sure=True)


def units(tree: Sequence[Node], catalogue: Catalogue, depth: int = 0) -> dict[int, Unit]:
    """Return, by the id of each expression node, its unit where that is known.

    `tree` are the nodes of one expression, parents before children, as `walk` yields them.
    """
    found: dict[int, Unit] = {}
    for node in reversed(tree):
        unit = _unit(node, found, catalogue, depth)
        if unit is not None:
            found[id(node)] = unit
    return found


def _unit(node: Node, found: dict[int, Unit], catalogue: Catalogue, depth: int) -> Unit | None:
    if isinstance(node, nodes.VectorSelector):
        return _of_series(node.metric_name, catalogue, depth) if node.metric_name and not node.variables else None
    if isinstance(node, nodes.Binary):
        return _binary(node, found)
    if isinstance(node, nodes.Call):
        return _call(node, found)
    if isinstance(node, nodes.Aggregate):
        return found.get(id(node.expr)) if node.op in _MODIFIES and not node.variables else None
    if isinstance(node, (nodes.Paren, nodes.Unary, nodes.Subquery)):
        return found.get(id(node.expr))
    return found.get(id(node.selector)) if isinstance(node, nodes.MatrixSelector) else None


def _call(node: nodes.Call, found: dict[int, Unit]) -> Unit | None:
    if node.name in _SECONDS:
        return _TIME
    if node.name == "histogram_quantile":
        powers = getattr(found.get(id(node.args[1])), "powers", {})
        words = [word.removeprefix(_BUCKETS_OF) for word in powers if word.startswith(_BUCKETS_OF)]
        return Unit({words[0]: 1}, sure=found[id(node.args[1])].sure) if words else None
    if not node.args:
        return None
    inner = found.get(id(node.args[1 if node.name == "quantile_over_time" else 0]))
    if inner is None or node.name in _SAME:
        return inner if node.name in _SAME else None
    return inner.times(_TIME, -1) if node.name in _PER_SECOND else None


def _binary(node: nodes.Binary, found: dict[int, Unit]) -> Unit | None:
    left, right = found.get(id(node.lhs)), found.get(id(node.rhs))
    if node.op in COMPARISONS:
        if node.return_bool:
            return None
        return right if node.lhs.type == "scalar" else left
    if node.op in ("and", "unless"):
        return left
    if node.op == "or":
        return left if left and right and left.powers == right.powers else None
    if node.op in ("+", "-", "%"):
        return left or right
    if node.op == "/":
        if left and right:
            return left.times(right, -1)
        return None
    if node.op == "*":
        if left and right:
            return left.times(right)
        # A share of something has its unit; any other number may turn one unit into another.
        return left if _is_share(node.rhs) else right if _is_share(node.lhs) else None
    return None


def _is_share(expr: Expr) -> bool:
    value = number(bare(expr))
    return value is not None and 0.01 <= value <= 1


def _of_series(name: str, catalogue: Catalogue, depth: int) -> Unit | None:
    if catalogue.recorded(name):
        memo = _RECORDED.setdefault(catalogue, {})
        if name not in memo:
            memo[name] = None  # a rule that reads itself finds nothing known
            memo[name] = _of_rules(name, catalogue, depth)
        return memo[name]
    known = catalogue.get(name)
    metric = known.metric if known else None
    if metric is None:
        # A scrape's own series are named by the conventions.
        return _of_name(name, sure=known is not None)
    if metric.type == "histogram" and not name.endswith("_sum"):
        is_bucket = name.endswith("_bucket") and metric.unit
        return Unit({_BUCKETS_OF + metric.unit: 1}, sure=True) if is_bucket else None
    return named_unit(metric.unit, sure=True) if metric.unit else _of_name(name, sure=False)


def _of_rules(name: str, catalogue: Catalogue, depth: int) -> Unit | None:
    rules = catalogue.recorded(name)
    if len(rules) > 1 or depth >= _DEPTH:
        return None
    tree = tuple(walk(rules[0]))
    return units(tree, catalogue, depth + 1).get(id(rules[0]))


def _of_name(name: str, *, sure: bool) -> Unit | None:
    if name.endswith("_bucket"):
        word = name.removesuffix("_bucket").rpartition("_")[2]
        return Unit({_BUCKETS_OF + word: 1}, sure=sure) if word in _WORDS else None
    name = name.removesuffix("_total").removesuffix("_sum")
    if name.endswith("_bytes_per_second"):
        return named_unit("bytes_per_second", sure=sure)
    word = name.rpartition("_")[2]
    return named_unit(word, sure=sure) if word in _WORDS and word != name else None


def named_unit(text: str, *, sure: bool) -> Unit:
    """Return the unit of such a name as `bytes_per_second`."""
    above, _, below = text.partition("_per_")
    if above == "watts" and not below:
        return Unit({"joules": 1, "seconds": -1}, sure=sure)
    unit = _RATIO if above == "ratio" else Unit({above: 1}, sure=True)
    if below:
        unit = unit.times(Unit({below if below.endswith("s") else f"{below}s": 1}, sure=True), -1)
    return Unit(unit.powers, sure=sure)
