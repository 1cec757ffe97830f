"""Hypothesis strategies for well-formed and well-typed PromQL: `EXPRESSIONS` are texts that Prometheus loads."""

from hypothesis import strategies as st

NAMES = st.sampled_from(["foo", "a:b", "up", "sum", "start", "offset", "http_requests_total", "infra", "_"])
LABELS = st.sampled_from(["a", "job", "on", "le", "__name", "instance", "by"])
UNITS = st.sampled_from(["ms", "s", "m", "h", "d", "w"])
DURATIONS = st.builds("{}{}".format, st.integers(1, 90), UNITS) | st.sampled_from(["1h30m", "1d12h", "2m3s4ms"])
NUMBERS = st.sampled_from(["0", "1", "2.5", ".5", "1e3", "1e-3", "0x1f", "017", "Inf", "NaN", "100"])
STRINGS = st.sampled_from(['"a"', "'b c'", '"d\\"e"', '"f\\n"', "`g`", '""', '"é"', "'.*'"])
REGEXES = st.sampled_from(['"a|b"', '".*"', "'.+'", '"[a-z]+"', '"a.c"', '"(x|y)z?"', '"n\\\\d+"'])
SPACE = st.sampled_from(["", " "])

MATCHERS = st.builds("{}{}{}".format, LABELS, st.sampled_from(["=", "!="]), STRINGS) | st.builds(
    "{}{}{}".format, LABELS, st.sampled_from(["=~", "!~"]), REGEXES
)
BRACES = st.lists(MATCHERS, max_size=3).map(lambda matchers: f"{{{', '.join(matchers)}}}")
SELECTORS = st.builds("{}{}".format, NAMES, st.just("") | BRACES)
OFFSETS = st.builds(" offset {}{}".format, st.sampled_from(["", "-"]), DURATIONS)
ATS = st.sampled_from([" @ 5", " @ 1.5", " @ -3e2", " @ start()", " @ end()"])
MODIFIERS = (
    st.just("") | OFFSETS | ATS | st.builds("{}{}".format, OFFSETS, ATS) | st.builds("{}{}".format, ATS, OFFSETS)
)
LABEL_LISTS = st.lists(LABELS, max_size=3, unique=True).map(lambda labels: f"({', '.join(labels)})")

RANGE_FUNCTIONS = st.sampled_from(["rate", "increase", "max_over_time", "absent_over_time", "changes", "deriv"])
VECTOR_FUNCTIONS = st.sampled_from(["abs", "absent", "sort", "timestamp", "hour", "sin", "ln"])
AGGREGATIONS = st.sampled_from(["sum", "avg", "min", "max", "count", "stddev", "group", "SUM"])
ARITHMETIC = st.sampled_from(["+", "-", "*", "/", "%", "^", "atan2"])
COMPARISON = st.sampled_from(["==", "!=", "<", ">", "<=", ">="])
SETS = st.sampled_from(["and", "or", "unless", "AND"])


def matching(operators, *, sets=False):
    """An operator with its modifiers between vectors."""
    on = st.builds(" {} {}".format, st.sampled_from(["on", "ignoring"]), LABEL_LISTS)
    group = st.builds(" ignoring {} {} (zz)".format, LABEL_LISTS, st.sampled_from(["group_left", "group_right"]))
    modifiers = st.just("") | on if sets else st.just("") | on | group
    return st.builds("{}{}".format, operators, modifiers)


def matrices(vectors):
    plain = st.builds("{}[{}]{}".format, SELECTORS, DURATIONS, MODIFIERS)
    subqueries = st.builds("({})[{}:{}]{}".format, vectors, DURATIONS, st.just("") | DURATIONS, MODIFIERS)
    return plain | subqueries


def scalars_over(vectors):
    return (
        st.builds("scalar({})".format, vectors)
        | st.sampled_from(["time()", "pi()"])
        | NUMBERS
        | NUMBERS.map("-{}".format)
    )


def extended(vectors):
    """Vectors one level deeper."""
    scalars = scalars_over(vectors)
    return st.one_of(
        vectors.map("({})".format),
        vectors.map("-{}".format),
        st.builds("{}({})".format, VECTOR_FUNCTIONS, vectors),
        st.builds("{}({})".format, RANGE_FUNCTIONS, matrices(vectors)),
        st.builds("quantile_over_time({}, {})".format, scalars, matrices(vectors)),
        st.builds("histogram_quantile({}, {})".format, scalars, vectors),
        st.builds("clamp({}, {}, {})".format, vectors, scalars, scalars),
        st.builds("round({}{})".format, vectors, st.just("") | scalars.map(", {}".format)),
        st.builds('label_replace({}, "a", "$1", "b", {})'.format, vectors, REGEXES),
        st.builds("label_join({}, 'a', {}, 'b', 'c')".format, vectors, STRINGS),
        st.builds("{}({})".format, AGGREGATIONS, vectors),
        st.builds("{} {} {} ({})".format, AGGREGATIONS, st.sampled_from(["by", "without"]), LABEL_LISTS, vectors),
        st.builds("{}({}) {} {}".format, AGGREGATIONS, vectors, st.sampled_from(["by", "without"]), LABEL_LISTS),
        st.builds("topk({}, {})".format, scalars, vectors),
        st.builds("count_values({}, {})".format, STRINGS, vectors),
        st.builds("{} {} {}".format, vectors, ARITHMETIC | COMPARISON | SETS, vectors),
        st.builds("({}) {} ({})".format, vectors, matching(ARITHMETIC | COMPARISON), vectors),
        st.builds("({}) {} ({})".format, vectors, matching(SETS, sets=True), vectors),
        st.builds("{} {} {}".format, vectors, ARITHMETIC, scalars),
        st.builds("{} {} {}".format, scalars, ARITHMETIC, vectors),
        st.builds("{} {}{} {}".format, vectors, COMPARISON, st.sampled_from(["", " bool"]), scalars),
    )


VECTORS = st.recursive(
    st.builds("{}{}".format, SELECTORS, MODIFIERS) | NUMBERS.map("vector({})".format), extended, max_leaves=6
)
EXPRESSIONS = st.one_of(VECTORS, matrices(VECTORS), scalars_over(VECTORS), STRINGS)
