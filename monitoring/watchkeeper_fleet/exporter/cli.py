"""`watchkeeper exporter`."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click

PORT = 29400  # outside of the range that Prometheus' wiki hands out
SPOOL = "/run/watchkeeper"


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
@click.option(
    "--listen",
    default=f"127.0.0.1:{PORT}",
    show_default=True,
    metavar="HOST:PORT",
    help="Where to serve; :PORT is every address of the host.",
)
@click.option(
    "--spool",
    default=SPOOL,
    show_default=True,
    envvar="WATCHKEEPER_SPOOL",
    show_envvar=True,
    metavar="DIR",
    help="Where agents write.",
)
@click.option(
    "--state",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Where totals are kept over restarts; default: state.json in $STATE_DIRECTORY of systemd, else nowhere.",
)
@click.option(
    "--web-config",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="TLS, client certificates and passwords, in the format of Prometheus' exporter-toolkit.",
)
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
    import gc

    from watchkeeper_fleet.exporter.daemon import Options, run
    from watchkeeper_fleet.exporter.service import CannotListen
    from watchkeeper_fleet.exporter.webconfig import WebConfigError

    gc.enable()  # other verbs end before there is anything to collect
    host, port = address(listen, PORT)
    if state is None and (folder := os.environ.get("STATE_DIRECTORY")):
        state = Path(folder.split(":")[0], "state.json")
    options = Options(
        host=host,
        port=port,
        spool=spool,
        state=state,
        web_config=web_config,
        owners=frozenset(map(_user, owners)) or None,
        devices=devices,
        egress=egress_capacity,
        demo=demo,
    )
    try:
        run(options)
    except (CannotListen, WebConfigError) as error:
        click.echo(f"error: {error}", err=True)
        sys.exit(1)


def address(text: str, example: int) -> tuple[str, int]:
    """Return host and port of HOST:PORT; the host is empty where all of them are meant."""
    host, colon, port = text.rpartition(":")
    if not colon or not port.isascii() or not port.isdigit() or int(port) > 65_535:
        raise click.BadParameter(
            f"{text} is no HOST:PORT such as 127.0.0.1:{example}, [::1]:{example} or :{example}", param_hint="--listen"
        )
    if host.startswith("[") and host.endswith("]"):
        return host[1:-1], int(port)
    if ":" in host:
        raise click.BadParameter(f"write an IPv6 address in brackets: [{host}]:{port}", param_hint="--listen")
    return host, int(port)


def _user(text: str) -> int:
    import pwd

    if text.isascii() and text.isdigit():
        return int(text)
    try:
        return pwd.getpwnam(text).pw_uid
    except KeyError:
        raise click.BadParameter(f"there is no user {text} here", param_hint="--owner") from None
