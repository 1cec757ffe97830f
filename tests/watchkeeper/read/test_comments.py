"""Comments of YAML, and what only looks like one."""

from __future__ import annotations

import yaml
from hypothesis import given
from hypothesis import strategies as st

from watchkeeper.read.comments import comments
from watchkeeper.read.source import File

TEXT = """\
# one
a: b # two # still two
c: 'no # comment'
d: "no
  # comment"
e: plain#no
f: |  # three
  no # comment
  # nor this

# four
g: >-
  no
   # comment
  #nor this
 # five
h: &x # six
  [a, # seven
   "b # no", c#no ]
#
i: &y it # eight
j: no
  # nine
"""


def test_comments():
    file = File("f.yaml", TEXT)
    found = comments(file)
    words = ["one", "two # still two", "three", "four", "five", "six", "seven", "", "eight", "nine"]
    assert [comment.text for comment in found] == words
    assert [comment.line for comment in found] == [1, 2, 7, 11, 16, 17, 18, 20, 21, 23]
    assert [comment.line for comment in found if comment.alone] == [1, 11, 16, 20, 23]
    assert all(file.text[comment.start : comment.end].startswith("#") for comment in found)


def test_files_without_any():
    assert comments(File("f.yaml", "a: 1\n")) == comments(File("f.yaml", "a: b#c\n")) == []
    assert comments(File("f.yaml", "# a\n[\n")) == []
    (only,) = comments(File("f.yaml", "# nothing else"))
    assert (only.text, only.start, only.end) == ("nothing else", 0, 14)
    assert [comment.text for comment in comments(File("f.yaml", "---\na: 1 # x\n---\n# y\nb: 1\n--- # z\n"))] == [
        "x", "y", "z",
    ]  # fmt: skip


VALUES = st.text(st.sampled_from("a# \n'\":é"), max_size=12)


@given(values=st.lists(VALUES, min_size=1, max_size=4), style=st.sampled_from(["", "'", '"', "|", ">"]), data=st.data())
def test_comments_put_behind_values_are_found_and_nothing_else(values, style, data):
    text, expected = "", []
    for n, value in enumerate(values):
        piece = yaml.dump({f"k{n}": [value]}, default_style=style, allow_unicode=True, width=1000)
        if data.draw(st.booleans()):
            expected.append(len(text) + piece.index(":") + 2)
            piece = piece.replace(":\n", ": # comment\n", 1)
        text += piece
    file = File("f.yaml", text)
    assert [comment.start for comment in comments(file)] == expected
