"""A repository on loopback, and receivers of it."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from issues_world import World


@pytest.fixture
def world():
    found = World()
    yield found
    found.close()
