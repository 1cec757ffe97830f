"""The command line: one thin module a verb. Heavy imports happen inside the verbs, so that `--help` is quick."""

import sys


def main() -> None:
    """Run `watchkeeper`, or say which extra to install where click is missing."""
    try:
        import click  # noqa: F401 - only asked whether it is there
    except ModuleNotFoundError:
        sys.stderr.write("watchkeeper: the command line needs more packages: pip install 'watchkeeper[generator]'\n")
        sys.exit(2)
    import gc

    from watchkeeper.cli.app import app

    gc.disable()  # a command makes large trees and ends: collecting finds nothing and takes a third of the time

    app(prog_name="watchkeeper")
