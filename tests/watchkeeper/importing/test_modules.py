"""Rule files become modules that render back to the same rules, and no comment is lost."""

import io
import tokenize
from collections import Counter
from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from watchkeeper.importing import proof
from watchkeeper.importing.imports import made, sources
from watchkeeper.importing.module import module, whole
from watchkeeper.importing.notes import said
from watchkeeper.read.comments import comments
from watchkeeper.read.documents import Unreadable, documents
from watchkeeper.read.rules import rule_groups
from watchkeeper.read.source import File
from watchkeeper.render.rules import rule_file
from watchkeeper.settings import Settings

CASES = Path(__file__).parent / "cases"
SETTINGS = Settings(root=Path(), runbook_url="https://runbooks.example.com", grafana_url="https://grafana.example.com")


def read(text):
    """Return a rule file's groups, which have to be valid, and the file."""
    file = File("rules.yml", text)
    (node,) = documents(file)
    groups, findings = rule_groups(node, file)
    assert [finding for finding in findings if finding.severity == "error"] == []
    return groups, file


def written(text):
    groups, file = read(text)
    return module(file, groups, comments(file), "Rules imported from rules.yml.")


def rendered(code):
    """Return what the pack of a module renders to, as data."""
    pack = proof.pack_of(code, "imported.py", "imported")
    return [group for one in pack.groups for group in rule_file(one, SETTINGS, {})["groups"]]


def normal(group):
    """Return a group of YAML's data, its scalars as they are written, as Prometheus reads it: what is empty isn't."""
    rules = [{key: value for key, value in rule.items() if value} for rule in group.get("rules") or ()]
    group = {key: value for key, value in group.items() if value}
    if "limit" in group:
        group["limit"] = int(group["limit"])
    return {**group, "rules": rules}


# The same rules


NAMES = st.text(st.characters(codec="utf-8", exclude_categories=["Cc"]), min_size=1, max_size=12)
NAMED = NAMES | st.sampled_from(["NodeDown", "GPUFull", "class", "None", "5xx", "PACK", "GROUP", "温度", "a b"])
WORDS = [
    "up",
    " ",
    "  ",
    "\n",
    "\\",
    '"',
    "'",
    '"""',
    "{{ $labels.x }}",
    "#",
    " # ",
    ": ",
    "{",
    "}",
    "%",
    "é",
    "😀",
    "\t",
]
TEXTS = (
    st.text(st.characters(codec="utf-8"), max_size=30)
    | st.lists(st.sampled_from(WORDS), max_size=20).map("".join)
    | st.sampled_from(["No", "on", "1", "1.0", "~", "null", "0x10", "1e3", "2001-01-01", "critical", "warning", "page"])
    | st.lists(st.sampled_from(["long words ", "of a text\n", "on many_lines,", 'x{a="b"} ']), max_size=40).map("".join)
)
EXPRESSIONS = st.sampled_from(
    [
        "1",
        "up == 0",
        'sum by (job) (\n  rate(x_total{a!~"b|c"}[5m])\n) # why\n> 1\n',
        'label_replace(up, "a", "$1", "b", "(.*)\\\\.x")',
        " + ".join(f'(sum by (instance) (rate(metric_{n}_total{{job="x"}}[5m])))' for n in range(12)),
        'up{job="it\'s"}   \n  == 0',
    ]
)
DURATIONS = st.sampled_from(["5m", "1h30m", "0s", "90s"])
LABELS = st.dictionaries(NAMES.filter(lambda name: name != "__name__"), TEXTS, max_size=3)
OURS = st.fixed_dictionaries({}, optional={"severity": TEXTS, "team": TEXTS, "priority": TEXTS, "x": TEXTS})
TOLD = st.fixed_dictionaries(
    {},
    optional={
        "summary": TEXTS,
        "description": TEXTS,
        "reason": TEXTS,
        "runbook_url": TEXTS,
        "dashboard_url": TEXTS,
        "x": TEXTS,
    },
)
ALERTS = st.fixed_dictionaries(
    {"alert": NAMED, "expr": EXPRESSIONS},
    optional={"for": DURATIONS, "keep_firing_for": DURATIONS, "labels": LABELS | OURS, "annotations": LABELS | TOLD},
)
RECORDINGS = st.fixed_dictionaries(
    {"record": NAMED.filter(lambda name: not set("{}") & set(name)), "expr": EXPRESSIONS}, optional={"labels": LABELS}
)
GROUPS = st.lists(
    st.fixed_dictionaries(
        {"name": NAMED, "rules": st.lists(ALERTS | RECORDINGS, max_size=4)},
        optional={
            "interval": st.sampled_from(["15s", "1m"]),
            "query_offset": DURATIONS,
            "limit": st.integers(0, 99),
            "labels": LABELS,
        },
    ),
    max_size=3,
    unique_by=lambda group: group["name"],
)


