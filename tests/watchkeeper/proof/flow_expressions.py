"""Random PromQL for the soundness test, weighted towards what changes labels."""

from random import Random

from flow_worlds import BOUNDS, LABELS, TARGET, VALUES

ALL = (*LABELS, *TARGET, *LABELS, *TARGET, "job", "le", "__name__", "__type__", "other")
AGGREGATIONS = ("sum", "sum", "sum", "avg", "max", "min", "count", "group", "stddev", "stdvar")
RANGES = ("rate", "increase", "max_over_time", "last_over_time", "first_over_time", "count_over_time", "changes")
MAPS = ("abs", "ceil", "sgn", "timestamp", "hour", "sort", "sort_desc", "round", "exp", "start_timestamp")
COMPARISONS = (">", ">=", "<", "<=", "==", "!=")
ARITHMETIC = ("+", "-", "*", "/", "+", "*", "atan2", "%")
PATTERNS = (
    "(.*)",
    "(.+)",
    ".*",
    "a|b",
    "a",
    "",
    "(a|b)",
    "([a-z]+)(.*)",
    "b.*",
    "^(.*)$",
    "x|",
    "(c?)(.*)",
    "(c?)(.*)",
    "(c?)(.*)",
    "(b?).*",
)
REPLACEMENTS = ("$1", "$1", "${1}", "x", "", "$2", "x$1", "$0", "$$", "$other")


