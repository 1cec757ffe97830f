"""The command line: one thin module a verb. Heavy imports happen inside the verbs, so that `--help` is quick."""

import gc
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


def main() -> None:
    """Run `watchkeeper`, or say which extra to install where click is missing."""
    gc.disable()  # a command makes large trees and ends: collecting finds nothing and takes a third of the time
    _open_closed_streams()
    if _names_files(sys.argv[1:]):
        from watchkeeper.cli.checking import run

        _told(lambda: run(tuple(sys.argv[2:])))
        return
    try:
        import click  # noqa: F401 - only asked whether it is there
    except ModuleNotFoundError:
        extra = "exporter" if sys.argv[1:2] in (["exporter"], ["spool"]) else "generator"
        sys.stderr.write(f"watchkeeper: the command line needs more packages: pip install 'watchkeeper[{extra}]'\n")
        sys.exit(2)
    from watchkeeper.cli.app import app

    _told(lambda: app(prog_name="watchkeeper"))


def _names_files(arguments: list[str]) -> bool:
    """Tell whether this is `check` with files that are there and no option: then click has nothing to read."""
    names = arguments[1:]
    return arguments[:1] == ["check"] and names != [] and all(n[:1] != "-" and os.path.lexists(n) for n in names)


def _told(run: "Callable[[], object]") -> None:
    """Run a command; tell of an interruption, and of an output that can't be written."""
    try:
        try:
            run()
        finally:
            sys.stdout.flush()  # here, where a full disk can still be told
    except KeyboardInterrupt:
        sys.stderr.write("\nAborted!\n")  # click's own word
        sys.exit(1)
    except OSError as error:
        if error.filename is not None:  # no stream's
            raise
        _drop(sys.stdout)
        try:
            sys.stderr.write(f"watchkeeper: the output can't be written: {error.strerror}\n")
            sys.stderr.flush()
        except OSError:
            _drop(sys.stderr)
        sys.exit(1)


def _open_closed_streams() -> None:
    """Send to nowhere what would go to a stream that the caller has closed: Python has None for it."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: PTH123, SIM115


def _drop(stream: object) -> None:
    """Let the interpreter's last flush of a stream that can't be written go to nowhere."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())  # type: ignore[attr-defined]
