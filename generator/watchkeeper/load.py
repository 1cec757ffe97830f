"""Loading definitions: `module:PACK` becomes a Pack, and whatever can go wrong on the way becomes one clear finding."""

from __future__ import annotations

import importlib
import os
import sys
import traceback
from contextlib import contextmanager
from typing import TYPE_CHECKING

from watchkeeper.fields import FieldError
from watchkeeper.findings import Finding, Place, is_ours, nearest
from watchkeeper.model import DefinitionError
from watchkeeper.pack import Pack

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


class LoadError(Exception):
    """Definitions that can't be loaded; `finding` says why and where."""

    def __init__(self, finding: Finding) -> None:
        super().__init__(finding.message)
        self.finding = finding


def load_pack(definitions: str, root: Path) -> Pack:
    """Import `module:NAME`, with root first on sys.path, and return the pack of that name.

    Raises:
        LoadError: a wrong name, a module that fails to import, or something that is no pack.
    """
    module_name, _, name = definitions.partition(":")
    if not name.isidentifier() or not all(part.isidentifier() for part in module_name.split(".")):
        fix = 'write it as "package.module:PACK", in [tool.watchkeeper] or with --definitions'
        raise LoadError(Finding("load/name", f'definitions are not of the form module:PACK: "{definitions}"', fix=fix))
    if str(root) not in sys.path:
        sys.path.insert(0, str(root))
    try:
        with foreign():
            module = importlib.import_module(module_name)
            pack = getattr(module, name, None)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # the module is the user's and may raise anything
        raise LoadError(explain(error, f'importing "{module_name}"', root)) from error
    if isinstance(pack, Pack):
        return pack
    place = Place(getattr(module, "__file__", None) or module_name)  # a folder without __init__.py has none
    packs = [key for key, value in vars(module).items() if isinstance(value, Pack)]
    fix = f"it has {', '.join(packs)}" if packs else f"write {name} = Pack.discover(...) there"
    if pack is None:
        raise LoadError(Finding("load/name", f'{module_name} has no "{name}"{nearest(name, packs)}', place, fix=fix))
    raise LoadError(
        Finding("load/name", f"{module_name}:{name} is a {type(pack).__name__}, not a Pack", place, fix=fix)
    )


@contextmanager
def foreign() -> Iterator[None]:
    """While the user's code runs: os._exit is a SystemExit, and the recursion limit is put back afterwards.

    Else a definition that ends the process with status 0 would pass for one that was checked.
    """
    limit, leave, process = sys.getrecursionlimit(), os._exit, os.getpid()

    def refuse(status: int) -> None:
        if os.getpid() != process:  # a child that the user's code forked may end
            leave(status)
        raise SystemExit(f"os._exit({status})")

    os._exit = refuse  # type: ignore[assignment]
    try:
        yield
    finally:
        os._exit = leave
        sys.setrecursionlimit(limit)


def explain(error: BaseException, doing: str, root: Path) -> Finding:
    """Return what an exception of the user's code says, at the deepest line of theirs that it went through."""
    if isinstance(error, DefinitionError):
        return Finding("load/definition", error.message, error.place, fix=error.fix)
    if isinstance(error, SyntaxError) and error.filename:
        place = Place(error.filename, error.lineno or 0, error.offset or 0)
        return Finding("load/syntax", f"{doing} failed: {error.msg}", place)
    users = _users(error)
    theirs = [f for f in users if f.filename.startswith(f"{root}/") and "/site-packages/" not in f.filename] or users
    at = Place(theirs[-1].filename, theirs[-1].lineno or 0) if theirs else None
    if isinstance(error, FieldError):
        return Finding("load/definition", str(error), at)
    fix = ""
    if isinstance(error, ModuleNotFoundError) and error.name:
        fix = f'is "{error.name}" installed in this environment, or is its folder below {root}?'
    return Finding("load/import", f"{doing} failed: {_said(error)}", at, fix=fix)


def is_users(error: BaseException) -> bool:
    """Tell whether an exception went through code of the user's, other packages' aside."""
    return any("/site-packages/" not in frame.filename for frame in _users(error))


def _users(error: BaseException) -> list[traceback.FrameSummary]:
    frames = traceback.extract_tb(error.__traceback__)
    return [f for f in frames if not is_ours(f.filename) and not f.filename.startswith(("<", sys.base_prefix))]


def _said(error: BaseException) -> str:
    """Return the exception's type and the first line of its message that is not blank."""
    said = ["an exception that can't be named"]
    try:
        said = [type(error).__name__]
        said += [line.strip() for line in str(error).splitlines() if line.strip()][:1]
    except BaseException:  # noqa: BLE001, S110 - the user's exception may raise anything, in saying what it is
        pass
    return ": ".join(said)
