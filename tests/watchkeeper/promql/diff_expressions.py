"""Random PromQL for differential.py: of the right types, with labels that are there, weighted to what rules use."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from diff_data import JOBS, METRICS, SPAN_MS, labels_of

from watchkeeper.promql.functions import FUNCTIONS

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

WINDOWS = ("30s", "1m", "1m", "90s", "2m", "5m", "5m", "5m", "10m", "15m", "17s")
COUNTERS = ("requests_total", "errors_total", "bytes_total", "lat_count", "lat_sum", "lat_bucket")
GAUGES = ("temp", "load", "limit", "up", "odd", "build_info")
ARITHMETIC = ("+", "-", "*", "/", "%", "^", "+", "-", "*", "/", "/", "atan2")
COMPARE = ("==", "!=", ">", "<", ">=", "<=", ">", ">")

RATES = ("rate", "rate", "rate", "increase", "increase", "irate", "resets", "changes")
OVER_TIME = (
    *("avg_over_time", "max_over_time", "min_over_time", "sum_over_time", "count_over_time", "last_over_time"),
    *("stddev_over_time", "stdvar_over_time", "present_over_time", "delta", "idelta", "deriv", "changes", "resets"),
    *("absent_over_time", "mad_over_time", "ts_of_max_over_time", "ts_of_min_over_time", "ts_of_last_over_time"),
    *("first_over_time", "ts_of_first_over_time"),
)
MATHS = (
    *("abs", "ceil", "floor", "sqrt", "exp", "ln", "log2", "log10", "sgn", "deg", "rad", "sin", "cos", "tan"),
    *("asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh"),
)
DATES = ("minute", "hour", "day_of_week", "day_of_month", "day_of_year", "days_in_month", "month", "year")
AGGREGATIONS = (
    *("sum", "sum", "sum", "sum", "avg", "avg", "max", "max", "min", "count", "count", "group"),
    *("stddev", "stdvar"),
)


class Part(NamedTuple):
    """A vector expression, and the labels that it may have, the name aside."""

    text: str
    labels: tuple[str, ...]


class Expressions:
    """A source of expressions for a Prometheus of this version, over the data that starts at `base_ms`."""

    def __init__(self, random: Random, version: tuple[int, int], base_ms: int) -> None:
        self.random, self.version, self.base_ms = random, version, base_ms
        self.over_time = [name for name in OVER_TIME if self.has(name)]
        if version < (3, 14):
            self.over_time = [name for name in self.over_time if name != "mad_over_time"]

    def has(self, name: str) -> bool:
        since = FUNCTIONS[name].since
        return since is None or since <= self.version

    def pick(self, *choices: tuple[int, Callable[[int], Part]]) -> Callable[[int], Part]:
        weights = [weight for weight, _ in choices]
        return self.random.choices([choice for _, choice in choices], weights)[0]

    def any(self) -> str:
        """One expression, a vector mostly."""
        roll = self.random.random()
        depth = self.random.choice((1, 1, 2, 2, 2, 3))
        if roll < 0.03:
            return self.scalar(depth)
        if roll < 0.06:
            return self.sorted(depth)
        return self.vector(depth).text

    def of_histograms(self) -> str:
        """A float made of native histograms."""
        random = self.random
        inner = f"dur{self.matchers('lat_sum')}"
        roll = random.random()
        # 3.5 lets rate() of histograms begin below zero (Prometheus #16828).
        rates = ("rate", "rate", "increase") if self.version >= (3, 6) else ()
        rates = (*rates, "irate", "irate", "delta", "idelta")
        function = random.choice((*rates, "sum_over_time", "avg_over_time", "last_over_time"))
        if roll < 0.8:
            inner = f"{function}({inner}[{self.window()}]{self.modifiers()})"
        if random.random() < 0.1:
            # changes() also counts where a server's chunk has an empty bucket more than the one before.
            name = random.choice(("resets", "count_over_time", "present_over_time", "ts_of_last_over_time"))
            return f"{name}(dur[{self.window()}])"
        if random.random() < 0.6:
            clause = random.choice(("", "by (job) ", "by (instance) "))
            inner = f"{random.choice(('sum', 'avg', 'count'))} {clause}({inner})"
        if random.random() < 0.2:
            inner = f"({inner}) {random.choice(('*', '/'))} {random.choice(('2', '0.5', '1e3', '3.7', '-1'))}"
        elif random.random() < 0.1:
            inner = f"({inner}) {random.choice(('+', '==', '!='))} ({inner})"
        name = random.choice(("quantile", "quantile", "count", "sum", "avg", "stddev", "stdvar", "fraction", ""))
        if name == "quantile":
            return f"histogram_quantile({self.share()}, {inner})"
        if name == "fraction":
            lower, upper = random.choice(("0", "0.3", "-Inf")), random.choice(("1", "2.5", "Inf"))
            return f"histogram_fraction({lower}, {upper}, {inner})"
        return f"histogram_{name}({inner})" if name else inner

    # Vectors

    def vector(self, depth: int) -> Part:
        if depth <= 0:
            return self.pick((3, self.selector), (2, self.rate))(0)
        make = self.pick(
            (2, self.selector),
            (8, self.rate),
            (6, self.over_time_of_gauge),
            (9, self.aggregate),
            (3, self.aggregate_k),
            (6, self.with_scalar),
            (7, self.join),
            (3, self.set_operation),
            (2, self.maths),
            (2, self.subquery),
            (2, self.quantile),
            (4, self.other),
        )
        part = make(depth)
        return Part(f"({part.text})", part.labels) if self.random.random() < 0.03 else part

    def selector(self, _depth: int = 0, names: tuple[str, ...] = ()) -> Part:
        random = self.random
        name = random.choice(names or (*COUNTERS, *GAUGES, *GAUGES))
        text = name + self.matchers(name) if random.random() > 0.02 else f'{{__name__=~"{name[:-1]}.*"}}'
        return Part(text + self.modifiers(), labels_of(name))

    def matchers(self, name: str) -> str:
        random = self.random
        found = []
        if random.random() < 0.4:
            job = random.choice(JOBS)
            found.append(random.choice((f'job="{job}"', f'job!="{job}"', f'job=~"{job}|db"', f'job!~"{job[0]}.*"')))
        if "instance" in labels_of(name) and random.random() < 0.2:
            found.append(random.choice(('instance="a:1"', 'instance=~"(a|b):.+"', 'instance!=""', 'instance=~".*2"')))
        if "code" in labels_of(name) and random.random() < 0.4:
            found.append(random.choice(('code="200"', 'code=~"[45].."', 'code!~"5.+"', 'code=~"2.*|4.."')))
        if "le" in labels_of(name) and random.random() < 0.1:
            found.append(random.choice(('le="+Inf"', 'le=~"0.5|1"')))
        if random.random() < 0.02:
            found.append('missing="x"')
        return "{" + ",".join(found) + "}" if found else ""

    def modifiers(self) -> str:
        random = self.random
        roll = random.random()
        offset = random.choice(("30s", "1m", "5m", "-1m", "7m", "-20s", "1s", "15s"))
        if roll < 0.06:
            return f" offset {offset}"
        if roll < 0.09:
            at = (self.base_ms + random.randrange(SPAN_MS)) / 1000
            return f" @ {at:.3f}" + (f" offset {offset}" if random.random() < 0.3 else "")
        if roll < 0.11:
            return random.choice((" @ start()", " @ end()"))
        return ""

    def window(self) -> str:
        return self.random.choice(WINDOWS)

    def matrix(self, depth: int, names: tuple[str, ...]) -> Part:
        """A range selector, or now and then a subquery."""
        if depth > 0 and self.random.random() < 0.1:
            inner = self.vector(depth - 1)
            return Part(self._sub(inner.text), inner.labels)
        name = self.random.choice(names)
        text = f"{name}{self.matchers(name)}[{self.window()}]{self.modifiers()}"
        return Part(text, labels_of(name))

    def _sub(self, text: str) -> str:
        step = self.random.choice(("", "", "30s", "1m", "17s", "2m"))
        bracketed = text if text.endswith((")", "}")) and self.random.random() < 0.5 else f"({text})"
        if not text.endswith(("}", ")")) or " " in text:
            bracketed = f"({text})"
        return f"{bracketed}[{self.random.choice(WINDOWS[1:])}:{step}]{self.modifiers()}"

    def rate(self, depth: int) -> Part:
        matrix = self.matrix(depth, COUNTERS)
        return Part(f"{self.random.choice(RATES)}({matrix.text})", matrix.labels)

    def over_time_of_gauge(self, depth: int) -> Part:
        random = self.random
        matrix = self.matrix(depth, GAUGES if random.random() < 0.85 else COUNTERS)
        roll = random.random()
        if roll < 0.08:
            return Part(f"quantile_over_time({self.share()}, {matrix.text})", matrix.labels)
        if roll < 0.14:
            if self.version < (3, 0) and "@" in matrix.text:
                return self.over_time_of_gauge(depth)  # 2.42 then moves the fixed window along with the steps
            return Part(f"predict_linear({matrix.text}, {random.choice(('60', '3600', '-30'))})", matrix.labels)
        if roll < 0.16 and self.has("mad_over_time"):  # of a window with NaN it is NaN in 3.14, but not in 3.5
            name = random.choice(("temp", "load", "limit"))
            return Part(f"mad_over_time({name}{self.matchers(name)}[{self.window()}])", labels_of(name))
        if roll < 0.18 and self.has("double_exponential_smoothing"):
            return Part(f"double_exponential_smoothing({matrix.text}, 0.{random.randrange(1, 9)}, 0.3)", matrix.labels)
        return Part(f"{random.choice(self.over_time)}({matrix.text})", matrix.labels)

    def share(self) -> str:
        return self.random.choice(("0.5", "0.9", "0.99", "0", "1", "0.25", "1.1", "-0.1"))

    def subset(self, labels: tuple[str, ...]) -> tuple[str, ...]:
        found = tuple(label for label in labels if self.random.random() < 0.5)
        return (*found, "missing") if self.random.random() < 0.03 else found

    def grouping(self, part: Part) -> tuple[str, tuple[str, ...]]:
        """A `by` or `without` clause with a space behind it, and the labels that it leaves."""
        roll = self.random.random()
        if roll < 0.25:
            return "", ()
        labels = self.subset(part.labels)
        if roll < 0.75:
            return f"by ({', '.join(labels)}) ", labels
        return f"without ({', '.join(labels)}) ", tuple(label for label in part.labels if label not in labels)

    def aggregate(self, depth: int) -> Part:
        part = self.vector(depth - 1)
        clause, left = self.grouping(part)
        name = self.random.choice(AGGREGATIONS)
        text = (
            f"{name} {clause}({part.text})" if self.random.random() < 0.8 else f"{name}({part.text}) {clause}".strip()
        )
        return Part(text, left)

    def aggregate_k(self, depth: int) -> Part:
        random = self.random
        part = self.vector(depth - 1)
        clause, left = self.grouping(part)
        roll = random.random()
        if roll < 0.5:
            name = random.choice(("topk", "bottomk"))
            k = random.choice(("1", "2", "3", "5", "0", "-1", "100"))
            return Part(f"{name} {clause}({k}, {part.text})", part.labels)
        if roll < 0.75:
            return Part(f"quantile {clause}({self.share()}, {part.text})", left)
        if roll < 0.9 or self.version < (3, 0):
            if random.random() < 0.5:
                part = self.selector(names=("up", "limit", "build_info", "odd"))
                clause, left = self.grouping(part)
            return Part(f'count_values {clause}("v", {part.text})', (*left, "v"))
        if roll < 0.95:
            return Part(
                f"limit_ratio {clause}({random.choice(('0.5', '-0.5', '0.1', '1', '-1'))}, {part.text})", part.labels
            )
        return Part(f"count(limitk {clause}({random.choice(('1', '2', '5'))}, {part.text}))", ())

    def with_scalar(self, depth: int) -> Part:
        random = self.random
        part = self.vector(depth - 1)
        scalar = self.scalar(depth - 2) if random.random() < 0.3 else self.number()
        operator = random.choice(ARITHMETIC) if random.random() < 0.5 else random.choice(COMPARE)
        if operator in COMPARE and random.random() < 0.3:
            operator += " bool"
        operands = (part.text, scalar) if random.random() < 0.75 else (scalar, part.text)
        return Part(self.infix(operands[0], operator, operands[1]), part.labels)

    def infix(self, left: str, operator: str, right: str) -> str:
        """Both sides in brackets mostly: without, precedence may undo what was meant, or what is allowed."""
        if " (" in operator or self.random.random() < 0.9:
            left, right = (f"({side})" if " " in side and not side.startswith("(") else side for side in (left, right))
        return f"{left} {operator} {right}"

    def join(self, depth: int) -> Part:
        random = self.random
        operator = random.choice(ARITHMETIC) if random.random() < 0.6 else random.choice(COMPARE)
        if operator in COMPARE and random.random() < 0.3:
            operator += " bool"
        roll = random.random()
        if roll < 0.3:  # alike on both sides
            labels = tuple(label for label in ("job", "instance") if random.random() < 0.7)
            left, right = (self.per(labels, self.vector(depth - 1)) for _ in range(2))
            return Part(self.infix(left, operator, right), labels)
        if roll < 0.5:  # of one metric
            name = random.choice(("requests_total", "errors_total", "temp", "load", "up"))
            other = {"requests_total": "errors_total", "temp": "load", "load": "temp"}.get(name, name)
            left = f"rate({name}[{self.window()}])" if name.endswith("_total") else name
            right = f"rate({other}[{self.window()}])" if other.endswith("_total") else other
            return Part(self.infix(left, operator, right), labels_of(name))
        if roll < 0.75:  # many to one
            many = self.selector(names=("requests_total", "temp", "load", "up", "lat_bucket", "bytes_total"))
            one, include = random.choice((("build_info", "version"), ("limit", ""), ("up", ""), ("temp", "")))
            on = "job" if one == "limit" else "job, instance"
            if random.random() < 0.5:
                text = self.infix(many.text, f"{operator} on ({on}) group_left ({include})", one)
            else:
                text = self.infix(one, f"{operator} on ({on}) group_right ({include})", many.text)
            return Part(text, (*many.labels, include) if include else many.labels)
        left, right = self.vector(depth - 1), self.vector(depth - 1)
        labels = self.subset(tuple(dict.fromkeys((*left.labels, *right.labels))))
        word = random.choice(("on", "ignoring"))
        many = random.choice(("", "", " group_left ()", " group_right ()"))
        text = self.infix(left.text, f"{operator} {word} ({', '.join(labels)}){many}", right.text)
        return Part(text, labels if word == "on" else left.labels)

    def per(self, labels: tuple[str, ...], part: Part) -> str:
        return f"{self.random.choice(('sum', 'max', 'avg', 'min'))} by ({', '.join(labels)}) ({part.text})"

    def set_operation(self, depth: int) -> Part:
        random = self.random
        left, right = self.vector(depth - 1), self.vector(depth - 1)
        operator = random.choice(("and", "or", "unless"))
        if random.random() < 0.7:
            labels = self.subset(("job", "instance"))
            operator += f" {random.choice(('on', 'on', 'ignoring'))} ({', '.join(labels)})"
        return Part(self.infix(left.text, operator, right.text), left.labels)

    def maths(self, depth: int) -> Part:
        name = self.random.choice(MATHS)
        # The periodic ones blow up the last digits that libm and Go differ in, so that they get plain values.
        part = self.vector(0 if name in ("sin", "cos", "tan") else depth - 1)
        return Part(f"{name}({part.text})", part.labels)

    def subquery(self, depth: int) -> Part:
        inner = self.vector(depth - 1)
        name = self.random.choice((*self.over_time, "max_over_time", "avg_over_time", "rate", "quantile"))
        if name == "quantile":
            return Part(f"quantile_over_time({self.share()}, {self._sub(inner.text)})", inner.labels)
        return Part(f"{name}({self._sub(inner.text)})", inner.labels)

    def quantile(self, _depth: int) -> Part:
        random = self.random
        rate = f"rate(lat_bucket{self.matchers('lat_bucket')}[{self.window()}])"
        labels = tuple(label for label in ("job", "instance") if random.random() < 0.6)
        roll = random.random()
        if roll < 0.6:
            text, kept = f"sum by ({', '.join((*labels, 'le'))}) ({rate})", labels
        elif roll < 0.8:
            text, kept = rate, ("job", "instance")
        else:
            text, kept = "lat_bucket", ("job", "instance")
        if self.version >= (3, 6) and random.random() < 0.1:  # 3.5 gives NaN for bounds in the lowest bucket
            lower = random.choice(("-Inf", "0", "0.2"))
            return Part(f"histogram_fraction({lower}, {random.choice(('1', '3', 'Inf'))}, {text})", kept)
        return Part(f"histogram_quantile({self.share()}, {text})", kept)

    def other(self, depth: int) -> Part:
        random = self.random
        part = self.vector(depth - 1)
        text = part.text
        choices = [
            f"clamp({text}, {random.choice(('-5', '0', '10'))}, {random.choice(('5', '100', '-10'))})",
            f"clamp_max({text}, {self.number()})",
            f"clamp_min({text}, {self.number()})",
            f"round({text})",
            f"round({text}, {random.choice(('0.1', '5', '0.25', '-2'))})",
            f"absent({text})",
            f"timestamp({text})",
            f"-{text}" if text[0] not in "-+" else f"-({text})",
            f"vector({self.scalar(depth - 1)})",
            f"{random.choice(DATES)}({text})",
            f"{random.choice(DATES)}()",
            f'label_replace({text}, "job", "x$1", "job", "(a|d).*")',
            f'label_replace({text}, "new", "$2-$1", "instance", "(.*):(.*)")',
            f'label_replace({text}, "instance", "", "", "")',
            f'label_join({text}, "all", "-", "job", "instance", "missing")',
            f'label_join({text}, "job", "/", "job", "code")',
        ]
        if self.version >= (3, 0) and random.random() < 0.05:
            choices.append(f"info({self.selector().text})")
        return Part(random.choice(choices), part.labels)

    def sorted(self, depth: int) -> str:
        part = self.vector(depth)
        names = ["sort", "sort_desc"]
        if self.has("sort_by_label") and self.random.random() < 0.5:
            return f'{self.random.choice(("sort_by_label", "sort_by_label_desc"))}({part.text}, "instance", "job")'
        return f"{self.random.choice(names)}({part.text})"

    # Scalars

    def scalar(self, depth: int) -> str:
        random = self.random
        roll = random.random()
        if depth <= 0 or roll < 0.4:
            return random.choice((self.number(), self.number(), "time()", "pi()"))
        if roll < 0.7:
            clause = self.random.choice(("sum", "max", "count"))
            return f"scalar({clause}({self.vector(depth - 1).text}))"
        operator = random.choice(ARITHMETIC)
        if random.random() < 0.15:
            operator = f"{random.choice(COMPARE)} bool"
        return f"({self.scalar(depth - 1)} {operator} {self.scalar(depth - 1)})"

    def number(self) -> str:
        return self.random.choice(("0", "1", "2", "10", "0.5", "-1", "100", "1e3", "3.7", "60", "1e-3", "NaN", "Inf"))


assert all(name in METRICS for name in (*COUNTERS, *GAUGES))
