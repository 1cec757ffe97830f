"""The contract: every metric is declared once, with its type, labels and unit.

The exporter registers from it; rules and dashboards are checked against it. Standard library only, since the agent
inside a GPU process imports this module.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from watchkeeper.fields import fit, flag, hold, names, numbers, text
from watchkeeper.findings import Place, caller


class re(str):  # noqa: N801 - reads as a word in `METRIC.where(path=re("/v1/.*"))`
    """A regular expression (RE2, fully anchored, as Prometheus matches it) as a value of `where`."""

    __slots__ = ()


class not_(str):  # noqa: N801 - as `re`
    """A value of `where` that must not match: `not_("x")` is `!="x"`, `not_(re("x.*"))` is `!~"x.*"`."""

    __slots__ = ("pattern",)
    pattern: bool

    def __new__(cls, value: str) -> not_:  # noqa: PYI034 - Self is not in typing before 3.11
        self = super().__new__(cls, value)
        self.pattern = isinstance(value, re)
        return self


def selector(name: str, /, **matchers: str) -> str:
    """Return the PromQL selector `name{label="value",...}`, the labels in the order given."""
    parts = [f"{label}{_operator(value)}{quote(fit(name, label, value, text))}" for label, value in matchers.items()]
    return f"{name}{{{','.join(parts)}}}" if parts else str(name)


def _operator(value: str) -> str:
    if isinstance(value, not_):
        return "!~" if value.pattern else "!="
    return "=~" if isinstance(value, re) else "="


def quote(value: str) -> str:
    """Return value as a double-quoted PromQL string."""
    return '"' + "".join(_ESCAPES.get(c, c) for c in value) + '"'


_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"}


class Selectable:
    """What has a name in PromQL: it formats to that name, and `where` makes a selector of it."""

    __slots__ = ()
    name: str

    def __str__(self) -> str:
        """Return the name, so that an f-string of PromQL reads as PromQL."""
        return self.name

    def where(self, **matchers: str) -> str:
        """Return a selector: `METRIC.where(gpu="0", path=re("/v1/.*"), code=not_("200"))`."""
        return selector(self.name, **matchers)


@dataclass(frozen=True)
class Series(Selectable):
    """One of the series that a histogram consists of, such as `x_seconds_bucket`."""

    name: str


@dataclass(frozen=True)
class Metric(Selectable):
    """A metric family: use `Counter`, `Gauge`, `Histogram` or `Info`.

    `labels` are the metric's own; the target labels that a scrape adds are the pack's. `unit` is the base unit that the
    name ends in, in OpenMetrics' words (`seconds`, `bytes`, `ratio`, `celsius`, ...), empty where there is none.
    `external`: others publish it, so its name is as they chose it.
    """

    type: ClassVar[str] = "unknown"
    name: str
    help: str
    labels: tuple[str, ...] = field(default=(), kw_only=True)
    unit: str = field(default="", kw_only=True)
    external: bool = field(default=False, kw_only=True)
    place: Place = field(default_factory=caller, kw_only=True, compare=False, repr=False)

    def __post_init__(self) -> None:
        hold(self, name=text, help=text, labels=names, unit=text, external=flag)

    def series(self) -> dict[str, tuple[str, ...]]:
        """Return the names of the family's series, and the labels of each without target labels."""
        return {self.name: self.labels}


@dataclass(frozen=True)
class Counter(Metric):
    """Only goes up, but for restarts; the name ends in `_total`."""

    type: ClassVar[str] = "counter"


@dataclass(frozen=True)
class Gauge(Metric):
    """Goes up and down."""

    type: ClassVar[str] = "gauge"


@dataclass(frozen=True)
class Info(Metric):
    """Constant 1; the labels are the message; the name ends in `_info`."""

    type: ClassVar[str] = "info"


@dataclass(frozen=True)
class Histogram(Metric):
    """Counts observations in buckets. `buckets` are the upper bounds in the metric's unit, rising, without +Inf."""

    type: ClassVar[str] = "histogram"
    buckets: tuple[float, ...] = field(default=(), kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        hold(self, buckets=numbers)

    @property
    def bucket(self) -> Series:
        """The cumulative buckets, `x_bucket`, with the label `le`."""
        return Series(f"{self.name}_bucket")

    @property
    def sum(self) -> Series:
        """The sum of what was observed, `x_sum`."""
        return Series(f"{self.name}_sum")

    @property
    def count(self) -> Series:
        """The number of observations, `x_count`."""
        return Series(f"{self.name}_count")

    def series(self) -> dict[str, tuple[str, ...]]:
        """Return the three series; only the buckets have `le`."""
        return {
            self.bucket.name: (*self.labels, "le"),
            self.sum.name: self.labels,
            self.count.name: self.labels,
        }
