"""Real Alertmanagers: that of the distribution, and one of a newer release."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from alertmanagers import Alertmanager, newer, running

if TYPE_CHECKING:
    import contextlib
    from collections.abc import Callable


@pytest.fixture(scope="module", params=["installed", "newer"])
def binary(request: pytest.FixtureRequest) -> str:
    """The server of the distribution, and the one of a newer release."""
    if request.param == "newer":
        return newer("prometheus-alertmanager") or pytest.skip(
            "Prometheus 3 is not here: name one in WATCHKEEPER_PROMETHEUS3, with its prometheus-alertmanager beside it"
        )
    return shutil.which("prometheus-alertmanager") or pytest.skip(
        "prometheus-alertmanager is not here: apt-get install prometheus-alertmanager"
    )


@pytest.fixture(scope="module")
def start(binary: str, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Any]:
    """Start an Alertmanager on files, as a context manager."""

    def run(files: dict[str, str]) -> contextlib.AbstractContextManager[Alertmanager]:
        return running(binary, tmp_path_factory.mktemp("alertmanager"), files)

    return run
