"""Where tokens come from, and that they are never shown."""

from __future__ import annotations

import pytest

from watchkeeper.sync.objects import Refused
from watchkeeper.sync.secret import GRAFANA, RULER, token_from


def test_from_the_environment():
    assert token_from(GRAFANA, {GRAFANA: " abc\n"})() == "abc"


def test_from_a_file_that_is_read_each_time(tmp_path):
    path = tmp_path / "token"
    path.write_text("old\n")
    token = token_from(RULER, {f"{RULER}_FILE": str(path)})
    assert token() == "old"
    path.write_text("new\n")
    assert token() == "new"


def test_none_where_none_is_needed():
    assert token_from(RULER, {}, required=False)() == ""


@pytest.mark.parametrize(
    ("environment", "said"),
    [
        ({}, f"there is no token: set {GRAFANA}"),
        ({GRAFANA: "  "}, f"there is no token: set {GRAFANA}"),
        ({GRAFANA: "secret", f"{GRAFANA}_FILE": "x"}, "not both"),
        ({GRAFANA: "secret word"}, "holds no token"),
        ({GRAFANA: "secrét"}, "holds no token"),
        ({f"{GRAFANA}_FILE": "/no/such"}, "can't be read: No such file or directory"),
    ],
    ids=["none", "blank", "both", "two words", "no ASCII", "no file"],
)
def test_what_is_refused(environment, said):
    with pytest.raises(Refused, match=said) as caught:
        token_from(GRAFANA, environment)
    assert (caught.value.reason, "secr" in str(caught.value)) == ("token", False)


@pytest.mark.parametrize(
    ("content", "said"), [("", "is empty"), ("a b", "holds no token"), ("x" * 5000, "holds no token")]
)
def test_files_that_are_refused(tmp_path, content, said):
    path = tmp_path / "token"
    path.write_text(content)
    with pytest.raises(Refused, match=said):
        token_from(GRAFANA, {f"{GRAFANA}_FILE": str(path)})


def test_a_file_that_goes_away(tmp_path):
    path = tmp_path / "token"
    path.write_text("abc")
    token = token_from(GRAFANA, {f"{GRAFANA}_FILE": str(path)})
    path.unlink()
    with pytest.raises(Refused, match="can't be read"):
        token()
