"""The small pack of `acme.py`, under test."""

import importlib.util
import sys
from pathlib import Path

import pytest

from watchkeeper import testing

_spec = importlib.util.spec_from_file_location("acme_under_test", Path(__file__).with_name("acme.py"))
acme_module = importlib.util.module_from_spec(_spec)
sys.modules["acme_under_test"] = acme_module
_spec.loader.exec_module(acme_module)


@pytest.fixture(scope="session")
def acme():
    return acme_module


@pytest.fixture(scope="session")
def bench(acme):
    return testing.Bench(acme.PACK)


@pytest.fixture
def failed():
    """Return the message of an assertion that fails."""

    def message(assertion, *arguments, **more):
        with pytest.raises(testing.AlertFailure) as caught:
            assertion(*arguments, **more)
        return str(caught.value)

    return message