@st.composite
def files(draw):
    """Return a rule file in some style of YAML."""
    groups = draw(GROUPS)
    style = draw(st.sampled_from([None, '"', "'", "|", ">"]))
    if style:  # in quotes, a limit is no number
        groups = [{key: value for key, value in group.items() if key != "limit"} for group in groups]
    return yaml.dump(
        {"groups": groups},
        default_style=style,
        default_flow_style=draw(st.booleans()),
        allow_unicode=draw(st.booleans()),
        width=draw(st.sampled_from([40, 10_000])),
        sort_keys=draw(st.booleans()),
    )


@settings(max_examples=50)
@given(files())
def test_a_module_renders_back_to_the_same_rules(text):
    read_back = yaml.load(text, yaml.CBaseLoader)["groups"]
    assert rendered(written(text)) == [normal(group) for group in read_back]


@pytest.mark.parametrize(
    ("rule", "data"),
    [
        ("{alert: X, expr: 1}", {"expr": "1"}),
        ("{alert: X, expr: up, labels: {severity: 1, team: no, a: ~, b: 1.0}}",
         {"labels": {"severity": "1", "team": "no", "a": "", "b": "1.0"}}),
        ("{alert: X, expr: up, labels: {severity: '', team: null}}", {"labels": {"severity": "", "team": ""}}),
        ("{alert: X, expr: up, annotations: {summary: '', runbook_url: https://x}}",
         {"annotations": {"summary": "", "runbook_url": "https://x"}}),
        ("{alert: X, expr: up, labels: {}, annotations: ~}", {}),
        ("{alert: X, expr: up, for: 0s}", {"for": "0s"}),
        ("{<<: {for: 5m, expr: up}, alert: X, for: 1m}", {"for": "1m"}),
        ('{alert: X, expr: "up # no comment\\n"}', {"expr": "up # no comment\n"}),
    ],
)  # fmt: skip
def test_a_rule_as_prometheus_reads_it(rule, data):
    (group,) = rendered(written(f"groups: [{{name: g, rules: [{rule}]}}]"))
    assert group == {"name": "g", "rules": [{"alert": "X", "expr": "up", **data}]}


def test_labels_by_an_alias_and_a_merge():
    text = """
groups:
- name: g
  rules:
  - alert: A
    expr: up
    labels: &all {site: eu, severity: page}
  - alert: B
    expr: up
    labels: *all
  - alert: C
    expr: up
    labels: {<<: *all, severity: critical, tier: gold}
"""
    labels = [rule["labels"] for rule in rendered(written(text))[0]["rules"]]
    page = {"site": "eu", "severity": "page"}
    assert labels == [page, page, {"site": "eu", "severity": "critical", "tier": "gold"}]


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("10", 10),
        ("1_000", 1000),
        ("0x10", 16),
        ("010", 8),
        ("0o10", 8),
        ("0", 0),
        ("-1", -1),
        ("1e3", 1000),
        ("10.0", 10),
        ("08", 8),
    ],
)
def test_limits_as_yaml_writes_numbers(text, number):
    assert whole(text) == number


def test_a_file_without_groups():
    assert written("groups: []") == (
        '"""Rules imported from rules.yml."""\n\nfrom watchkeeper import Pack\n\nPACK = Pack(groups=())\n'
    )


# How it reads


@pytest.mark.parametrize("name", ["node", "manifest"])
def test_an_example_and_its_module(name):
    (source,), findings = sources([str(CASES / f"{name}.yml")])
    assert findings == []
    assert made(source, source.path, SETTINGS).text == (CASES / f"{name}.txt").read_text()


def test_ruff_leaves_modules_as_they_are(tmp_path, reformatted):
    number = 0

    @settings(max_examples=50)
    @given(files())
    def write(text):
        nonlocal number
        number += 1
        (tmp_path / f"module_{number}.py").write_text(written(text), encoding="utf-8")

    write()
    assert reformatted(tmp_path) == ""


