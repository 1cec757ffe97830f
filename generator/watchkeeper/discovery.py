"""Which modules lie below a package, and which definitions and dashboards each of them made itself."""

from __future__ import annotations

import os
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING, Any

from watchkeeper.contract import Metric
from watchkeeper.model import Alert, Group, Recording

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import TypeAlias

    from watchkeeper.routing import Routing

    Definition: TypeAlias = Metric | Group | Alert | Recording | Routing

# What makes a dict a dashboard, and not what some helper of the same name needs.
_MEMBERS = {"uid", "title", "panels", "rows"}


def modules(packages: Iterable[str]) -> Iterator[ModuleType]:
    """Yield the modules of the packages, each package's own first, in the order of their names.

    A folder without `__init__.py` is a package too, as for Python's import, if there is Python below it. Not imported:
    `__main__.py`, which runs a program, and such folders named `tests`.
    """
    import importlib

    for package in packages:
        module = importlib.import_module(package)
        yield module
        yield from _below(module, frozenset())


def _below(module: ModuleType, above: frozenset[str]) -> Iterator[ModuleType]:
    import importlib
    import pkgutil

    folders = list(getattr(module, "__path__", ()))
    above |= {os.path.realpath(folder) for folder in folders}  # a link upwards would never end
    names = {info.name for info in pkgutil.iter_modules(folders)} - {"__main__"}
    for name in sorted(names.union(*(_namespaces(folder, above) for folder in folders))):
        inner = importlib.import_module(f"{module.__name__}.{name}")
        yield inner
        yield from _below(inner, above)


def _namespaces(folder: str, above: frozenset[str]) -> Iterator[str]:
    try:
        entries = list(os.scandir(folder))
    except OSError:  # inside an archive
        return
    for entry in entries:
        if entry.name in ("__pycache__", "tests") or "." in entry.name or not entry.is_dir():
            continue
        if os.path.realpath(entry.path) not in above and any(
            name.endswith(".py") for _, _, names in os.walk(entry.path) for name in names
        ):
            yield entry.name


def taken(module: ModuleType, all_modules: Sequence[ModuleType]) -> tuple[list[Definition], list[Any], set[int]]:
    """Return the definitions that a module made, its dashboards, and the ids of all rules that it holds."""
    held: dict[int, Definition] = {}
    dashboards: list[Any] = []
    seen: set[int] = set()
    ours = set(map(id, all_modules))
    for name, value in list(vars(module).items()):
        if name.startswith("__"):
            continue
        for definition in _definitions(value, module, seen):
            held.setdefault(id(definition), definition)
        if _names_dashboard(name, value):
            found = list(_dashboards(value, module))
            if found and not _imported(name, value, ours):
                dashboards += found
    made = [one for one in held.values() if one.place.module == module.__name__]
    return made, dashboards, {key for key, one in held.items() if isinstance(one, (Alert, Recording))}


def _definitions(value: Any, module: ModuleType, seen: set[int]) -> Iterator[Definition]:
    """Yield the value if it is a definition, or those in it if it is a container, or a class of the module."""
    if isinstance(value, (Metric, Group, Alert, Recording)) or _is_routing(value):
        yield value
        return
    inner: Iterable[Any]
    if isinstance(value, Mapping):
        inner = value.values()
    elif isinstance(value, (list, tuple, AbstractSet)):
        inner = value
    elif isinstance(value, type) and value.__module__ == module.__name__:
        inner = list(vars(value).values())
    else:
        return
    if id(value) not in seen:
        seen.add(id(value))
        for one in inner:
            yield from _definitions(one, module, seen)


def _is_routing(value: object) -> bool:
    """Tell whether it is a routing, without loading what most packs have none of."""
    import sys

    routing = sys.modules.get("watchkeeper.routing")
    return routing is not None and isinstance(value, routing.Routing)


def _names_dashboard(name: str, value: object) -> bool:
    if name.isupper() and not isinstance(value, type):
        name = name.lower()
    return name.startswith("dashboard") or name.endswith("_dashboard")


def _dashboards(value: Any, module: ModuleType) -> Iterator[Any]:
    """Yield what may be a dashboard: a function of the pack, a dict, an object that becomes JSON; or several."""
    if isinstance(value, (FunctionType, type)):
        if value.__module__ == module.__name__:
            yield value
    elif isinstance(value, Mapping):
        if _MEMBERS & value.keys():
            yield value
        else:
            for one in value.values():
                yield from _dashboards(one, module)
    elif isinstance(value, (list, tuple)):
        for one in value:
            yield from _dashboards(one, module)
    elif not isinstance(value, (ModuleType, Metric, Group, Alert, Recording)) and (
        callable(value) or hasattr(value, "to_json_data") or hasattr(value, "to_json")
    ):
        yield value


def _imported(name: str, value: Any, ours: set[int]) -> bool:
    """Tell whether a module from elsewhere holds the same object under the name: then it made it.

    A function knows its module; a dict, a partial or a grafanalib object does not.
    """
    import sys

    if isinstance(value, (FunctionType, type)):
        return False
    return any(
        id(other) not in ours and isinstance(other, ModuleType) and vars(other).get(name) is value
        for other in list(sys.modules.values())
    )
