"""The fixture `pack`. A module of its own: pytest takes fixtures of a session from modules, not from objects."""

from __future__ import annotations

import pytest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from watchkeeper.testing.bench import Bench


@pytest.fixture(scope="session")
def pack(pytestconfig: pytest.Config) -> Bench:
    """The project's pack under test, from `definitions` in [tool.watchkeeper]: `pack.run({METRIC: "0+1x20"})`."""
    from watchkeeper.pytest_plugin import NAME

    plugin: Any = pytestconfig.pluginmanager.get_plugin(NAME)
    bench: Bench = plugin.project()
    return bench
