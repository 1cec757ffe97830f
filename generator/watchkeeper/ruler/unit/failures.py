"""What may be wrong when a unit test has run."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypeAlias

    from watchkeeper.engine.labels import Labels
    from watchkeeper.engine.results import Value
    from watchkeeper.ruler.history import AlertSeries, RunError
    from watchkeeper.ruler.rules import Rule
    from watchkeeper.ruler.unit.testfile import AlertCase, ExprCase, UnitTest

    # Labels and annotations, both sorted.
    Fired: TypeAlias = tuple[Labels, Labels]


class AlertFailure:
    """Other alerts fire than are expected, each as labels and annotations. `rules` are those of that name."""

    __slots__ = ("case", "expected", "fired", "rules", "series")

    def __init__(
        self, case: AlertCase, expected: list[Fired], fired: list[Fired], rules: list[Rule], series: list[AlertSeries]
    ) -> None:
        self.case = case
        self.expected = expected
        self.fired = fired
        self.rules = rules
        self.series = series


class UnknownAlert:
    """A test asks for an alert that no rule file has; `known` are the names there are."""

    __slots__ = ("case", "known")

    def __init__(self, case: AlertCase, known: list[str]) -> None:
        self.case = case
        self.known = known


class AmbiguousAlert:
    """A test asks for an alert that several rules of the same labels make."""

    __slots__ = ("case", "rules")

    def __init__(self, case: AlertCase, rules: list[Rule]) -> None:
        self.case = case
        self.rules = rules


class ExprFailure:
    """An expression gives other samples than are expected, or none at all for the reason in `error`."""

    __slots__ = ("case", "error", "expected", "found")

    def __init__(
        self,
        case: ExprCase,
        expected: list[tuple[Labels, Value]],
        found: list[tuple[Labels, Value]],
        error: str = "",
    ) -> None:
        self.case = case
        self.expected = expected
        self.found = found
        self.error = error


class RuleFailure:
    """A rule failed in an evaluation: the test ends there."""

    __slots__ = ("error",)

    def __init__(self, error: RunError) -> None:
        self.error = error


class Outcome:
    """What came of one test. `cyclic` are rules that read themselves."""

    __slots__ = ("checks", "cyclic", "failures", "skipped", "test")

    def __init__(self, test: UnitTest) -> None:
        self.test = test
        self.failures: list[Any] = []
        self.cyclic: list[Rule] = []
        self.checks = 0
        self.skipped = 0  # checks that were not made because a rule had failed
