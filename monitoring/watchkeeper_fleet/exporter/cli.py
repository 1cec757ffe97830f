"""`watchkeeper exporter`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from watchkeeper_fleet.exporter.options import (
    address,
    listen_option,
    serving,
    spool_option,
    state_file,
    state_option,
    web_config_option,
)

if TYPE_CHECKING:
    from pathlib import Path

PORT = 29400  # outside of the range that Prometheus' wiki hands out
STATE = "state.json"


@click.command(
    epilog="""\b
Examples:
  watchkeeper exporter                                    on 127.0.0.1:29400, of the spool in /run/watchkeeper
  watchkeeper exporter --listen :29400 --web-config web.yml
  watchkeeper exporter --demo                             eight synthetic GPUs, to look at the metrics

\b
Signals: SIGTERM ends it when requests under way are answered; SIGHUP reads the web configuration again, which is also
read when it or a certificate that it names has changed.

Exit status: 0 stopped, 1 it can't serve, 2 wrong usage."""
)
@listen_option(PORT)
@spool_option("spool")
@state_option("totals are", STATE)
@web_config_option
@click.option(
    "--owner",
    "owners",
    multiple=True,
    metavar="USER",
    help="Whose files in the spool are read, by name or number; default: everyone's. May be given several times.",
)
@click.option("--devices", type=click.IntRange(0, 64), help="Devices the host should have; default: the most seen.")
@click.option(
    "--egress-capacity",
    type=click.FloatRange(0, min_open=True),
    metavar="BYTES",
    help="What the way out of the cluster carries in a second, for the alerts about it.",
)
@click.option("--demo", is_flag=True, help="Serve synthetic GPUs and processes; nothing of this host is read.")
def exporter(
    *,
    listen: str,
    spool: str,
    state: Path | None,
    web_config: Path | None,
    owners: tuple[str, ...],
    devices: int | None,
    egress_capacity: float | None,
    demo: bool,
) -> None:
    """Serve the metrics of this host's GPUs and torch processes to Prometheus."""
    from watchkeeper_fleet.exporter.daemon import Options, run

    host, port = address(listen, PORT)
    options = Options(
        host=host,
        port=port,
        spool=spool,
        state=state_file(state, STATE),
        web_config=web_config,
        owners=frozenset(map(_user, owners)) or None,
        devices=devices,
        egress=egress_capacity,
        demo=demo,
    )
    with serving():
        run(options)


def _user(text: str) -> int:
    import pwd

    if text.isascii() and text.isdigit():
        return int(text)
    try:
        return pwd.getpwnam(text).pw_uid
    except KeyError:
        raise click.BadParameter(f"there is no user {text} here", param_hint="--owner") from None
