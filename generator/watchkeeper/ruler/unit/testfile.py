"""The model of a unit-test file, as promtool 3 reads it (cmd/promtool/unittest.go), with `start_timestamp` of 3.9."""

from __future__ import annotations

from watchkeeper.promql.durations import DurationError, parse_duration
from watchkeeper.ruler.rules import Fault, RuleError, line_of
from watchkeeper.ruler.unit import documents

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection
    from typing import Any

_FILE_KEYS = (
    "rule_files", "evaluation_interval", "group_eval_order", "tests", "fuzzy_compare",
)  # fmt: skip
_TEST_KEYS = (
    "interval", "input_series", "alert_rule_test", "promql_expr_test", "external_labels", "external_url", "name",
    "start_timestamp",
)  # fmt: skip
_SERIES_KEYS = ("series", "values")
_ALERT_KEYS = ("eval_time", "alertname", "exp_alerts")
_EXPECTED_KEYS = ("exp_labels", "exp_annotations")
_EXPR_KEYS = ("expr", "eval_time", "exp_samples")
_SAMPLE_KEYS = ("labels", "value", "histogram")

DEFAULT_INTERVAL_MS = 60_000


class InputSeries:
    """A series and its values in promtool's notation."""

    __slots__ = ("line", "series", "values")

    def __init__(self, series: str, values: str, line: int) -> None:
        self.series = series
        self.values = values
        self.line = line


class ExpectedAlert:
    """An alert that should fire."""

    __slots__ = ("annotations", "labels", "line")

    def __init__(self, labels: dict[str, str], annotations: dict[str, str], line: int) -> None:
        self.labels = labels
        self.annotations = annotations
        self.line = line


class AlertCase:
    """Which alerts of a name fire at a time (ms from the start)."""

    __slots__ = ("eval_ms", "expected", "line", "name")

    def __init__(self, name: str, eval_ms: int, expected: list[ExpectedAlert], line: int) -> None:
        self.name = name
        self.eval_ms = eval_ms
        self.expected = expected
        self.line = line


class ExpectedSample:
    """A sample that an expression should give."""

    __slots__ = ("histogram", "labels", "line", "value")

    def __init__(self, labels: str, value: str, histogram: str, line: int) -> None:
        self.labels = labels
        self.value = value
        self.histogram = histogram
        self.line = line


class ExprCase:
    """What an expression gives at a time (ms from the start)."""

    __slots__ = ("eval_ms", "expected", "expr", "line")

    def __init__(self, expr: str, eval_ms: int, expected: list[ExpectedSample], line: int) -> None:
        self.expr = expr
        self.eval_ms = eval_ms
        self.expected = expected
        self.line = line


class UnitTest:
    """One item of `tests`. Times in milliseconds."""

    __slots__ = (
        "alert_cases", "expr_cases", "external_labels", "external_url", "interval_ms", "line", "name", "series",
        "start_ms",
    )  # fmt: skip

    def __init__(self, line: int) -> None:
        self.line = line
        self.name = ""
        self.interval_ms = 0
        self.start_ms = 0
        self.series: list[InputSeries] = []
        self.alert_cases: list[AlertCase] = []
        self.expr_cases: list[ExprCase] = []
        self.external_labels: dict[str, str] = {}
        self.external_url = ""

    @property
    def last_ms(self) -> int:
        """The last time that something is asked for, from the start."""
        times = [case.eval_ms for case in self.alert_cases]
        times += [case.eval_ms for case in self.expr_cases]
        return max(times, default=0)


class UnitFile:
    """A unit-test file."""

    __slots__ = ("fuzzy", "interval_ms", "order", "path", "rule_files", "rule_line", "tests")

    def __init__(self, path: str) -> None:
        self.path = path
        self.rule_files: list[str] = []
        self.rule_line = 0
        self.interval_ms = DEFAULT_INTERVAL_MS
        self.order: list[str] = []
        self.fuzzy = False
        self.tests: list[UnitTest] = []


def is_test(document: Any) -> bool:
    """Whether a YAML document looks like a unit-test file."""
    return isinstance(document, dict) and "tests" in document and "groups" not in document


def read(path: str) -> UnitFile:
    """Read a unit-test file. Raises RuleError with all that is wrong with it."""
    return from_document(documents.read(path)[0], path)


def from_document(document: Any, path: str) -> UnitFile:
    """A unit-test file from its YAML. Raises RuleError."""
    reader = _Reader(path)
    found = reader.file(document)
    if reader.faults:
        raise RuleError(reader.faults)
    return found


