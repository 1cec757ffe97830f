"""A daemon's life: what it collects is served from start to SIGTERM."""

from __future__ import annotations

import logging
import math
import os
import signal
import sys
import threading
from contextlib import closing, suppress
from typing import TYPE_CHECKING

from watchkeeper_fleet.exporter.http_requests import Site
from watchkeeper_fleet.exporter.http_scrapes import Scrapes
from watchkeeper_fleet.exporter.notify import Notifier
from watchkeeper_fleet.exporter.server import Server
from watchkeeper_fleet.exporter.web import Web

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager
    from pathlib import Path

    from watchkeeper_fleet.exporter.text import Samples

SIGNALS = frozenset({signal.SIGTERM, signal.SIGINT, signal.SIGHUP})
STACK = 512 * 1024  # of a thread; the default of 8 MiB times 512 is more than some machines let a process have
PATIENCE = 5.0


class CannotListen(Exception):  # noqa: N818 - says more than its name with Error
    """The address can't be had."""

    def __init__(self, host: str, port: int, error: OSError) -> None:
        # Of a name that is not found the number is negative, and the text its own.
        reason = os.strerror(error.errno) if error.errno and error.errno > 0 else error.strerror
        super().__init__(f"can't listen on {host or '*'}:{port}: {reason}")


def serve(
    host: str,
    port: int,
    web_config: Path | None,
    collecting: AbstractContextManager[Callable[[], Samples]],
    pages: Callable[..., Site] = Site,
) -> None:
    """Serve what is collected until SIGTERM or SIGINT; read the web configuration again at SIGHUP.

    `pages` makes the site, for who has more pages than those of an exporter.

    CannotListen where the address can't be had, WebConfigError where the web configuration can't be used.
    """
    logging.basicConfig(stream=sys.stderr, level=logging.INFO, format="%(levelname)s: %(message)s")
    log = logging.getLogger(__name__)
    # Blocked in all threads, and waited for in this one. That also works in the first process of a container, for which
    # the kernel drops signals that are neither blocked nor handled.
    signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
    threading.stack_size(STACK)
    notifier = Notifier()
    web = Web(web_config)
    site: Site
    try:
        server = Server([(host, port)], lambda stream: site.serve(stream), secure=web.secure)  # noqa: PLW0108 - made below
    except OSError as error:
        raise CannotListen(host, port, error) from None
    # Only now: what can't be served is not worth a request to anyone.
    with closing(server), collecting as collect:
        site = pages(Scrapes(collect), web=web, stopping=lambda: server.stopping)
        server.start()
        host, port = server.addresses[0]
        place = f"{'https' if web.is_tls else 'http'}://{f'[{host}]' if ':' in host else host}:{port}/metrics"
        log.info("serving %s", place)
        notifier.ready(place)
        while (got := _wait(notifier)) == signal.SIGHUP:
            notifier.reloading()
            if web_config is None:
                log.info("there is no web configuration to read again")
            elif web.reload(force=True):
                log.info("the web configuration was read again")
            notifier.ready(place)
        log.info("stopping: %s", signal.Signals(got).name)
        notifier.stopping()
        server.stop(PATIENCE)


def _wait(notifier: Notifier) -> int:
    """Return the next signal; tell the service manager meanwhile that the process lives."""
    while True:
        with suppress(InterruptedError):
            got = signal.sigtimedwait(SIGNALS, notifier.watchdog or math.pi * 1e7)
            if got is not None:
                return got.si_signo
            notifier.alive()
