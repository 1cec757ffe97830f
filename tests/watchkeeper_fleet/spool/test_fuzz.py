"""Mutated files: the short form; `run_fuzz.py` is the long one."""

import sys
from collections import Counter
from pathlib import Path
from random import Random

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from spool_fuzz import run

FILES = 3000


@pytest.mark.parametrize("seed", range(2))
def test_any_file_gives_a_sound_record_or_a_reason(tmp_path, seed):
    counts = Counter()
    assert run(FILES, Random(seed), tmp_path, counts) == []
    assert counts["read"] > 0.3 * FILES
    # Not only the check sums refuse.
    assert min(counts[reason] for reason in ("field", "identity", "text", "magic", "version", "size")) > 0.02 * FILES
