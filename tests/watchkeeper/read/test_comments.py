"""Comments of YAML, and what only looks like one."""

from __future__ import annotations

import re

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
    text = yaml.dump({f"k{n}": [value] for n, value in enumerate(values)}, default_style=style, allow_unicode=True)
    for n in range(len(values)):
        if data.draw(st.booleans()):
            text = re.sub(rf"^(['\"]?k{n}['\"]?:)$", r"\1 # comment", text, flags=re.MULTILINE)
    expected = [match.start(1) for match in re.finditer(r"^['\"]?k\d['\"]?: (# comment)$", text, re.MULTILINE)]
    assert len(expected) == text.count("# comment")
    file = File("f.yaml", text)
    assert [comment.start for comment in comments(file)] == expected
