"""Sequences of edits, crashes and applies at length: `run_sequences.py SEQUENCES [SEED]`.

So many each at a server in memory, and with the adapters at a Grafana on loopback with /apis, with /apis that keeps no
annotations, and with /api alone.
"""

# ruff: noqa: T201  (a command prints)

import sys
from collections import Counter
from functools import partial
from pathlib import Path
from time import monotonic

sys.path.insert(0, str(Path(__file__).parent))

from sync_sequences import run, run_remote

SERVERS = {
    "in memory": run,
    "/apis": partial(run_remote, has_apis=True),
    "/apis without annotations": partial(run_remote, has_apis=True, keeps_annotations=False),
    "/api": partial(run_remote, has_apis=False),
}


def main(sequences: int, seed: int) -> int:
    failures = 0
    for name, run_at in SERVERS.items():
        counts: Counter = Counter()
        begin = monotonic()
        wrong = run_at(range(seed, seed + sequences), counts)
        told = ", ".join(f"{name}: {count}" for name, count in sorted(counts.items()))
        print(f"{name}: {sequences} sequences, {len(wrong)} failures, {monotonic() - begin:.0f} s; {told}")
        print("\n".join(wrong[:20]), end="\n" if wrong else "")
        failures += len(wrong)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0))
