"""Go's values as templates meet them, and their types.

float is float64, int is int, str is string, a plain dict is map[string]string, None is nil; the rest is here. Python's
own types tell Go's apart, so a type is looked up, never guessed.
"""

from __future__ import annotations

from watchkeeper.ruler.template.moments import Duration, Month, Time, Weekday

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any, TypeAlias

    LabelSet: TypeAlias = Mapping[str, str] | Iterable[tuple[str, str]]


class Html(str):
    """What safeHtml gives."""

    __slots__ = ()


class Int64(int):
    """An int64, such as a Unix time."""

    __slots__ = ()


class Byte(int):
    """A uint8: what index gives of a string."""

    __slots__ = ()


class Args(dict[str, object]):
    """A map[string]interface {}: what args gives."""


class Sample:
    """One sample of a query: a pointer to a struct."""

    __slots__ = ("labels", "value")

    def __init__(self, labels: dict[str, str], value: object) -> None:
        self.labels = labels
        self.value = value


class QueryResult(list[Sample]):
    """What query gives."""


class Root:
    """What dot is at the start."""

    __slots__ = ("external_labels", "external_url", "labels", "value")

    def __init__(self, labels: LabelSet, value: object, external_labels: LabelSet, url: str) -> None:
        self.labels = labels if type(labels) is dict else dict(labels)
        self.value = value_of(value)
        self.external_labels = external_labels if type(external_labels) is dict else dict(external_labels)
        self.external_url = url


class Histogram:
    """A native histogram, which prints itself as Prometheus does; what the engine has is told by its attributes."""

    __slots__ = ("histogram",)

    def __init__(self, histogram: object) -> None:
        self.histogram = histogram

    def __getattr__(self, name: str) -> Any:
        return getattr(self.histogram, name)

    def __str__(self) -> str:
        return str(self.histogram)


def value_of(value: Any) -> Any:
    """The value of a sample as one of the types here: floats are plain ones, all else is a histogram."""
    if type(value) is float:
        return value
    return float(value) if isinstance(value, (int, float)) else Histogram(value)


HISTOGRAM_FIELDS = {
    "Count": "count",
    "Schema": "schema",
    "Sum": "sum",
    "ZeroCount": "zero_count",
    "ZeroThreshold": "zero_threshold",
}
# Fields of structs, in their order: name in Go, name here.
FIELDS: dict[type, tuple[tuple[str, str], ...]] = {
    Sample: (("Labels", "labels"), ("Value", "value")),
    Root: (
        ("Labels", "labels"),
        ("ExternalLabels", "external_labels"),
        ("ExternalURL", "external_url"),
        ("Value", "value"),
    ),
}

_NAMES: dict[type, str] = {
    str: "string",
    bool: "bool",
    int: "int",
    float: "float64",
    complex: "complex128",
    dict: "map[string]string",
    Html: "template.HTML",
    Int64: "int64",
    Byte: "uint8",
    Args: "map[string]interface {}",
    Sample: "*template.sample",
    QueryResult: "template.queryResult",
    Duration: "time.Duration",
    Month: "time.Month",
    Weekday: "time.Weekday",
    Root: "struct { Labels map[string]string; ExternalLabels map[string]string; ExternalURL string; "
    "Value interface {} }",
    Histogram: "*histogram.FloatHistogram",
    type(None): "<nil>",
}
_KINDS: dict[type, str] = {
    str: "string",
    Html: "string",
    bool: "bool",
    int: "int",
    Int64: "int",
    Duration: "int",
    Month: "int",
    Weekday: "int",
    Byte: "uint",
    float: "float",
    complex: "complex",
    dict: "map",
    Args: "map",
    QueryResult: "slice",
    Sample: "pointer",
    Root: "struct",
    Time: "struct",
    type(None): "",
}


def type_name(value: object) -> str:
    """The type by fmt's %T."""
    name = _NAMES.get(type(value))
    if name is not None:
        return name
    if isinstance(value, Time):
        return "*time.Time" if value.is_pointer else "time.Time"
    raise AssertionError(type(value))


def kind(value: object) -> str:
    """The kind of a value, integers of all sizes alike; empty for nil."""
    found = _KINDS.get(type(value), "pointer")
    return "pointer" if found == "struct" and isinstance(value, Time) and value.is_pointer else found


def truth(value: object) -> bool:
    """Whether an `if` takes it for true: not the empty value of its type. NaN and any struct are true."""
    if isinstance(value, (str, bool, int, float, complex, dict, list)):
        return bool(value)
    return value is not None


def fields_of(value: Any) -> list[tuple[str, object]]:
    """The fields of a struct, with Go's names."""
    return [(name, getattr(value, own)) for name, own in FIELDS[type(value)]]
