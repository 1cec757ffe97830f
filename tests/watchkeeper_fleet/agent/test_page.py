"""docs/agent.md tells of what there is, and of nothing else."""

import inspect
import re
from pathlib import Path

from watchkeeper.contract import Metric
from watchkeeper_fleet import agent
from watchkeeper_fleet.agent import allocator, functions
from watchkeeper_fleet.metrics import agent as metrics

DOCS = Path(__file__).parents[3] / "docs"
PAGE = (DOCS / "agent.md").read_text()
METRICS = {metric.name for metric in vars(metrics).values() if isinstance(metric, Metric)}


def named(page: str) -> set[str]:
    return set(re.findall(r"`((?:torch|inference|watchkeeper)_[a-z0-9_]+)`", page)) - {"watchkeeper_fleet"}


def test_metrics_are_told_of():
    assert named(PAGE) <= METRICS
    of_devices = {metric.name for metric, _ in (*allocator.GAUGES, *allocator.PEAKS, *allocator.TOTALS)}
    of_calls = {metric.name for metric in vars(functions).values() if isinstance(metric, Metric)}
    assert named(PAGE) | named((DOCS / "inside.md").read_text()) >= of_devices | of_calls


def test_calls_are_those_of_the_agent():
    assert set(re.findall(r"\bagent\.(\w+)\(", PAGE)) <= set(agent.__all__)


def test_options_of_the_decorator():
    rows = PAGE.split("| option | default")[1].split("\n\n")[0]
    told = dict(re.findall(r"^\| `(\w+)` \| (.*?) \|", rows, re.MULTILINE))
    parameters = inspect.signature(agent.monitor_inference).parameters.values()
    there = {one.name: one.default for one in parameters if one.name not in ("function", "functions")}
    assert there.pop("name") == ""
    assert told.pop("name") == "the qualified name"
    assert told == {name: f'`"{value}"`' if isinstance(value, str) else f"`{value}`" for name, value in there.items()}


def test_the_bounds():
    assert f"beyond {functions.MOST_FUNCTIONS} functions" in PAGE
    assert f"{functions.MOST_CLASSES} of them" in PAGE


def test_variables_are_read():
    rows = PAGE.split("| variable |")[1].split("\n\n")[0]
    sources = "".join(path.read_text() for path in Path(agent.__file__).parent.glob("*.py"))
    for name in re.findall(r"`([A-Z_]+)`", rows):
        assert f'"{name}"' in sources, name
