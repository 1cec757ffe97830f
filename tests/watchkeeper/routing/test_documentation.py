"""The examples of docs/routing.md and of docs/testing.md run."""

import re
from pathlib import Path

import pytest

from watchkeeper import routed, testing
from watchkeeper.routing import Routing
from watchkeeper_fleet.metrics.agent import STALL, STEP_WALL
from watchkeeper_fleet.pack import PACK
from watchkeeper_fleet.routing import ROUTING

DOCS = Path(__file__).parents[3] / "docs"


def blocks(page):
    return re.findall(r"^```python\n(.*?)^```", (DOCS / page).read_text(), re.MULTILINE | re.DOTALL)


def test_the_example_is_a_routing_without_a_fault():
    (example,) = blocks("routing.md")
    names = {"__name__": "acme.routing"}
    exec(compile(example, "acme/routing.py", "exec"), names)
    routing = names["ROUTING"]
    assert isinstance(routing, Routing)
    config, findings = routed.read(routing)
    assert findings == []
    assert [one.receiver.value for one in config.routes] == ["channel", "heartbeat", "nobody", "pager", "channel"]


def test_the_test_in_the_documentation_passes():
    (example,) = [text for text in blocks("testing.md") if "routes_to" in text]
    names = {"STALL": STALL, "STEP_WALL": STEP_WALL}
    exec(compile(example, "test_routing.py", "exec"), names)
    names["test_who_is_told"](testing.Bench(PACK))


@pytest.mark.parametrize("name", [receiver.name for receiver in ROUTING.receivers])
def test_each_receiver_of_the_fleet_is_told_of(name):
    table = (DOCS / "routing.md").read_text().partition("## The fleet's own")[2]
    words = {"slack": "Slack", "pagerduty": "PagerDuty", "email": "mail", "issues": "issues", "tickets": "ticket"}
    assert words.get(name.partition("-")[0], name) in table
