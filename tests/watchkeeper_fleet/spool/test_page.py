"""docs/spool.md says what is so."""

import re
from pathlib import Path

from watchkeeper_fleet import spool
from watchkeeper_fleet.spool import layout

PAGE = (Path(__file__).parents[3] / "docs/spool.md").read_text()


def test_the_example_runs(tmp_path):
    (example,) = re.findall(r"^```python\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
    names = {}
    exec(example.replace("/run/watchkeeper", str(tmp_path)), names)
    (record,) = names["records"]
    assert not names["refused"]
    assert (record.values, record.mark, record.state) == ((5e9,), "clean", "dead")
    assert names["reserved"] == 0


def test_every_reason_is_there():
    reading = PAGE[PAGE.index("## Reading") : PAGE.index("## Versions")]
    table = "".join(line.split("|")[1] for line in reading.splitlines() if line.startswith("| `"))
    assert sorted(re.findall(r"`(\w+)`", table)) == sorted({*spool.REASONS} - {"gone"})


def test_the_layout():
    for part in (layout.HEADER, layout.TEXT, layout.SLOT_CHECK, layout.SLOT, layout.FIELD):
        assert f"`{part.format}`" in PAGE
    for number in (layout.SIZE, layout.TEXTS, layout.SLOTS, layout.FIELDS, layout.SIZE - layout.FIELDS):
        assert f"{number:,}" in PAGE
    for number in (layout.CAPACITY, layout.PAIRS, layout.LENGTH, layout.LABELS):
        assert re.search(rf"at most\s{number}\s", PAGE)
    assert layout.SLOT_CHECK.size + layout.SLOT.size + 8 * layout.CAPACITY <= layout.SLOT_SIZE
