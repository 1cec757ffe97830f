"""Sequences of edits, crashes and applies at length: `run_sequences.py SEQUENCES [SEED]`."""

# ruff: noqa: T201  (a command prints)

import sys
from collections import Counter
from pathlib import Path
from time import monotonic

sys.path.insert(0, str(Path(__file__).parent))

from sync_sequences import run


def main(sequences: int, seed: int) -> int:
    counts: Counter = Counter()
    begin = monotonic()
    wrong = run(range(seed, seed + sequences), counts)
    print(f"{monotonic() - begin:.0f} s; " + ", ".join(f"{name}: {count}" for name, count in sorted(counts.items())))
    print("\n".join(wrong[:20]))
    print(f"{len(wrong)} failures in {sequences} sequences")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0))
