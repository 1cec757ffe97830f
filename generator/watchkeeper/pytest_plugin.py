"""The entry point of pytest's plugin: nothing but options, until there is a project of ours or a run.

It is loaded in every pytest run of an environment that has Watchkeeper, most of which have nothing to do with it, so
it imports neither pytest nor anything that is not loaded by then, not even `watchkeeper.testing`, whose `hooks` have
what the plugin does.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path

    import pytest

NAME = "watchkeeper-testing"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Options of coverage."""
    group = parser.getgroup("watchkeeper", "alerts under test")
    group.addoption(
        "--alert-coverage",
        action="store_true",
        help="show the alerts of the project's pack that lack a firing or a silent test",
    )
    group.addoption(
        "--alert-coverage-fail",
        action="store_true",
        help="the same, and fail the run where there are any",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Load what the plugin does where the project is one of ours, or where coverage is asked for."""
    if config.option.alert_coverage or config.option.alert_coverage_fail or _is_project(config.rootpath):
        _load(config)


def pytest_collection_finish(session: pytest.Session) -> None:
    """The same where a test module imports `watchkeeper.testing` in a project without settings of ours."""
    if "watchkeeper.testing" in sys.modules:
        _load(session.config)


def _load(config: pytest.Config) -> None:
    if not config.pluginmanager.has_plugin(NAME):
        from watchkeeper.testing import fixtures, hooks

        config.pluginmanager.register(hooks.Plugin(config), NAME)
        config.pluginmanager.register(fixtures, f"{NAME}-fixtures")


def _is_project(root: Path) -> bool:
    """Whether a pyproject.toml, from the root of the test run upwards, has a table of ours."""
    return any(b"[tool.watchkeeper" in _content(folder / "pyproject.toml") for folder in (root, *root.parents))


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""
