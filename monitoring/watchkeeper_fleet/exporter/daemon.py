"""The daemon of a GPU host: what it is made of."""

from __future__ import annotations

import logging
import os
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from watchkeeper_fleet.exporter.service import serve

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from watchkeeper_fleet.exporter.gpus import Snapshot
    from watchkeeper_fleet.exporter.text import Samples

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class Options:
    """What the command line says."""

    host: str
    port: int
    spool: str
    state: Path | None = None
    web_config: Path | None = None
    owners: frozenset[int] | None = None
    devices: int | None = None
    egress: float | None = None
    demo: bool = False


@contextmanager
def collecting(options: Options) -> Iterator[Callable[[], Samples]]:
    """Give what collects."""
    if options.demo:
        from watchkeeper_fleet.exporter.demo import Demo

        yield Demo().collect
        return
    from watchkeeper_fleet.exporter.collection import Collector
    from watchkeeper_fleet.exporter.host import Host
    from watchkeeper_fleet.exporter.nvml import Nvml
    from watchkeeper_fleet.exporter.state import State

    _tell(options)
    nvml = Nvml()
    try:
        yield Collector(
            options.spool,
            gpus=_Told(nvml.snapshot),
            host=Host(),
            state=State(options.state),
            owner=options.owners,
            expected=options.devices,
            egress=options.egress,
        ).collect
    finally:
        nvml.close()


def _tell(options: Options) -> None:
    """Log what is not there yet: it may come, so nothing is refused, but whoever starts this wants to know."""
    try:
        os.scandir(options.spool).close()
    except OSError as error:
        _LOG.warning("no process is seen: the spool %s can't be read: %s", options.spool, error.strerror)
    if options.state is not None and not os.access(options.state.parent, os.W_OK | os.X_OK):
        _LOG.warning("totals are not kept: the folder of %s is not there, or not to be written", options.state)


class _Told:
    """The snapshots of the devices; the log is told when NVML falls silent, and when it answers again."""

    def __init__(self, snapshot: Callable[[], Snapshot]) -> None:
        self._snapshot = snapshot
        self._reason = ""

    def __call__(self) -> Snapshot:
        """Return the devices of now."""
        found = self._snapshot()
        if found.reason != self._reason:
            self._reason = found.reason
            if found.reason:
                _LOG.warning("no device is seen: NVML does not answer (%s)", found.reason)
            else:
                _LOG.info("NVML answers")
        return found


def run(options: Options) -> None:
    """Serve until SIGTERM or SIGINT; CannotListen or WebConfigError where that can't begin."""
    serve(options.host, options.port, options.web_config, collecting(options))
