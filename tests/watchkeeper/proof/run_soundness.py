"""The soundness test at length: `run_soundness.py CASES [SEED]`."""

# ruff: noqa: T201  (a command prints)

import sys
from collections import Counter
from pathlib import Path
from time import monotonic

sys.path.insert(0, str(Path(__file__).parent))

from soundness import run


def main(cases: int, seed: int) -> int:
    counts: Counter = Counter()
    begin = monotonic()
    wrong = run(cases, seed, counts)
    print(f"{monotonic() - begin:.0f} s; " + ", ".join(f"{name}: {count}" for name, count in counts.items()))
    print(f"{counts['not empty'] / counts['cases']:.0%} gave results")
    print("\n".join(wrong[:20]))
    print(f"{len(wrong)} failures")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0))
