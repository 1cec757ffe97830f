"""What flow says of labels holds for what the evaluator gives: the short form; `run_soundness.py` is the long one."""

import sys
from collections import Counter
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from soundness import run

CASES = 1000


@pytest.mark.parametrize("seed", range(3))
def test_nothing_impossible_is_there_and_nothing_guaranteed_is_missing(seed):
    counts = Counter()
    assert run(CASES, seed, counts) == []
    assert counts["not empty"] >= 0.4 * counts["cases"]
    assert counts["called empty"] > 100
    assert counts["vain unless"] > 1
    assert min(counts[status] for status in ("guaranteed", "possible", "impossible")) > 500
