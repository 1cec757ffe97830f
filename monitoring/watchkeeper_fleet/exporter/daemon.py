"""The daemon of a GPU host: what it is made of."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from watchkeeper_fleet.exporter.service import serve

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from watchkeeper_fleet.exporter.text import Samples


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

    nvml = Nvml()
    try:
        yield Collector(
            options.spool,
            gpus=nvml.snapshot,
            host=Host(),
            state=State(options.state),
            owner=options.owners,
            expected=options.devices,
            egress=options.egress,
        ).collect
    finally:
        nvml.close()


def run(options: Options) -> None:
    """Serve until SIGTERM or SIGINT; CannotListen or WebConfigError where that can't begin."""
    serve(options.host, options.port, options.web_config, collecting(options))
