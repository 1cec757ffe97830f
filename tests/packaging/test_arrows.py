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
    "__init__": "_version | contract findings model pack",
    "_version": "",
    "findings": "",
    "names": "",
    "contract": "findings",
    "model": "contract findings | promql",
    "pack": "contract findings model | render",
    "settings": "findings | tomli",
    "load": "findings model pack",
    "output": "findings",
    "promql": "| re2",
    "proof": "contract findings model promql | pack",
    "engine": "promql | engine.arrays re2",
    "engine.arrays": "engine promql numpy",
    "ruler": "engine promql model findings | pack",
    "render": "contract findings model promql | settings",
    "schemas": "findings | fastjsonschema jsonschema",
    "dashboards": "findings render attr grafanalib | typing_extensions",
    "project": "findings load model promql proof render | pack settings",
    "checks": "contract findings model names project promql proof render schemas",
    "testing": "ruler engine promql model pack findings | pytest numpy",
    "cli": "_version click | checks engine findings load output project promql settings",
}

# What we watch. The agent is loaded into other people's processes, so its row stays as it is.
FLEET = {
    "__init__": "",
    "metrics": "watchkeeper.contract metrics.agent",
    "metrics.agent": "watchkeeper.contract",
    "spool": "",
    "agent": "watchkeeper.contract metrics.agent spool",
    "alerts": "watchkeeper metrics alerts",
    "dashboards": "watchkeeper metrics alerts grafanalib",
    "runbooks": "",
    "pack": "watchkeeper metrics",
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
    first, _, rest = name.partition(".")
    if first not in ROOTS:
        return first
    return row_of(first, rest) if first == top else f"{first}.{row_of(first, rest)}"


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
