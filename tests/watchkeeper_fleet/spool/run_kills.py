"""Kills writers at any point: `run_kills.py KILLS [SEED]`. One parent forks them, with torch loaded if it is there."""

# ruff: noqa: T201  (a command prints)

import sys
from collections import Counter
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic

sys.path.insert(0, str(Path(__file__).parent))

from spool_kills import run


def main(kills: int, seed: int) -> int:
    counts: Counter[str] = Counter()
    if find_spec("torch"):
        import torch

        print(f"the parent has torch {torch.__version__}")
    begin = monotonic()
    with TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as folder:
        wrong = run(kills, seed, Path(folder), counts)
    print(f"{monotonic() - begin:.0f} s; " + ", ".join(f"{name}: {count}" for name, count in counts.items()))
    print("\n".join(wrong[:20]))
    print(f"{len(wrong)} failures")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0))
