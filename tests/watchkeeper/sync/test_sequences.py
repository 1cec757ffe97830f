"""Whatever is edited and cut off, it converges, and no work is lost: `run_sequences.py` is the long form."""

import sys
from collections import Counter
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from sync_sequences import run, run_remote


@pytest.mark.parametrize("first", [0, 20, 40])
def test_no_edit_is_lost_and_a_second_apply_writes_nothing(first):
    counts = Counter()
    assert run(range(first, first + 20), counts) == []
    # So that these are not twenty quiet days.
    assert min(counts[action] for action in ("created", "changed", "conflict", "deleted", "orphan", "unchanged")) > 3
    assert counts["crashes"] > 2
    assert counts["edits"] > 30


@pytest.mark.parametrize(
    "server",
    [{"has_apis": True}, {"has_apis": True, "keeps_annotations": False}, {"has_apis": False}],
    ids=["apis", "apis-without-annotations", "api"],
)
def test_the_adapters_do_the_same(server):
    counts = Counter()
    assert run_remote(range(4), counts, **server) == []
    assert min(counts[action] for action in ("created", "changed", "conflict", "unchanged")) > 0
