"""The group of all verbs."""

import click

from watchkeeper._version import __version__
from watchkeeper.cli.check import check
from watchkeeper.cli.generate import generate
from watchkeeper.cli.import_ import import_
from watchkeeper.cli.query import query
from watchkeeper.cli.test import test


@click.group(
    epilog="""\b
Examples:
  watchkeeper generate              write rules/, dashboards/ and runbooks/
  watchkeeper generate --check      fail with a diff where they are stale
  watchkeeper check                 report all that is wrong with the definitions

Exit status: 0 fine, 1 a finding or stale files, 2 wrong usage.""",
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, message="watchkeeper %(version)s")
def app() -> None:
    """Python definitions become Prometheus rules, Grafana dashboards and runbooks, checked before they are written.

    Settings are read from [tool.watchkeeper] in the nearest pyproject.toml.
    """


app.add_command(check)
app.add_command(generate)
app.add_command(import_)
app.add_command(query)
app.add_command(test)
