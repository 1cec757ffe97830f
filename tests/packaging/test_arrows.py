"""Arrows go one way: which package may import which, read from the sources.

A row names a package and what it may import: at once, and behind the bar later, that is inside a function or for types
only. It is for all modules below the package that have no row of their own. A new package needs a row here, and a new
arrow a moment's thought.
"""

from __future__ import annotations

import ast
import graphlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]
STANDARD_LIBRARY = sys.stdlib_module_names | {"tomllib"}  # since 3.11
ROOTS = {"watchkeeper": ROOT / "generator", "watchkeeper_fleet": ROOT / "monitoring"}

# The tool. It knows nothing of watchkeeper_fleet, and nothing imports cli.
TOOL = {
    "__init__": "_version | contract findings model pack runbook waivers",
    "_version": "",
    "findings": "",
    "names": "",
    "fields": "",
    "contract": "fields findings",
    "scopes": "| read",
    "changes": "scopes | findings",
    "dependency": "findings promql | files read subject",
    "waivers": "fields findings scopes | pack read",
    "reports": "_version checks.__init__ findings | waivers",
    "model": "contract fields findings waivers | promql",
    "runbook": "fields findings",
    "discovery": "contract model | routing",
    "routing": "contract fields findings model waivers",
    "pack": "contract discovery fields findings model runbook | render routing",
    "policy": "findings names | promql",
    # The kinds are named, and loaded when they are wanted.
    "outputs": "findings | model pack settings",
    "folders": "findings names",
    "tokens": "",
    "sync": "_version findings folders names tokens | render settings yaml",
    "settings": "findings | folders outputs policy sync tomli",
    "load": "fields findings model pack",
    "output": "findings",
    "states": "",
    "cache": "states",
    "spread": "| cache",
    "promql": "| re2",
    "proof": "model promql | contract findings pack subject",
    "engine": "promql | engine.arrays re2",
    "engine.arrays": "engine promql numpy",
    "ruler": "engine promql | findings ruler.arrays",
    "ruler.arrays": "ruler engine engine.arrays numpy | promql",
    "ruler.unit": "ruler engine promql read.loader yaml | findings ruler.arrays numpy",
    # Also behind `watchkeeper test`, which starts without the rest.
    "read.loader": "yaml",
    "read": "dashboard_models drawn findings names promql proof read.loader subject variable_query walking | yaml",
    "read.alertmanager": "engine findings names promql proof read read.loader subject",
    "render": "contract findings model names routing | runbook settings",
    "routed": "read read.alertmanager render | findings proof routing settings",
    "render.grafana_alerts": "names render | findings outputs render.grafana_alert_rules",
    "render.grafana_alert_rules": "findings names promql render.grafana_alerts render.grafana_provisioning"
    " render.grafana_templates | model outputs",
    "render.grafana_provisioning": "findings folders names render | outputs",
    "render.git_sync": "findings folders render | outputs",
    "render.kubernetes": "findings folders model render | outputs",
    "render.mimir": "render | findings outputs",
    "render.cortex": "render render.mimir | findings outputs",
    "render.thanos": "findings render render.mimir | outputs",
    "render.scrape": "findings render | outputs",
    "render.grafana_templates": "ruler",
    "schemas": "findings | fastjsonschema jsonschema",
    "dashboards": "findings render attr grafanalib | typing_extensions",
    # The list of the checks, which loads them when they run: building a project runs them, and they look at a project.
    "checks.__init__": "| findings project",
    "project": "| model pack proof read render settings subject",
    "building": "findings load proof project render sharing subject variable_query checks.__init__"
    " | model outputs pack routed settings",
    "sharing": "checks.__init__ findings spread | project subject",
    "files": "checks.__init__ findings project proof read sharing"
    " | contract pack read.alertmanager scopes settings subject waivers",
    "importing": "building checks.__init__ findings model pack promql read read.loader render subject waivers"
    " walking | settings",
    "remembered": "states",
    "variable_query": "",
    "walking": "",
    "dashboard_models": "",
    "drawn": "dashboard_models",
    "checks": "contract drawn engine findings model names project promql proof render routing ruler runbook schemas"
    " settings subject | policy read",
    "subject": "findings names promql | model proof",
    "testing": "ruler engine promql contract findings proof | model pack render routed ruler.unit settings",
    # What only pytest loads, by way of the plugin.
    "testing.fixtures": "pytest | pytest_plugin testing",
    "testing.hooks": "testing pytest | findings load settings",
    "pytest_plugin": "| pytest testing testing.fixtures testing.hooks",
    "cli": "_version click findings walking | building cache changes checks checks.__init__ dependency engine"
    " files importing load output project promql read remembered reports ruler ruler.unit settings spread sync waivers",
}

