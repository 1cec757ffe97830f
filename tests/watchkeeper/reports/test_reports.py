"""Findings as JSON, as GitHub's annotations, as SARIF."""

import importlib.util
import json
import os
import re
from pathlib import Path
from urllib.parse import unquote_to_bytes

import jsonschema
import pytest

from watchkeeper import checks
from watchkeeper.findings import Excerpt, Finding, Place
from watchkeeper.reports import to_github, to_json, to_sarif
from watchkeeper.waivers import Waived, Waiver

_spec = importlib.util.spec_from_file_location("sarif_schema", Path(__file__).with_name("sarif_schema.py"))
_module = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_module)
SCHEMA = _module.SCHEMA

ROOT = "/srv/repository"
FILE = """\
groups:
- name: a
  rules:
  - alert: A
    expr: 🔥p{x="é"} > 1
    annotations:
      summary: |
        one
        two
"""


def about(part, *, text=FILE, file="rules.yaml", **fields):
    """Return a finding about a part of a file's text."""
    start = text.index(part)
    line = text.count("\n", 0, start) + 1
    place = Place(file, line, start - text.rfind("\n", 0, start))
    message = fields.pop("message", "alert A: wrong")
    return Finding("promql/counter", message, place, Excerpt(text, start, start + len(part)), **fields)


DEFINED = Finding(
    "promql/metric", "alert B: no such metric", Place(f"{ROOT}/acme/a.py", 7), Excerpt("sum(upp)", 4, 7), "w", "f"
)
NOWHERE = Finding("load/name", "no definitions are named", fix="name them")


def objects(*findings, waived=()):
    return json.loads(to_json(findings, ROOT, waived))


def sarif(*findings, waived=(), **options):
    log = json.loads(to_sarif(findings, ROOT, waived, **options))
    jsonschema.Draft202012Validator(SCHEMA).validate(log)
    return log["runs"][0]


def regions(*findings):
    return [result["locations"][0]["physicalLocation"].get("region") for result in sarif(*findings)["results"]]


def test_json_in_full():
    waiver = Waiver("promql/counter", reason="mislabelled", until="2027-01-31")
    first, second, third, fourth = objects(
        about('x="é"', why="w", fix="f", severity="warning"),
        DEFINED,
        NOWHERE,
        waived=[Waived(about("two"), waiver)],
    )
    assert first == {
        "check": "promql/counter",
        "severity": "warning",
        "file": "rules.yaml",
        "line": 5,
        "column": 14,
        "end_line": 5,
        "end_column": 19,
        "message": "alert A: wrong",
        "why": "w",
        "fix": "f",
        "page": "docs/checks/promql-counter.md",
        "waived": None,
    }
    assert (second["file"], second["line"], second["column"], second["end_line"]) == ("acme/a.py", 7, None, None)
    assert [third[key] for key in ("file", "line", "page")] == [None, None, "docs/checks/load-name.md"]
    assert fourth["waived"] == {"reason": "mislabelled", "until": "2027-01-31"}
    assert list(first) == list(third)


def test_the_documented_keys_are_those():
    page = Path(__file__).parents[3] / "docs" / "reports.md"
    assert re.findall(r"^\| `(\w+)` \|", page.read_text(), re.MULTILINE) == list(objects(NOWHERE)[0])


def test_nothing_found():
    assert to_json([], ROOT) == "[]\n"
    assert to_github([], ROOT) == ""
    assert sarif()["results"] == []


def test_the_end_of_a_piece_over_several_lines():
    found = objects(about("one\n        two"))[0]
    assert [found[key] for key in ("line", "column", "end_line", "end_column")] == [8, 9, 9, 12]


def test_an_excerpt_that_is_not_the_file_gives_no_end():
    # A column of the file, and an excerpt that shows something else.
    finding = Finding("promql/syntax", "wrong", Place("a.toml", 3, 30), Excerpt("sum(upp)", 4, 7))
    found = objects(finding)[0]
    assert (found["column"], found["end_column"]) == (30, None)
    assert regions(finding) == [{"startLine": 3, "startColumn": 30}]


