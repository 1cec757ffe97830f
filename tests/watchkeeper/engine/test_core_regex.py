"""Matching: Python's re only where it means the same as RE2, and bytes that are not UTF-8."""

from random import Random

import pytest
import re2

from watchkeeper.engine import Data, Engine, Series, regex

TOKENS = (
    *"ab01_-/:. ,;=\\|()[]{}*+?^$\n",
    *(r"\d", r"\w", r"\s", r"\.", r"\-", r"\n", r"\\", "(?:", "a|b", "[a-z]", "[^0-9]", "[.]", r"[\d-]"),
    *("é", ".*", ".+"),
)
VALUES = (
    *("", "a", "b", "ab", "0", "01", "a1", "-", "_", "a-b", "é", "aé", "\n", "a\n", "\na", " ", "a b", "\\"),
    *("[", "]", "^", "$", "a.b", "a/b", "日本", "(", "|"),
)


def test_the_same_as_re2():
    random = Random(1)
    options = re2.Options()
    options.log_errors = False
    options.dot_nl = True
    for _ in range(2000):
        pattern = "".join(random.choices(TOKENS, k=random.randrange(7)))
        try:
            other = re2.compile(pattern, options)
        except re2.error:
            with pytest.raises(regex.RegexError):
                regex.predicate(pattern)
            continue
        mine = regex.predicate(pattern)
        assert [bool(mine(value)) for value in VALUES] == [other.fullmatch(value) is not None for value in VALUES]


@pytest.mark.parametrize("evaluator", ["steps", "arrays"])
def test_bytes_that_are_not_utf_8(evaluator):
    data = Data([Series({"__name__": "x", "a": "q\udcffz"}, [0], [1.0])])
    engine = Engine(evaluator=evaluator)
    for matcher in ('a=~"q.z"', 'a=~"(q|y)*.+(z|w)*"', r'a=~"q\\PLz"', 'a=~"q[^a](z)*"', r'a!~"(q|\\w)*z"'):
        assert len(engine.instant(data, f"x{{{matcher}}}", 0).samples) == 1
    (sample,) = engine.instant(data, 'label_replace(x, "b", "$1<$2", "a", "(q)*(.*)z*")', 0).samples
    assert dict(sample.labels)["b"] == "q<\udcffz"
