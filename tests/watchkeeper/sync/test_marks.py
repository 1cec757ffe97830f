import pytest

from watchkeeper.sync.marks import from_annotations, from_message, from_tags, message, tagged, to_annotations
from watchkeeper.sync.objects import Mark

MARKS = [Mark("acme", "1-abc"), Mark("acme", "1-abc", "1-def")]


@pytest.mark.parametrize("mark", MARKS, ids=["applied", "stored"])
def test_there_and_back(mark):
    assert from_annotations({"other": "x", **to_annotations(mark)}) == mark
    assert from_message(["", None, "Restored from version 3", message(mark), "watchkeeper old 1-x"]) == mark


def test_no_mark():
    assert from_annotations({}) == Mark("")
    assert from_annotations({"watchkeeper.io/owner": 3}) == Mark("")
    assert from_message([]) == Mark("")
    assert from_message(["watchkeeper", "watchkeeper acme", "watchkeeper a b c d", "by watchkeeper a b"]) == Mark("")


def test_tags():
    model = tagged({"tags": ["gpu", "watchkeeper:old"]}, "acme")
    assert model == {"tags": ["gpu", "watchkeeper:acme"]}
    assert from_tags(model["tags"]) == "acme"
    assert tagged({"title": "T", "tags": None}, "acme") == {"title": "T", "tags": ["watchkeeper:acme"]}


@pytest.mark.parametrize("tags", [None, "x", [], ["watchkeeper"], [1, None]], ids=repr)
def test_no_tag(tags):
    assert from_tags(tags) == ""


def test_two_owners_are_neither():
    assert from_tags(["watchkeeper:b", "watchkeeper:a"]) == "a, b"