@pytest.mark.parametrize(
    ("file", "shown"),
    [
        (f"{ROOT}/a/b.yaml", "a/b.yaml"),
        ("a/../b.yaml", "b.yaml"),
        ("../other/b.yaml", "/srv/other/b.yaml"),
        ("/srv/repository2/b.yaml", "/srv/repository2/b.yaml"),
    ],
)
def test_paths_are_relative_to_the_root(file, shown):
    finding = Finding("yaml/parse", "wrong", Place(file, 1))
    assert objects(finding)[0]["file"] == shown
    location = sarif(finding)["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]
    assert location == ({"uri": f"file://{shown}"} if shown[0] == "/" else {"uri": shown, "uriBaseId": "%SRCROOT%"})


def test_github_in_full():
    lines = to_github([about('x="é"', why="w", severity="warning"), DEFINED, NOWHERE], ROOT).splitlines()
    assert lines == [
        "::warning file=rules.yaml,line=5,endLine=5,col=14,endColumn=19,title=promql/counter::alert A: wrong%0Awhy: w",
        "::error file=acme/a.py,line=7,title=promql/metric::alert B: no such metric%0Awhy: w%0Afix: f",
        "::error title=load/name::no definitions are named%0Afix: name them",
    ]


def test_github_gives_no_columns_over_several_lines():
    (line,) = to_github([about("one\n        two", severity="note")], ROOT).splitlines()
    assert line.startswith("::notice file=rules.yaml,line=8,endLine=9,title=")


def test_nothing_in_a_finding_is_a_command_of_its_own():
    finding = about(
        "A", file="a,b:c\n::x%.yaml", message="50% of\r\n::set-env name=PATH::/tmp, and: more\x1b[31m\ud800"
    )
    output = to_github([finding], ROOT)
    assert output.count("\n") == 1
    assert "\r" not in output
    properties, _, message = output.removeprefix("::error ").partition("::")
    assert properties.startswith("file=a%2Cb%3Ac\\n%3A%3Ax%25.yaml,line=4,")
    assert message == "50%25 of\\r\\n::set-env name=PATH::/tmp, and: more\\x1b[31m\\ud800\n"
    output.encode()


def test_sarif_in_full():
    waiver = Waiver("promql/metric", reason="not yet there")
    run = sarif(about("two", why="w", fix="f", severity="note"), waived=[Waived(DEFINED, waiver)])
    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == ["promql/counter", "promql/metric"]
    assert run["originalUriBaseIds"] == {"%SRCROOT%": {"uri": "file:///srv/repository/"}}
    kept, waived = run["results"]
    assert kept["ruleId"] == "promql/counter"
    assert kept["level"] == "note"
    assert kept["message"] == {"text": "alert A: wrong\nwhy: w\nfix: f"}
    assert kept["suppressions"] == []
    assert waived["ruleIndex"] == 1
    assert waived["suppressions"] == [{"kind": "inSource", "justification": "not yet there"}]
    assert waived["locations"][0]["physicalLocation"]["region"] == {"startLine": 7}


def test_sarif_without_a_place():
    (result,) = sarif(NOWHERE)["results"]
    assert result["locations"] == []
    assert sarif(Finding("yaml/parse", "wrong", Place("a.yaml")))["results"][0]["locations"] == [
        {"physicalLocation": {"artifactLocation": {"uri": "a.yaml", "uriBaseId": "%SRCROOT%"}}}
    ]


def test_sarif_counts_utf16_units():
    # 🔥 is one character and two units.
    assert regions(about("🔥p"), about("x="), about("one\n        two")) == [
        {"startLine": 5, "startColumn": 11, "endLine": 5, "endColumn": 14},
        {"startLine": 5, "startColumn": 15, "endLine": 5, "endColumn": 17},
        {"startLine": 8, "startColumn": 9, "endLine": 9, "endColumn": 12},
    ]


@pytest.mark.parametrize("name", [b"a b.yaml", "für/é%.yaml".encode(), b"x:y#z?.yaml", b"\xff.yaml"])
def test_sarif_addresses_hold_any_file_name(name):
    uri = sarif(about("two", file=os.fsdecode(name)))["results"][0]["locations"][0]["physicalLocation"]
    assert unquote_to_bytes(uri["artifactLocation"]["uri"]) == name


def test_json_of_an_odd_file_name_can_be_written():
    finding = about("two", file=os.fsdecode(b"\xff.yaml"), message="\ud800 é")
    assert json.loads(to_json([finding], ROOT).encode())[0]["message"] == "? é"
    to_sarif([finding], ROOT).encode()


def fingerprints(*findings):
    return [result["partialFingerprints"]["watchkeeper/v1"] for result in sarif(*findings)["results"]]


def test_fingerprints_stay_when_lines_move():
    moved = about("two", text=f"# a comment\n{FILE}")
    assert fingerprints(about("two")) == fingerprints(moved)
    one, two = (about("two", message=f"alert A: the same as rules.yaml:{line}:3") for line in (5, 99))
    assert fingerprints(one) == fingerprints(two)


def test_fingerprints_tell_findings_apart():
    found = [about("two"), about("two"), about("one"), about("two", message="else"), about("two", file="b.yaml")]
    assert len(set(fingerprints(*found))) == len(found)


def test_rules_have_the_address_of_their_page_where_there_is_one():
    (rule,) = sarif(about("two"), docs="https://example.com/docs/")["tool"]["driver"]["rules"]
    assert rule["helpUri"] == "https://example.com/docs/promql-counter.md"
    (rule,) = sarif(about("two"))["tool"]["driver"]["rules"]
    assert "helpUri" not in rule
    assert rule["help"] == {"text": "See docs/checks/promql-counter.md."}


@pytest.mark.parametrize("name", checks.NAMES)
def test_every_rule_says_what_it_is_about(name):
    check = name.replace("_", "/", 1).replace("_", "-")
    (rule,) = sarif(Finding(check, "wrong"))["tool"]["driver"]["rules"]
    assert rule["shortDescription"]["text"] not in ("", check)
    assert rule["shortDescription"]["text"].endswith(".")