def test_long_lists_take_a_line_for_each(tmp_path, reformatted):
    rules = "".join(f"\n  - {{alert: AlertOfSomeLength{n}, expr: up}}" for n in range(30))
    text = "groups:" + "".join(f"\n- name: group_of_some_length_{n}\n  rules:{rules}" for n in range(10))
    path = tmp_path / "module.py"
    path.write_text(written(text))
    assert reformatted(path) == ""
    assert "\n        ALERT_OF_SOME_LENGTH29,\n    ],\n)\n" in path.read_text()
    assert "\n        GROUP_OF_SOME_LENGTH_9_GROUP,\n    ),\n)\n" in path.read_text()


# Comments


def python_comments(code):
    tokens = tokenize.generate_tokens(io.StringIO(code).readline)
    return Counter(token.string for token in tokens if token.type == tokenize.COMMENT)


@settings(max_examples=50)
@given(files(), st.data())
def test_no_comment_is_lost_or_made(text, data):
    lines = text.splitlines(keepends=True)
    for number in range(data.draw(st.integers(0, 12))):
        at = data.draw(st.integers(0, len(lines)))
        indent = " " * data.draw(st.integers(0, 8))
        lines.insert(at, f"{indent}# comment {number}\n")
        if at and not data.draw(st.booleans()):
            lines[at - 1] = lines[at - 1].rstrip("\n") + f"  #behind {number}\n"
    commented = "".join(lines)
    file = File("rules.yml", commented)
    try:
        (node,) = documents(file)
    except Unreadable:
        return  # not every place is one for a comment
    groups, findings = rule_groups(node, file)
    if any(finding.severity == "error" for finding in findings):
        return  # a comment in the midst of a text is part of it, and may break it
    found = comments(file)
    code = module(file, groups, found, "Rules.")
    assert python_comments(code) == Counter(said(commented[comment.start : comment.end]) for comment in found)
    assert [proof.group_data(group) for group in groups] == rendered(code)


def test_the_header_of_a_generated_file_is_not_true_of_a_module():
    groups, file = read((Path(__file__).parents[3] / "rules" / "gpu_memory.yaml").read_text())
    assert len(comments(file)) == 2
    assert python_comments(module(file, groups, comments(file), "Rules.")) == Counter()


@pytest.mark.parametrize(
    ("comment", "expected"),
    [
        ("#", "#"),
        ("#x", "# x"),
        ("#   x  ", "#   x"),
        ("#### x", "#### x"),
        ("#!x", "# !x"),
        ("#\u202ex", "# \\u202ex"),
    ],
)
def test_comments_in_python(comment, expected):
    assert said(comment) == expected


# Waivers


WAIVERS = """\
# watchkeeper: allow-file promql/regexp because these rules are copied
groups:
# watchkeeper: allow group/name because of history
- name: a b
  rules:
  # watchkeeper: allow alert/runbook until 2027-01-31 because "it" is not written
  - alert: A
    expr: up == 0  # watchkeeper: allow promql/fragile because {reason}
  - record: a:b:c
    # watchkeeper: allow rule/name becuase it is so
    expr: up
- name: c
  rules:
  - record: a:b:d
    expr: up
"""


def test_waivers_become_those_of_definitions(tmp_path, reformatted):
    reason = (
        "there is one process a GPU, and one GPU a host, and it has been so since the first of them was bought there"
    )
    code = written(WAIVERS.format(reason=reason))
    first, second = proof.pack_of(code, "x.py", "x").groups
    said = [(waiver.check, waiver.reason, waiver.until) for waiver in (*first.waivers, *first.rules[0].waivers)]
    assert said == [
        ("promql/regexp", "these rules are copied", ""),
        ("group/name", "of history", ""),
        ("alert/runbook", '"it" is not written', "2027-01-31"),
        ("promql/fragile", reason, ""),
    ]
    assert second.waivers == first.waivers[:1]
    assert list(python_comments(code)) == ["# watchkeeper: allow rule/name becuase it is so"]
    path = tmp_path / "module.py"
    path.write_text(code)
    assert reformatted(path) == ""
    path.write_text(written(WAIVERS.format(reason="it is " * 40)))
    assert reformatted(path) == ""


# The proof


def test_what_differs_is_told():
    groups, file = read("groups: [{name: g, rules: [{alert: X, expr: up, for: 5m}, {record: 'a:b', expr: up}]}]")
    definitions = proof.pack_of(module(file, groups, [], "Rules."), "x.py", "x").groups
    assert proof.differing(groups, definitions, SETTINGS) == ""
    groups[0].rules[1].expression.text = "up "
    assert proof.differing(groups, definitions, SETTINGS) == "group g, rule a:b"
    groups[0].rules.pop()
    assert proof.differing(groups, definitions, SETTINGS) == "group g"
    assert proof.differing([], definitions, SETTINGS) == "the number of groups"
