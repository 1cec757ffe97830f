"""What pytest's plugin does: the fixture `pack`, forgotten assertions, and coverage of alerts."""

from __future__ import annotations

import pytest

from watchkeeper.testing import ledger
from watchkeeper.testing.coverage import Coverage, table

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Generator
    from typing import Any

    from watchkeeper.settings import Settings
    from watchkeeper.testing.bench import Bench
    from watchkeeper.testing.evaluated import Evaluated

_SHOWN = "watchkeeper_alerts"


class Plugin:
    """The hooks of one test session. State goes with it, so that a session inside another leaves it alone."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.ledger = ledger.open_()
        self.early: list[Evaluated] = []  # made while fixtures were set up: a later test may be the one that asserts
        self.partial = False  # whether tests were left out, which may be the ones
        self.wants_coverage = bool(config.option.alert_coverage or config.option.alert_coverage_fail)
        self.coverage: Coverage | None = None
        self.bench: Bench | None = None

    def project(self) -> Bench:
        """The project's pack under test, loaded once. Fails where there is none, or it can't be loaded."""
        if self.bench is None:
            settings = _settings(self.config)
            if not settings.definitions:
                pytest.fail('[tool.watchkeeper] has no definitions: write definitions = "package.module:PACK"', False)
            self.bench = _bench(settings)
        return self.bench

    def pytest_deselected(self) -> None:
        """Some tests are left out."""
        self.partial = True

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_setup(self) -> Generator[None, Any, Any]:
        """Runs that fixtures make may be asserted of by any test that uses them."""
        self.ledger.turn()
        result = yield
        self.early = [run for run in (*self.early, *self.ledger.turn()[0]) if not run.asserted]
        return result

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, Any, Any]:
        """A test that passes without a word about a run that it made has forgotten something."""
        result = yield
        runs, shown = self.ledger.turn()
        forgotten = [run for run in runs if not run.asserted]
        if forgotten:
            pytest.fail(_forgotten(forgotten), pytrace=False)
        if self.wants_coverage:
            item.user_properties += [(_SHOWN, list(entry)) for entry in sorted(shown)]
        return result

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_teardown(self, item: pytest.Item, nextitem: pytest.Item | None) -> Generator[None, Any, Any]:
        """At the end of the session, nothing is left that could assert anything of fixtures' runs."""
        result = yield
        known = not (self.partial or self.config.option.maxfail or item.session.testsfailed or _is_worker(self.config))
        if nextitem is None and known:
            forgotten = [run for run in self.early if not run.asserted]
            if forgotten:
                pytest.fail(_forgotten(forgotten), pytrace=False)
        return result

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Gather what tests that passed have shown; with pytest-xdist, in the process that gathers reports."""
        if self.wants_coverage and report.when == "call" and report.passed:
            if self.coverage is None:
                self.coverage = Coverage()
            self.coverage.add(value for key, value in report.user_properties if key == _SHOWN)  # type: ignore[misc]

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """The table of alerts that are not tested both ways."""
        if not self.wants_coverage or _is_worker(self.config):
            return
        lines, _ = self._missing()
        terminalreporter.write_sep("=", "alert coverage")
        for line in lines:
            terminalreporter.write_line(line)

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Fail the run where coverage is asked for and not whole."""
        ok = session.exitstatus in {pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED}
        if ok and self.config.option.alert_coverage_fail and not _is_worker(self.config) and self._missing()[1]:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_unconfigure(self) -> None:
        """The session is over."""
        ledger.close(self.ledger)

    def _missing(self) -> tuple[list[str], bool]:
        """The table's lines, and whether an alert lacks a test."""
        try:
            return table(self.project(), self.coverage or Coverage())
        except (pytest.UsageError, pytest.fail.Exception) as error:
            return str(error).splitlines(), True


def _is_worker(config: pytest.Config) -> bool:
    """Whether this is one of pytest-xdist's processes, whose reports go elsewhere."""
    return hasattr(config, "workerinput")


def _settings(config: pytest.Config) -> Settings:
    from watchkeeper.settings import SettingsError, load_settings

    try:
        return load_settings(config.rootpath)
    except SettingsError as error:
        raise pytest.UsageError(_told(error.findings)) from None


def _bench(settings: Settings) -> Bench:
    from watchkeeper.load import LoadError, load_pack
    from watchkeeper.testing.bench import Bench

    try:
        return Bench(load_pack(settings.definitions, settings.root), settings)
    except LoadError as error:
        raise pytest.UsageError(_told([error.finding])) from None


def _told(findings: list[Any]) -> str:
    from watchkeeper.findings import to_text

    return "\n".join(map(to_text, findings))


def _forgotten(runs: list[Evaluated]) -> str:
    places = ", ".join(str(run.place) for run in runs)
    return f"nothing was asserted of the run made at {places}: call run.fires(...), run.silent(...) or the like"