# What we watch. The agent is loaded into other people's processes, so its row stays as it is.
FLEET = {
    "__init__": "",
    "metrics": "watchkeeper.contract metrics.agent",
    "metrics.agent": "watchkeeper.contract",
    "spool": "",
    "agent": "watchkeeper.contract metrics.agent spool",
    "exporter.options": "click | exporter",
    "exporter.cli": "click exporter.options | exporter",
    "exporter.spool_cli": "click exporter.options | spool watchkeeper.findings",
    "exporter": "watchkeeper._version watchkeeper.contract metrics metrics.agent spool | bcrypt pynvml yaml",
    "github": "watchkeeper._version watchkeeper.findings watchkeeper.tokens",
    "trunk.cli": "click exporter.options trunk | exporter github",
    "trunk": "exporter github metrics | watchkeeper.contract",
    "issues.cli": "click exporter.options | exporter github issues",
    "issues": "exporter github metrics watchkeeper.findings",
    "alerts": "watchkeeper.__init__ metrics metrics.agent",
    "dashboards": "watchkeeper.contract watchkeeper.dashboards watchkeeper.render metrics metrics.agent alerts"
    " | watchkeeper.__init__",
    "incidents": "watchkeeper.engine metrics metrics.agent",
    "runbooks": "",
    "pack": "watchkeeper.__init__ metrics",
    "routing": "watchkeeper.__init__ watchkeeper.routing",
}

TABLES = {"watchkeeper": TOOL, "watchkeeper_fleet": FLEET}
FILES = [(top, path) for top, root in ROOTS.items() for path in sorted((root / top).rglob("*.py"))]


def test_the_sources_are_found():
    assert {path.stem for top, path in FILES if top == "watchkeeper"} >= {"contract", "app"}
    assert {path.stem for top, path in FILES if top == "watchkeeper_fleet"} >= {"pack", "gpu_memory"}


@pytest.mark.parametrize(("top", "path"), FILES, ids=[str(path.relative_to(ROOTS[top])) for top, path in FILES])
def test_arrows(top, path):
    module = ".".join(path.relative_to(ROOTS[top] / top).with_suffix("").parts)
    package = row_of(top, module)
    assert package in TABLES[top], f"{top}.{package} is new: give it a row in {Path(__file__).name}"
    at_once, later = may_import(TABLES[top][package])
    wrong = []
    for name, line, is_late in imports(path):
        imported = owner(name, top)
        allowed = [*at_once, *later] if is_late else at_once
        if imported != package and not any(within(imported, one) for one in allowed):
            when = "" if is_late else " when it is imported" if imported in later else ""
            wrong.append(f"{path.relative_to(ROOT)}:{line}: {top}.{package} may not import {name}{when}")
    assert wrong == []


# What the design says of the tool: these never reach those, on no way and not even later.
NEVER = {
    "promql": set(TOOL) - {"promql"},
    "proof": {"engine", "ruler", "testing"},
    "engine": {"proof", "ruler", "testing", "model", "pack"},
    "ruler": {"proof", "testing", "model", "pack"},
    "render": {"checks", "engine", "project"},
    "contract": {"model", "pack", "promql"},
}


