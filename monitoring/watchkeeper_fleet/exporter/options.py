"""What the daemons' commands share: options, what they may say, and how a daemon that can't serve ends."""

from __future__ import annotations

import os
import re
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Option = Callable[[Callable[..., Any]], Callable[..., Any]]

SPOOL = "/run/watchkeeper"
API = "https://api.github.com"

web_config_option = click.option(
    "--web-config",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="TLS, client certificates and passwords, in the format of Prometheus' exporter-toolkit.",
)
api_url_option = click.option(
    "--api-url", default=API, show_default=True, metavar="URL", help="GitHub's API, or that of your own server."
)


def listen_option(port: int) -> Option:
    """Return the option of the address, which is on this host alone unless another is given."""
    return click.option(
        "--listen",
        default=f"127.0.0.1:{port}",
        show_default=True,
        metavar="HOST:PORT",
        help="Where to serve; :PORT is every address of the host.",
    )


def spool_option(name: str) -> Option:
    """Return the option of the folder in which agents write, as the parameter of that name."""
    return click.option(
        "--spool",
        name,
        default=SPOOL,
        show_default=True,
        envvar="WATCHKEEPER_SPOOL",
        show_envvar=True,
        metavar="DIR",
        help="Where agents write.",
    )


def state_option(what: str, name: str) -> Option:
    """Return the option of the file in which what is told is kept; `name` is the file's in systemd's folder."""
    return click.option(
        "--state",
        type=click.Path(dir_okay=False, path_type=Path),
        metavar="FILE",
        help=f"Where {what} kept over restarts; default: {name} in $STATE_DIRECTORY of systemd, else nowhere.",
    )


def state_file(given: Path | None, name: str) -> Path | None:
    """Return the file that was given, else the one in systemd's folder, None where there is none."""
    folder = os.environ.get("STATE_DIRECTORY")
    return Path(folder.split(":")[0], name) if given is None and folder else given


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


def check_repository(repo: str) -> None:
    """Refuse what is no OWNER/NAME of GitHub."""
    if not re.fullmatch(r"(?!\.\.?/)[\w.-]+/(?!\.\.?$)[\w.-]+", repo, re.ASCII):
        raise click.BadParameter(f"{repo} is no OWNER/NAME such as pytorch/pytorch", param_hint="--repo")


@contextmanager
def serving() -> Iterator[None]:
    """Run a daemon; end the program with a line where it can't serve."""
    import gc

    from watchkeeper_fleet.exporter.service import CannotListen
    from watchkeeper_fleet.exporter.webconfig import WebConfigError

    gc.enable()  # other verbs end before there is anything to collect
    try:
        yield
    except (CannotListen, WebConfigError) as error:
        click.echo(f"error: {error}", err=True)
        sys.exit(1)