class _Reader:
    def __init__(self, path: str) -> None:
        self.path = path
        self.faults: list[Fault] = []

    def fault(self, message: str, where: Any = None, key: str | None = None) -> None:
        self.faults.append(Fault(message, self.path, line_of(where, key)))

    def file(self, document: Any) -> UnitFile:
        found = UnitFile(self.path)
        if document is None:
            return found
        if not isinstance(document, documents.Map):
            self.fault("a unit-test file is a mapping with rule_files and tests")
            return found
        self.unknown(document, _FILE_KEYS, "a unit-test file")
        found.rule_files = self.strings(document, "rule_files")
        found.rule_line = line_of(document, "rule_files")
        found.interval_ms = self.duration(document, "evaluation_interval") or DEFAULT_INTERVAL_MS
        found.order = self.strings(document, "group_eval_order")
        for place, name in enumerate(found.order):
            if name in found.order[:place]:
                self.fault(f"group name repeated in evaluation order: {name}", document, "group_eval_order")
        found.fuzzy = self.boolean(document, "fuzzy_compare")
        for item in self.items(document, "tests", "a test"):
            test = self.test(item)
            test.interval_ms = test.interval_ms or found.interval_ms
            found.tests.append(test)
        return found

    def test(self, item: documents.Map) -> UnitTest:
        self.unknown(item, _TEST_KEYS, "a test")
        test = UnitTest(item.line)
        test.name = self.text(item, "name")
        test.interval_ms = self.duration(item, "interval")
        test.start_ms = self.start(item)
        test.external_labels = self.mapping(item, "external_labels")
        test.external_url = self.text(item, "external_url")
        for one in self.items(item, "input_series", "an input series"):
            self.unknown(one, _SERIES_KEYS, "an input series")
            test.series.append(InputSeries(self.text(one, "series"), self.text(one, "values"), one.line))
        test.alert_cases = [self.alert(one) for one in self.items(item, "alert_rule_test", "an alert test")]
        test.expr_cases = [self.expr(one) for one in self.items(item, "promql_expr_test", "an expression test")]
        return test

    def alert(self, item: documents.Map) -> AlertCase:
        self.unknown(item, _ALERT_KEYS, "an alert test")
        expected = []
        for one in self.items(item, "exp_alerts", "an expected alert"):
            self.unknown(one, _EXPECTED_KEYS, "an expected alert")
            labels, annotations = self.mapping(one, "exp_labels"), self.mapping(one, "exp_annotations")
            expected.append(ExpectedAlert(labels, annotations, one.line))
        name = self.text(item, "alertname")
        eval_ms = self.duration(item, "eval_time")
        if not name:
            self.fault("an item under alert_rule_test misses required attribute alertname", item)
        return AlertCase(name, eval_ms, expected, item.line)

    def expr(self, item: documents.Map) -> ExprCase:
        self.unknown(item, _EXPR_KEYS, "an expression test")
        expected = []
        for one in self.items(item, "exp_samples", "an expected sample"):
            self.unknown(one, _SAMPLE_KEYS, "an expected sample")
            value, histogram = self.text(one, "value"), self.text(one, "histogram")
            expected.append(ExpectedSample(self.text(one, "labels"), value, histogram, one.line))
        return ExprCase(self.text(item, "expr"), self.duration(item, "eval_time"), expected, line_of(item, "expr"))

    def unknown(self, mapping: documents.Map, known: Collection[str], what: str) -> None:
        for key in mapping:
            if key not in known:
                from watchkeeper.findings import nearest

                self.fault(f'{what} has no field "{key}"{nearest(key, list(known))}', mapping, key)

    def items(self, mapping: documents.Map, key: str, what: str) -> list[documents.Map]:
        found = []
        for item in self.list_(mapping, key):
            if isinstance(item, documents.Map):
                found.append(item)
            elif item is None:
                found.append(documents.Map(line_of(mapping, key)))
            else:
                self.fault(f"{key}: {what} must be a mapping", mapping, key)
        return found

    def list_(self, mapping: documents.Map, key: str) -> list[Any]:
        value = mapping.get(key)
        if value is None or value == "":
            return []
        if not isinstance(value, documents.Items):
            self.fault(f"{key} must be a list", mapping, key)
            return []
        return value

    def text(self, mapping: documents.Map, key: str) -> str:
        value = mapping.get(key)
        if value is None:
            return ""
        if not isinstance(value, str):
            self.fault(f"{key} must be a string", mapping, key)
            return ""
        return value

    def strings(self, mapping: documents.Map, key: str) -> list[str]:
        found = []
        for item in self.list_(mapping, key):
            if isinstance(item, str):
                found.append(item)
            else:
                self.fault(f"{key} must be a list of strings", mapping, key)
        return found

    def mapping(self, mapping: documents.Map, key: str) -> dict[str, str]:
        value = mapping.get(key)
        if value is None or value == "":
            return {}
        if not isinstance(value, documents.Map):
            self.fault(f"{key} must be a mapping", mapping, key)
            return {}
        found = {}
        for name, text in value.items():
            if text is None or isinstance(text, str):
                found[name] = text or ""
            else:
                self.fault(f"{key}.{name} must be a string", value, name)
        return found

    def duration(self, mapping: documents.Map, key: str) -> int:
        text = self.text(mapping, key)
        if text in ("", "0"):
            return 0
        try:
            return parse_duration(text)
        except DurationError as error:
            self.fault(f"{key}: {error}", mapping, key)
            return 0

    def boolean(self, mapping: documents.Map, key: str) -> bool:
        text = self.text(mapping, key).lower()
        if text in ("true", "yes", "on", "y"):
            return True
        if text not in ("", "false", "no", "off", "n"):
            self.fault(f"{key} must be true or false, not {text}", mapping, key)
        return False

    def start(self, mapping: documents.Map) -> int:
        """A time in ms: seconds since 1970, or RFC 3339."""
        text = self.text(mapping, "start_timestamp")
        if not text:
            return 0
        try:
            return round(float(text) * 1000)
        except ValueError:
            pass
        import datetime as dt

        try:
            moment = dt.datetime.fromisoformat(text.replace("Z", "+00:00").replace("z", "+00:00"))
        except ValueError:
            moment = None
        if moment is None or moment.tzinfo is None:
            self.fault(f"start_timestamp is neither seconds nor RFC 3339: {text}", mapping, "start_timestamp")
            return 0
        return round(moment.timestamp() * 1000)
