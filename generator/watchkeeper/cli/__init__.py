"""The command line: one thin module a verb. Heavy imports happen inside the verbs, so that `--help` is quick."""

import sys


def main() -> None:
    """Run `watchkeeper`, or say which extra to install where click is missing."""
    try:
        import click  # noqa: F401 - only asked whether it is there
    except ModuleNotFoundError:
        sys.stderr.write("watchkeeper: the command line needs more packages: pip install 'watchkeeper[generator]'\n")
        sys.exit(2)
    from watchkeeper.cli.app import app

    app(prog_name="watchkeeper")
