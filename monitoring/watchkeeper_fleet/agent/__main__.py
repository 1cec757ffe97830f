"""`python -m watchkeeper_fleet.agent script.py ...` or `... -m module ...`: run a program with the agent on."""

from __future__ import annotations

import io
import os
import runpy
import sys
import types

from watchkeeper_fleet.agent import lifecycle

USAGE = """\
usage: python -m watchkeeper_fleet.agent SCRIPT [ARGUMENT ...]
       python -m watchkeeper_fleet.agent -m MODULE [ARGUMENT ...]

Runs a Python program as python itself would, with the agent on.
WATCHKEEPER_AGENT=0 keeps the agent off; the program runs all the same."""


def main(arguments: list[str]) -> None:
    """Run a program: its exceptions and its exit code are its own."""
    if not arguments or arguments[0] in ("-h", "--help"):
        print(USAGE, file=sys.stdout if arguments else sys.stderr)
        raise SystemExit(0 if arguments else 2)
    if arguments[0] == "-m":
        if len(arguments) < 2:
            raise SystemExit("python -m watchkeeper_fleet.agent: -m needs the name of a module")
        sys.argv[:] = arguments[1:]
        sys.path[0] = os.getcwd()  # noqa: PTH109 - as python -m has it
        _new_main()
        lifecycle.start()
        runpy._run_module_as_main(arguments[1])  # type: ignore[attr-defined]  # noqa: SLF001 - what python -m calls, with its words where there is no such module
        return
    path = arguments[0]
    sys.argv[:] = arguments
    if os.path.isdir(path) or path.endswith((".zip", ".pyz")):  # noqa: PTH112 - a plain string is what argv has
        lifecycle.start()
        runpy.run_path(path, run_name="__main__")
        return
    whole = os.path.abspath(path)  # noqa: PTH100 - the same
    try:
        with io.open_code(whole) as file:
            text = file.read()
    except OSError as error:
        raise SystemExit(f"python -m watchkeeper_fleet.agent: can't open file {path!r}: {error.strerror}") from None
    module = _new_main()
    module.__dict__.update(__file__=whole, __cached__=None)
    sys.path[0] = os.path.dirname(os.path.realpath(path))  # noqa: PTH120 - the same
    lifecycle.start()
    exec(compile(text, whole, "exec"), module.__dict__)  # noqa: S102 - what python SCRIPT does


def _new_main() -> types.ModuleType:
    """Make the program a __main__ that stays to the end: spawned processes, pickles and threads look for it there."""
    module = sys.modules["__main__"] = types.ModuleType("__main__")
    module.__dict__["__builtins__"] = __builtins__
    return module


if __name__ == "__main__":
    main(sys.argv[1:])
