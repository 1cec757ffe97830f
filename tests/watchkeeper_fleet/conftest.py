"""The fleet's own project, built once."""

from pathlib import Path

import pytest

from watchkeeper.building import build
from watchkeeper.findings import to_text
from watchkeeper.settings import load_settings
from watchkeeper_fleet.pack import PACK


@pytest.fixture(scope="session")
def project():
    project, findings = build(PACK, load_settings(Path(__file__)))
    assert not findings, "\n".join(map(to_text, findings))
    return project
