"""Strategies for native histograms, shared by their tests."""

from hypothesis import strategies as st

from watchkeeper.engine.histogram import CUSTOM, Histogram

POPULATIONS = st.integers(0, 1000).map(float)
BOUNDS = st.lists(st.sampled_from([-10.0, -2.5, 0.0, 0.5, 1.0, 2.0, 5.0, 10.0, 100.0]), unique=True).map(sorted)


@st.composite
def exponential(draw, *, negative=True, widths=(0.0, 0.25, 1.0)):
    """A histogram whose count is the sum of its buckets."""
    schema = draw(st.integers(-4, 8))
    indexes = st.integers(-12, 12)
    positive = draw(st.dictionaries(indexes, POPULATIONS, max_size=8))
    below = draw(st.dictionaries(indexes, POPULATIONS, max_size=8)) if negative else {}
    zero_count = draw(POPULATIONS)
    count = zero_count + sum(positive.values()) + sum(below.values())
    # Thresholds between bounds, too; buckets inside the zero bucket would not be a histogram.
    histogram = Histogram(
        schema,
        count=count,
        sum=draw(st.integers(-1000, 1000)) / 4,
        zero_count=zero_count,
        positive=positive,
        negative=below,
    )
    nearest = min((bucket[0] for bucket in histogram.buckets() if bucket[0] > 0), default=0.1)
    nearest = min([nearest, *(-bucket[1] for bucket in histogram.buckets() if bucket[1] < 0)])
    histogram.zero_threshold = nearest * draw(st.sampled_from(widths))
    return histogram


@st.composite
def custom(draw):
    """A histogram of custom buckets whose count is the sum of them."""
    bounds = draw(BOUNDS)
    populations = draw(st.lists(POPULATIONS, min_size=len(bounds) + 1, max_size=len(bounds) + 1))
    return Histogram(
        CUSTOM,
        count=sum(populations),
        sum=draw(st.integers(-1000, 1000)) / 4,
        positive=dict(enumerate(populations)),
        custom_values=bounds,
    )


def either():
    return exponential() | custom()


def pairs():
    """Two histograms that arithmetic can combine."""
    return st.tuples(exponential(), exponential()) | st.tuples(custom(), custom())


def population(histogram):
    """All observations in its buckets."""
    return sum(bucket[2] for bucket in histogram.buckets())