class Expressions:
    """A source of expressions over metrics of these names."""

    def __init__(self, random: Random, names: tuple[str, ...]) -> None:
        self.random = random
        self.names = names

    def any(self) -> str:
        """One expression, a vector mostly."""
        depth = self.random.choice((1, 1, 1, 1, 2, 2, 2, 3, 3, 4))
        if self.random.random() < 0.02:
            return f"scalar({self.vector(depth)}) + {self.number()}"
        return self.vector(depth)

    def vector(self, depth: int) -> str:
        random = self.random
        if depth <= 0:
            return self.selector() if random.random() < 0.8 else self.source()
        makers = (
            *(self.aggregated,) * 5,
            *(self.joined,) * 5,
            *(self.set_operation,) * 5,
            *(self.label_replaced,) * 4,
            *(self.compared,) * 3,
            *(self.ranged,) * 2,
            self.mapped,
            self.label_joined,
            self.picked,
            self.absent,
            self.counted,
            self.quantile,
            *(self.info,) * 3,
            self.scaled,
            self.wrapped,
            *(self.at_odds,) * 4,
            *(self.named,) * 4,
            *(self.valued,) * 3,
            self.source,
        )
        return random.choice(makers)(depth - 1)

    # Sources

    def selector(self, names: tuple[str, ...] = ()) -> str:
        random = self.random
        name = random.choice(names or self.names)
        matchers = [self.matcher() for _ in range(random.choice((0, 0, 0, 1, 1, 2)))]
        if random.random() < 0.05 and not names:
            name = ""
            matchers.append(random.choice((f'__name__=~"{random.choice(self.names)}|alpha"', '__name__=~"metric.*"')))
        text = f"{name}{{{','.join(matchers)}}}" if matchers else name
        if random.random() < 0.05:
            text += random.choice((" offset 1m", " @ 300", " @ end()"))
        return text

    def matcher(self) -> str:
        random = self.random
        label = random.choice((*LABELS, *TARGET, *TARGET, "le", "__type__", "other"))
        value = random.choice((*VALUES, "a", "b", ""))
        return random.choice((
            f'{label}="{value}"', f'{label}="{value}"', f'{label}!="{value}"', f'{label}!=""',
            f'{label}=~".+"', f'{label}=~".*"', f'{label}=~"a|b"', f'{label}=~"{value}|"', f'{label}!~"{value}"',
            f'{label}!~".+"', f'{label}!~"a.*"', f'{label}=~"[ab]"', f'{label}=~"{value}.?"', f'{label}=~"^.+$"',
            f'{label}!~"x?"', f'{label}=~"{value}"',
        ))  # fmt: skip

    def source(self, depth: int = 0) -> str:  # noqa: ARG002 - all are called alike
        return self.random.choice((
            "vector(1)", "vector(0)", "vector(time())", "hour()", "minute()", "vector(scalar(alpha))",
            f"absent({self.selector()})", "absent_over_time(metric0[2m])", f"absent({self.selector()} > 1)",
        ))  # fmt: skip

    def absent(self, depth: int) -> str:
        random = self.random
        if random.random() < 0.5:
            given = [self.matcher() for _ in range(random.choice((1, 2, 3)))]
            if random.random() < 0.3:
                given.append(f'{random.choice(TARGET)}{random.choice(("=", "!="))}"a"')
                given.append(f'{random.choice(TARGET)}{random.choice(("=", "!=", "=~"))}"b"')
            matchers = ",".join(given)
            text = f"{random.choice((*self.names, 'gone', 'gone'))}{{{matchers}}}"
            return random.choice((f"absent({text})", f"absent(({text}))", f"absent_over_time({text}[3m])"))
        return f"absent({self.vector(depth)})"

    # What changes labels

    def labels(self, *, most: int = 3) -> str:
        return ", ".join(dict.fromkeys(self.random.choices(ALL, k=self.random.randint(0, most))))

    def grouping(self, *, most: int = 3) -> str:
        return self.random.choice((
            "", f" by ({self.labels(most=most)})", f" by ({self.labels(most=most)})",
            f" without ({self.labels(most=most)})",
        ))  # fmt: skip

    def aggregated(self, depth: int) -> str:
        op = self.random.choice(AGGREGATIONS)
        if self.random.random() < 0.05:
            return f"quantile{self.grouping()} (0.5, {self.vector(depth)})"
        return f"{op}{self.grouping()} ({self.vector(depth)})"

    def picked(self, depth: int) -> str:
        op = self.random.choice(("topk", "bottomk", "limitk", "limit_ratio"))
        return f"{op}{self.grouping()} ({'0.7' if op == 'limit_ratio' else '2'}, {self.vector(depth)})"

    def counted(self, depth: int) -> str:
        # Of more than two labels Prometheus 2.42 forgets one.
        label = self.random.choice((*LABELS, "value", "value", "job", "__name__", "__type__"))
        return f'count_values{self.grouping(most=2)} ("{label}", {self.vector(depth)})'

    def joined(self, depth: int) -> str:
        random = self.random
        op = random.choice((*ARITHMETIC, *COMPARISONS))
        flag = " bool" if op in COMPARISONS and random.random() < 0.3 else ""
        if random.random() < 0.1:  # series without a partner have not what is included
            label, other = random.choice(ALL[:6]), random.choice(TARGET)
            by = f"max by ({other}, {label}) ({self.selector()})"
            return f"{self.selector()} {op}{flag} on ({other}) group_left ({label}) fill_right (1) {by}"
        matching, left, right = self.sides(depth)
        if random.random() < 0.1:
            matching += random.choice((" fill (0)", " fill_left (1)", " fill_right (2)"))
        return f"({left}) {op}{flag}{matching} ({right})"

    def named(self, depth: int) -> str:
        """What is done with metric names, some of which are still to be dropped where that is delayed."""
        random = self.random
        left, right = (random.choice((self.selector(), f"rate({self.selector()}[3m])")) for _ in range(2))
        either = random.choice((left, f"{left} or {right}", f"{right} or {self.vector(depth)}"))
        label, op = random.choice(ALL), random.choice((*COMPARISONS, "*", "atan2"))
        return random.choice((
            f"sum by (__name__, {label}) ({either})", f"sum by ({label}) ({either})", f"sum without (le) ({either})",
            f'count_values by (__name__) ("value", {either})', f"({left}) and on (__name__) ({right})",
            f'label_replace({either}, "{label}", "$1", "__name__", "(.*)")',
            f'label_replace({either}, "__name__", "$1", "{label}", "(.*)")', f"-({either})",
            f"({left}) {op} on (job) group_left (__name__) max by (job, __name__) ({right})",
            f"rate({self.selector()}[3m]) {op} on (job) group_left (__name__) max by (job, __name__) ({right})",
            f"({left}) {op} on (__name__) ({right})", f"({either}) atan2 2",
            f"({either}) atan2 on (job) group_left () max by (job) ({right})",
            'rate(alpha{__type__!=""}[3m])', 'abs(beta{__type__=~"a|b"})',
        ))  # fmt: skip

    def valued(self, depth: int) -> str:  # noqa: ARG002 - all are called alike
        """Sides of which each has its values of a label, the same or not."""
        random = self.random
        label, name = random.choice((*LABELS, *TARGET)), random.choice(self.names)
        one, two, three = (f'{name}{{{label}="{random.choice("ab")}"}}' for _ in range(3))
        op = random.choice(("and", "unless", "and", "*", "=="))
        return random.choice((
            f"({one} or {two}) {op} on ({label}) ({three})", f"sum by ({label}) ({one} or {two}) {op} ({three})",
            f"({three}) {op} on ({label}) ({one} or {two})", f"({one}) {op} ({two})",
            f"({one}) {op} on (job, {label}) max by (job, {label}) ({two} or {three})",
            f"(({one}) and ({two})) {op} ({three})", f"({one}) {op} ignoring ({label}) ({two})",
        ))  # fmt: skip

    def sides(self, depth: int) -> tuple[str, str, str]:
        """A matching modifier and two sides that it often fits."""
        random = self.random
        roll = random.random()
        left, right = self.vector(depth), self.vector(depth)
        names = self.labels(most=2)
        if roll < 0.25:  # one side is made to fit
            right = f"max by ({names}) ({right})"
            group = random.choice(("", f" group_left ({self.included(names)})", " group_left ()"))
            if not group:
                left = f"sum by ({names}) ({left})"
            return f" on ({names}){group}", left, right
        if roll < 0.35:
            left = f"max by ({names}) ({left})"
            return f" on ({names}) group_right ({self.included(names)})", left, right
        if roll < 0.45:
            return "", left, left
        if roll < 0.5:
            more = random.choice(LABELS)
            names = ", ".join(dict.fromkeys(random.choices((*LABELS, *TARGET), k=2)))
            group = random.choice((" group_left ()", f" group_left ({self.included(names)})"))
            return f" ignoring ({more}){group}", f"max by ({names}, {more}) ({left})", f"max by ({names}) ({left})"
        if roll < 0.55:
            group = random.choice(("", " group_left ()", f" group_left ({self.included('')})"))
            return f" ignoring ({self.labels(most=2)}){group}", left, right
        if roll < 0.65:
            grouping = self.grouping()
            return "", f"sum{grouping} ({left})", f"max{grouping} ({right})"
        if roll < 0.8:
            return f" on ({names})", left, right
        return "", left, right

    def included(self, names: str) -> str:
        given = names.split(", ")
        return ", ".join(label for label in dict.fromkeys(self.random.choices(ALL, k=2)) if label not in given)

    def set_operation(self, depth: int) -> str:
        random = self.random
        op = random.choice(("or", "or", "and", "and", "unless"))
        matching = random.choice(("", "", f" on ({self.labels(most=2)})", f" ignoring ({self.labels(most=2)})"))
        left, right = self.vector(depth), self.vector(depth)
        if random.random() < 0.1:
            right = left
        elif random.random() < 0.2:  # what is on one side of `or` only meets series of which nothing is known
            left = random.choice(("alpha", "beta"))
            right = f"sum{self.grouping()} ({right}) or {self.selector(self.names[:5])}"
        return f"({left}) {op}{matching} ({right})"

    def label_replaced(self, depth: int) -> str:
        random = self.random
        target, source = random.choice(ALL), random.choice((*ALL, *LABELS, *TARGET, "", ""))
        if random.random() < 0.2:
            source = target
        replacement, pattern = random.choice(REPLACEMENTS), random.choice(PATTERNS)
        return f'label_replace({self.vector(depth)}, "{target}", "{replacement}", "{source}", "{pattern}")'

    def label_joined(self, depth: int) -> str:
        random = self.random
        sources = "".join(f', "{random.choice(ALL)}"' for _ in range(random.choice((0, 1, 2, 2))))
        return f'label_join({self.vector(depth)}, "{random.choice(ALL)}", "{random.choice(("", "-"))}"{sources})'

    def info(self, depth: int) -> str:
        random = self.random
        data = random.choice(("", ', {extra=~".+"}', ', {extra=~".*"}', ', {extra="a", mode=~".*"}',
                              ', {__name__=~".*_info"}', ', {__name__=~".+", extra!=""}'))  # fmt: skip
        return f"info({self.vector(depth)}{data})"

    # What mostly does not

    def number(self) -> str:
        return self.random.choice(("0", "1", "2", "3", "0.5", "(1 + 1)", "-1", "scalar(metric0)"))

    def compared(self, depth: int) -> str:
        random = self.random
        op = random.choice(COMPARISONS) + (" bool" if random.random() < 0.2 else "")
        sides = [f"({self.vector(depth)})", self.number()]
        if random.random() < 0.2:
            sides.reverse()
        return f" {op} ".join(sides)

    def scaled(self, depth: int) -> str:
        random = self.random
        if random.random() < 0.2:
            return random.choice((f"-({self.vector(depth)})", f"+({self.vector(depth)})"))
        sides = [f"({self.vector(depth)})", self.number()]
        random.shuffle(sides)
        return f" {random.choice((*ARITHMETIC, '</', '>/'))} ".join(sides)

    def at_odds(self, depth: int) -> str:
        """Comparisons of which not all can hold."""
        random = self.random
        inner = random.choice((
            self.selector(), f"({self.vector(depth)})", "vector(2)", f"abs({self.selector()})",
            f"({self.joined(depth)})", f"({self.bounded()})",
        ))  # fmt: skip
        first, second = (f" {random.choice(COMPARISONS)} {random.choice('0123')}" for _ in range(2))
        if random.random() < 0.4:
            return f"({self.bounded()}){random.choice((first, ' < 1', ' <= 0'))}"
        if random.random() < 0.5:
            first, second = random.choice((" > 1", " >= 2")), random.choice((" < 2", " <= 1", " < 1"))
        if random.random() < 0.5:
            return f"{inner}{first}{second}"
        matching = random.choice(("", f" on ({self.labels(most=2)})", " on ()", f" ignoring ({self.labels(most=2)})"))
        return f"{inner}{first} and{matching} {inner}{second}"

    def bounded(self) -> str:
        """A comparison of sides that were compared with numbers before."""
        random = self.random
        left = f"min by (job) ({random.choice(self.names)})"
        if random.random() < 0.3:
            left = f"({left} >= {random.choice('012')})"
        right = f"(max by (job) ({random.choice(self.names)}) >= {random.choice('12')})"
        right_is_many = " on (job) group_right ()"
        modifier = random.choice((right_is_many, right_is_many, "", " on (job) group_left ()", " fill (0)"))
        return f"{left} {random.choice(('<', '<=', '!=', '>'))}{modifier} {right}"

    def ranged(self, depth: int) -> str:
        random = self.random
        function = random.choice(RANGES)
        if random.random() < 0.6:
            return f"{function}({self.selector()}[3m])"
        return f"{function}(({self.vector(depth)})[3m:1m])"

    def mapped(self, depth: int) -> str:
        random = self.random
        roll = random.random()
        if roll < 0.15:
            low, high = random.choice("0123"), random.choice("0123")
            return f"clamp({self.vector(depth)}, {low}, {high})"
        if roll < 0.25:
            return f'sort_by_label({self.vector(depth)}, "job")'
        if roll < 0.35:
            return f"histogram_count({random.choice(('native', self.vector(depth)))})"
        if roll < 0.45:
            return f"predict_linear({self.selector()}[3m], 60)"
        return f"{random.choice(MAPS)}({self.vector(depth)})"

    def quantile(self, depth: int) -> str:
        random = self.random
        inner = random.choice((
            "rate(latency_bucket[3m])", f"sum by (le, {random.choice(LABELS)}) (latency_bucket)", "native",
            self.selector(("latency_bucket",)), self.vector(depth), "latency_bucket or native",
            'native{le="1"}',
        ))  # fmt: skip
        if random.random() < 0.3:
            inner = f'label_replace({inner}, "le", "{random.choice(BOUNDS)}", "{random.choice(LABELS)}", "a")'
        return random.choice((
            f"histogram_quantile(0.9, {inner})", f"histogram_fraction(0, 1, {inner})",
            f'histogram_quantiles({inner}, "{random.choice((*ALL, "q"))}", 0.5, 0.9)',
        ))  # fmt: skip

    def wrapped(self, depth: int) -> str:
        return f"({self.vector(depth)})"