def test_the_table_is_the_design():
    for row, never in NEVER.items():
        assert not reached(row) & never, row
    assert [row for row in TOOL if row != "cli" and "cli" in reached(row)] == []
    assert "watchkeeper_fleet" not in " ".join(TOOL.values())
    assert may_import(FLEET["agent"]) == (["watchkeeper.contract", "metrics.agent", "spool"], [])


def reached(row: str) -> set[str]:
    """Return the rows of the tool that a row may import, at once or later, and what those may import, and so on."""
    found: set[str] = set()
    todo = [row]
    while todo:
        at_once, later = may_import(TOOL[todo.pop()])
        new = {one for one in (*at_once, *later) if one in TOOL} - found
        found |= new
        todo += new
    return found - {row}


@pytest.mark.parametrize("top", TABLES)
def test_no_arrow_goes_round(top):
    table = TABLES[top]
    graph = {package: set(may_import(row)[0]) & table.keys() - {package} for package, row in table.items()}
    graphlib.TopologicalSorter(graph).prepare()  # raises CycleError


def test_what_is_not_allowed_is_seen(tmp_path):
    source = """
import json, watchkeeper.cli.app
from watchkeeper import pack, Alert
from typing import TYPE_CHECKING
if TYPE_CHECKING:
    from watchkeeper.model import Group
def later():
    import numpy as np
"""
    (tmp_path / "module.py").write_text(source)
    assert list(imports(tmp_path / "module.py")) == [
        ("watchkeeper.cli.app", 2, False),
        ("watchkeeper.pack", 3, False),
        ("watchkeeper.Alert", 3, False),
        ("watchkeeper.model.Group", 6, True),
        ("numpy", 8, True),
    ]
    assert owner("watchkeeper.checks.PARTS", "watchkeeper") == "checks.__init__"
    assert owner("watchkeeper.checks.rule_name", "watchkeeper") == "checks"
    assert owner("watchkeeper.Alert", "watchkeeper_fleet") == "watchkeeper.__init__"
    assert owner("numpy.linalg", "watchkeeper") == "numpy"
    assert within("watchkeeper.promql.nodes", "watchkeeper.promql")
    assert not within("watchkeeper.promqlx", "watchkeeper.promql")


def may_import(row: str) -> tuple[list[str], list[str]]:
    at_once, _, later = row.partition("|")
    return at_once.split(), later.split()


def row_of(top: str, module: str) -> str:
    """Return the row that a module belongs to: the longest of those above it, or its top folder where there is none."""
    rows = [row for row in TABLES[top] if within(module, row)]
    return max(rows, key=len, default=module.partition(".")[0])


def owner(name: str, top: str) -> str:
    """Return what a row of top would call an imported module."""
    first = name.partition(".")[0]
    if first not in ROOTS:
        return first
    row = row_of(first, module_of(name))
    return row if first == top else f"{first}.{row}"


def module_of(name: str) -> str:
    """Return the module of ours that an imported name is, or that defines it, without the top folder."""
    first, *rest = name.split(".")
    for end in range(len(rest), -1, -1):
        path = ROOTS[first] / first / "/".join(rest[:end])
        if end and path.with_suffix(".py").is_file():
            return ".".join(rest[:end])
        if path.is_dir():
            return ".".join([*rest[:end], "__init__"])
    raise AssertionError(f"there is no {name}")


def within(name: str, package: str) -> bool:
    return f"{name}.".startswith(f"{package}.")


def imports(path: Path) -> Iterator[tuple[str, int, bool]]:
    """Yield what a file imports from outside the standard library: full name, line, and whether later."""
    tree = ast.parse(path.read_text())
    late = {
        inner
        for node in ast.walk(tree)
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
        or (isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING"))
        for inner in ast.walk(node)
    }
    for node in ast.walk(tree):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: write imports in full"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        for name in names:
            if name.partition(".")[0] not in STANDARD_LIBRARY:
                yield name, node.lineno, node in late
