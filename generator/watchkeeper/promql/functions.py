"""The functions and aggregations of PromQL: what they take, what they return, and since when.

Sources: Prometheus' documentation (querying/functions.md, querying/operators.md), its changelog, and what promtool 2.42
and 3.5 accept. Versions up to 2.25 are not told apart: `since` is None there.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

Version = tuple[int, int]

SCALAR = "scalar"
VECTOR = "vector"
MATRIX = "matrix"
STRING = "string"
UNKNOWN = "unknown"

# As Prometheus' documentation calls them, for messages.
DOCUMENTED = {
    SCALAR: "a scalar",
    VECTOR: "an instant vector",
    MATRIX: "a range vector",
    STRING: "a string",
    UNKNOWN: "something unknown",
}


class Function:
    """One function of PromQL.

    `arg_types` are the types of the arguments. `variadic` is 0 where all of them must be given; n > 0 where the last
    may be left out or given up to n times; -1 where it may be left out or repeated without limit. `since` is the first
    Prometheus that has it (None: 2.25 or older), `stable_since` the first in which it needs no feature flag (None:
    still experimental).
    """

    __slots__ = ("arg_types", "name", "returns", "since", "stable_since", "variadic")

    def __init__(  # noqa: PLR0917  (called once, from a table)
        self,
        name: str,
        arg_types: tuple[str, ...],
        returns: str,
        variadic: int,
        since: Version | None,
        stable_since: Version | None,
    ) -> None:
        self.name = name
        self.arg_types = arg_types
        self.returns = returns
        self.variadic = variadic
        self.since = since
        self.stable_since = stable_since

    @property
    def experimental(self) -> bool:
        """Whether the newest Prometheus still wants --enable-feature=promql-experimental-functions for it."""
        return self.stable_since is None

    @property
    def min_args(self) -> int:
        return len(self.arg_types) - (self.variadic != 0)

    @property
    def max_args(self) -> int | None:
        """The most arguments that it takes; None where there is no limit."""
        if self.variadic < 0:
            return None
        return len(self.arg_types) - (self.variadic > 0) + self.variadic

    def __repr__(self) -> str:
        return f"<Function {self.name}>"

    def __reduce__(self) -> tuple[object, ...]:
        return _by_name, (self.name,)


_TYPES = {"v": VECTOR, "m": MATRIX, "s": SCALAR, "t": STRING}
# name: arguments (v instant vector, m range vector, s scalar, t string), result, variadic
_SIGNATURES: dict[str, tuple[str, str, int]] = {
    "abs": ("v", "v", 0),
    "absent": ("v", "v", 0),
    "absent_over_time": ("m", "v", 0),
    "acos": ("v", "v", 0),
    "acosh": ("v", "v", 0),
    "asin": ("v", "v", 0),
    "asinh": ("v", "v", 0),
    "atan": ("v", "v", 0),
    "atanh": ("v", "v", 0),
    "avg_over_time": ("m", "v", 0),
    "ceil": ("v", "v", 0),
    "changes": ("m", "v", 0),
    "clamp": ("vss", "v", 0),
    "clamp_max": ("vs", "v", 0),
    "clamp_min": ("vs", "v", 0),
    "cos": ("v", "v", 0),
    "cosh": ("v", "v", 0),
    "count_over_time": ("m", "v", 0),
    "day_of_month": ("v", "v", 1),
    "day_of_week": ("v", "v", 1),
    "day_of_year": ("v", "v", 1),
    "days_in_month": ("v", "v", 1),
    "deg": ("v", "v", 0),
    "delta": ("m", "v", 0),
    "deriv": ("m", "v", 0),
    "double_exponential_smoothing": ("mss", "v", 0),
    "end": ("", "s", 0),
    "exp": ("v", "v", 0),
    "first_over_time": ("m", "v", 0),
    "floor": ("v", "v", 0),
    "histogram_avg": ("v", "v", 0),
    "histogram_count": ("v", "v", 0),
    "histogram_fraction": ("ssv", "v", 0),
    "histogram_quantile": ("sv", "v", 0),
    "histogram_quantiles": ("vtss", "v", 9),
    "histogram_stddev": ("v", "v", 0),
    "histogram_stdvar": ("v", "v", 0),
    "histogram_sum": ("v", "v", 0),
    "hour": ("v", "v", 1),
    "idelta": ("m", "v", 0),
    "increase": ("m", "v", 0),
    "info": ("vv", "v", 1),
    "irate": ("m", "v", 0),
    "label_join": ("vttt", "v", -1),
    "label_replace": ("vtttt", "v", 0),
    "last_over_time": ("m", "v", 0),
    "ln": ("v", "v", 0),
    "log10": ("v", "v", 0),
    "log2": ("v", "v", 0),
    "mad_over_time": ("m", "v", 0),
    "max_of": ("ss", "s", 0),
    "max_over_time": ("m", "v", 0),
    "min_of": ("ss", "s", 0),
    "min_over_time": ("m", "v", 0),
    "minute": ("v", "v", 1),
    "month": ("v", "v", 1),
    "pi": ("", "s", 0),
    "predict_linear": ("ms", "v", 0),
    "present_over_time": ("m", "v", 0),
    "quantile_over_time": ("sm", "v", 0),
    "rad": ("v", "v", 0),
    "range": ("", "s", 0),
    "rate": ("m", "v", 0),
    "resets": ("m", "v", 0),
    "round": ("vs", "v", 1),
    "scalar": ("v", "s", 0),
    "sgn": ("v", "v", 0),
    "sin": ("v", "v", 0),
    "sinh": ("v", "v", 0),
    "sort": ("v", "v", 0),
    "sort_by_label": ("vt", "v", -1),
    "sort_by_label_desc": ("vt", "v", -1),
    "sort_desc": ("v", "v", 0),
    "sqrt": ("v", "v", 0),
    "start": ("", "s", 0),
    "start_timestamp": ("v", "v", 0),
    "stddev_over_time": ("m", "v", 0),
    "stdvar_over_time": ("m", "v", 0),
    "step": ("", "s", 0),
    "sum_over_time": ("m", "v", 0),
    "tan": ("v", "v", 0),
    "tanh": ("v", "v", 0),
    "time": ("", "s", 0),
    "timestamp": ("v", "v", 0),
    "ts_of_first_over_time": ("m", "v", 0),
    "ts_of_last_over_time": ("m", "v", 0),
    "ts_of_max_over_time": ("m", "v", 0),
    "ts_of_min_over_time": ("m", "v", 0),
    "vector": ("s", "v", 0),
    "year": ("v", "v", 1),
}

# First version, and the first version that needs no feature flag for it (None: none yet).
_VERSIONS: dict[str, tuple[Version, Version | None]] = {
    "acos": ((2, 31), (2, 31)),
    "acosh": ((2, 31), (2, 31)),
    "asin": ((2, 31), (2, 31)),
    "asinh": ((2, 31), (2, 31)),
    "atan": ((2, 31), (2, 31)),
    "atanh": ((2, 31), (2, 31)),
    "clamp": ((2, 26), (2, 26)),
    "cos": ((2, 31), (2, 31)),
    "cosh": ((2, 31), (2, 31)),
    "day_of_year": ((2, 37), (2, 37)),
    "deg": ((2, 31), (2, 31)),
    "double_exponential_smoothing": ((3, 0), None),
    "end": ((3, 12), None),
    "first_over_time": ((3, 7), (3, 14)),
    "histogram_avg": ((2, 51), (2, 51)),
    "histogram_count": ((2, 40), (2, 40)),
    "histogram_fraction": ((2, 40), (2, 40)),
    "histogram_quantiles": ((3, 11), None),
    "histogram_stddev": ((2, 47), (2, 47)),
    "histogram_stdvar": ((2, 47), (2, 47)),
    "histogram_sum": ((2, 40), (2, 40)),
    "info": ((3, 0), None),
    "last_over_time": ((2, 26), (2, 26)),
    "mad_over_time": ((2, 49), None),
    "max_of": ((3, 13), None),
    "min_of": ((3, 13), None),
    "pi": ((2, 31), (2, 31)),
    "present_over_time": ((2, 29), (2, 29)),
    "rad": ((2, 31), (2, 31)),
    "range": ((3, 12), None),
    "sgn": ((2, 26), (2, 26)),
    "sin": ((2, 31), (2, 31)),
    "sinh": ((2, 31), (2, 31)),
    "sort_by_label": ((2, 49), None),
    "sort_by_label_desc": ((2, 49), None),
    "start": ((3, 12), None),
    "start_timestamp": ((3, 14), None),
    "step": ((3, 12), None),
    "tan": ((2, 31), (2, 31)),
    "tanh": ((2, 31), (2, 31)),
    "ts_of_first_over_time": ((3, 7), None),
    "ts_of_last_over_time": ((3, 5), None),
    "ts_of_max_over_time": ((3, 5), None),
    "ts_of_min_over_time": ((3, 5), None),
}


def _table() -> dict[str, Function]:
    table = {}
    for name, (args, returns, variadic) in _SIGNATURES.items():
        since, stable = _VERSIONS.get(name, (None, (0, 0)))
        table[name] = Function(name, tuple([_TYPES[char] for char in args]), _TYPES[returns], variadic, since, stable)
    return table


FUNCTIONS: Mapping[str, Function] = _table()


def _by_name(name: str) -> Function:
    return FUNCTIONS[name]


# The names that are keywords elsewhere in the grammar, so that any case is taken: `offset STEP()`, `@ Start()`.
KEYWORD_FUNCTIONS = frozenset({"start", "end", "step", "range", "min_of", "max_of"})

# Aggregations, and the type of the parameter that comes before the vector (None: there is none).
AGGREGATIONS: Mapping[str, str | None] = {
    "avg": None,
    "bottomk": SCALAR,
    "count": None,
    "count_values": STRING,
    "group": None,
    "limit_ratio": SCALAR,
    "limitk": SCALAR,
    "max": None,
    "min": None,
    "quantile": SCALAR,
    "stddev": None,
    "stdvar": None,
    "sum": None,
    "topk": SCALAR,
}
