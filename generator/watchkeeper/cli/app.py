"""The group of all verbs."""

from importlib import import_module

import click

from watchkeeper._version import __version__

# Module, command, and what `--help` says of it, which would take loading them all. The daemons are named and not
# imported: the tool knows nothing of what is watched with it.
_VERBS = {
    "check": (
        "watchkeeper.cli.check:check",
        "Report all that is wrong with the definitions, or with files of rules, routes and dashboards.",
    ),
    "exporter": (
        "watchkeeper_fleet.exporter.cli:exporter",
        "Serve the metrics of this host's GPUs and torch processes to Prometheus.",
    ),
    "generate": (
        "watchkeeper.cli.generate:generate",
        "Write rules/, dashboards/, runbooks/ and what belongs into deploy/ from the definitions.",
    ),
    "import": (
        "watchkeeper.cli.import_:import_",
        "Turn rule files into Python definitions that render back to the same rules.",
    ),
    "issue-receiver": (
        "watchkeeper_fleet.issues.cli:issue_receiver",
        "Turn Alertmanager's notifications into GitHub issues: opened, commented, closed when resolved.",
    ),
    "query": (
        "watchkeeper.cli.query:query",
        "Evaluate PromQL on samples from files.",
    ),
    "spool": (
        "watchkeeper_fleet.exporter.spool_cli:spool",
        "Look into the folder in which the torch processes of this host report.",
    ),
    "sync": (
        "watchkeeper.cli.sync:sync",
        "Bring dashboards and rules to Grafana and rulers, as the definitions have them: plan, apply, drift.",
    ),
    "test": (
        "watchkeeper.cli.test:test",
        "Run unit tests of rules, as promtool test rules does, in process.",
    ),
    "trunk-exporter": (
        "watchkeeper_fleet.trunk.cli:trunk_exporter",
        "Serve to Prometheus which blocking jobs of a branch are red, and for how many commits in a row.",
    ),
}


class _Verbs(click.Group):
    """Loads a verb's module when it is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - as click calls it
        """Return the names of the verbs."""
        return list(_VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - as above
        """Return a verb, None where there is none of that name."""
        module, _, name = _VERBS.get(cmd_name, ("", ""))[0].partition(":")
        return getattr(import_module(module), name) if module else None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - as above
        """Write the list of the verbs."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, words) for name, (_, words) in _VERBS.items()])


@click.group(
    cls=_Verbs,
    epilog="""\b
Examples:
  watchkeeper generate              write rules/, dashboards/, runbooks/, deploy/
  watchkeeper generate --check      fail with a diff where they are stale
  watchkeeper check                 report all that is wrong with the definitions

Exit status: 0 fine, 1 a finding or stale files, 2 wrong usage, 3 a server refused.""",
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, message="watchkeeper %(version)s")
def app() -> None:
    """Python definitions become Prometheus rules, Grafana dashboards and runbooks, checked before they are written.

    Settings are read from [tool.watchkeeper] in the nearest pyproject.toml.
    """
