import copy

import pytest

from watchkeeper.sync.diff import LINES, differences
from watchkeeper.sync.objects import Dashboard, Folder

MODEL = {
    "title": "GPU memory",
    "refresh": "1m",
    "tags": ["gpu"],
    "links": [{"title": "Runbooks", "url": "https://a.example"}],
    "annotations": {"list": [{"name": "Deploys", "enable": True}]},
    "templating": {"list": [{"name": "node", "type": "query", "query": "up"}, {"name": "gpu", "type": "query"}]},
    "panels": [
        {"id": 1, "type": "row", "title": "Is it fine?", "collapsed": True, "gridPos": {"x": 0, "y": 0}, "panels": [
            {"id": 4, "type": "stat", "title": "Inside", "gridPos": {"x": 0, "y": 1}, "options": {"graphMode": "none"}},
        ]},
        {"id": 2, "type": "stat", "title": "Free", "gridPos": {"x": 0, "y": 2}, "targets": [
            {"refId": "A", "expr": "free"}, {"refId": "B", "expr": "total"},
        ], "fieldConfig": {"defaults": {"unit": "short", "thresholds": {"steps": [{"value": None}, {"value": 1}]}}}},
        {"id": 3, "type": "text", "gridPos": {"x": 6, "y": 2}, "options": {"content": "x" * 200}},
    ],
}  # fmt: skip


def changed(path, value):
    model = copy.deepcopy(MODEL)
    inner = model
    for step in path[:-1]:
        inner = inner[step]
    if value is ...:
        del inner[path[-1]]
    else:
        inner[path[-1]] = value
    return model


FREE = ("panels", 1)
CASES = {
    "nothing": ((), None, []),
    "title": (("title",), "Memory", ['title: "GPU memory" -> "Memory"']),
    "refresh": (("refresh",), ..., ['refresh: "1m" removed']),
    "time": (("time",), {"from": "now-1h", "to": "now"}, ['time: {"from": "now-1h", "to": "now"} added']),
    "tags": (("tags",), ["gpu", "memory"], ['tags: ["gpu"] -> ["gpu", "memory"]']),
    "variable": (("templating", "list", 0, "query"), "down", ['variable "node", query: "up" -> "down"']),
    "variable gone": (("templating", "list", 1), {"name": "x"}, ['variable "gpu": removed', 'variable "x": added']),
    "annotation": (("annotations", "list", 0, "enable"), False, ['annotation "Deploys", enable: true -> false']),
    "link": (("links", 0, "url"), "b", ['link "Runbooks", url: "https://a.example" -> "b"']),
    "panel renamed": ((*FREE, "title"), "Used", ['panel "Used", title: "Free" -> "Used"']),
    "query": ((*FREE, "targets", 0, "expr"), 'free{a="b"}', ['panel "Free", query "A", expr: "free" -> "free{a="b"}"']),
    "query gone": ((*FREE, "targets", 1), ..., ['panel "Free", query "B": removed']),
    "queries turned": (
        (*FREE, "targets"),
        MODEL["panels"][1]["targets"][::-1],
        ['panel "Free", targets: in another order'],
    ),
    "unit": (
        (*FREE, "fieldConfig", "defaults", "unit"),
        "bytes",
        ['panel "Free", fieldConfig.defaults.unit: "short" -> "bytes"'],
    ),
    "threshold": (
        (*FREE, "fieldConfig", "defaults", "thresholds", "steps", 1, "value"),
        2,
        [
            'panel "Free", fieldConfig.defaults.thresholds, step 1: removed',
            'panel "Free", fieldConfig.defaults.thresholds, step 2: added',
        ],
    ),
    "place": ((*FREE, "gridPos", "y"), 9, ['place or size of "Free"']),
    "panel gone": (FREE, ..., ['panel "Free": removed']),
    "in a row": (
        ("panels", 0, "panels", 0, "options", "graphMode"),
        "area",
        ['panel "Is it fine?", panel "Inside", options.graphMode: "none" -> "area"'],
    ),
    "a long text": (
        ("panels", 2, "options", "content"),
        "x" * 100 + "y" + "x" * 99,
        [f"panel 3 (text), options.content: ...{'x' * 60}... -> ...{'x' * 20}y{'x' * 39}..."],
    ),
    "orders to a terminal": (("title",), "\x1b[31m\u202e\n", ['title: "GPU memory" -> "\\x1b[31m\\u202e\\n"']),
    "another kind of value": (("panels", 1), 3, None),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_a_line_says_what_and_where(name):
    path, value, expected = CASES[name]
    old, new = Dashboard("u", "T", "", MODEL), Dashboard("u", "T", "", changed(path, value) if path else MODEL)
    found = list(differences(old, new))
    if expected is None:
        assert found
    else:
        assert found == expected


def test_folders():
    assert differences(Folder("f", "A", "x"), Folder("f", "B")) == ('title: "A" -> "B"', 'parent: "x" -> ""')
    assert differences(Folder("f", "A"), Folder("f", "A")) == ()


def test_many_places_are_one_line():
    def grid(by):
        return {"panels": [{"id": n, "title": f"P{n}", "gridPos": {"x": 0, "y": n + by}} for n in range(5)]}

    assert differences(Dashboard("u", "T", "", grid(0)), Dashboard("u", "T", "", grid(1))) == (
        'place or size of "P0", "P1", "P2" and 2 more panels',
    )


def test_many_differences_are_counted():
    old, new = ({"panels": [{"id": n, "title": f"{word}{n}"} for n in range(99)]} for word in "ab")
    found = differences(Dashboard("u", "T", "", old), Dashboard("u", "T", "", new))
    assert len(found) == LINES
    assert found[-1] == f"and {99 - LINES + 1} more differences"
