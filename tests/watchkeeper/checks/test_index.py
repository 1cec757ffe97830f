"""The index of the checks names each of them once, and each name leads to its page."""

import re
from pathlib import Path

from watchkeeper import checks

PAGES = Path(__file__).parents[3] / "docs" / "checks"
ROW = re.compile(r"^\| \[([\w/-]+)\]\(([\w-]+)\.md\) \| \S", re.MULTILINE)


def test_the_index_is_whole():
    index = (PAGES / "README.md").read_text().partition("## For those who come from pint")[0]
    rows = ROW.findall(index)
    assert sorted(name for name, _ in rows) == sorted((*checks.ids(), *checks.COMMANDS))
    assert [name for name, page in rows if name.replace("/", "-") != page] == []


def test_links_lead_somewhere():
    text = (PAGES / "README.md").read_text()
    assert {link for link in re.findall(r"\]\(([^)#:]+)\)", text) if not (PAGES / link).is_file()} == set()
