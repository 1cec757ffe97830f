"""Each request of a sync goes wrong in each way, at each kind of server; run by hand, for minutes.

.venv/bin/python tests/watchkeeper/sync/run_faults.py
"""

# ruff: noqa: T201  (a command prints)

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from sync_faults import FAULTS, SERVERS, begun, goes_wrong


def main() -> None:
    for server in SERVERS:
        with begun(server) as world:
            for name, fault in FAULTS.items():
                for number in range(world.requests):
                    goes_wrong(world, fault, number)
                print(f"Grafana {server}, {name}: {world.requests} requests, all converge", flush=True)


if __name__ == "__main__":
    main()
