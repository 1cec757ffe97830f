"""Texts as Python literals: the same characters, whatever they are, and laid out as ruff leaves them."""

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from watchkeeper.importing.constants import Constants, constant, module_name
from watchkeeper.importing.literals import WIDTH, argument, literal

WORDS = ["a", "b ", "#", "{{ $labels.x }}", "é", "温", "😀", ",", "|"]
PIECES = [*WORDS, '"', "'", "\\", "\n", "\t", " ", "\r", "\u200b", '"""']
TEXTS = (
    st.text()
    | st.lists(st.sampled_from(PIECES), max_size=12).map("".join)
    | st.lists(st.sampled_from([*PIECES, "x" * 40, "some words of a line "]), min_size=8, max_size=30).map("".join)
)


@given(TEXTS)
def test_a_literal_is_the_text(text):
    assert ast.literal_eval(literal(text)) == text
    assert "\n" not in literal(text)


@given(TEXTS, st.sampled_from(["", "    ", "        "]), st.sampled_from(["", "expr=", "description="]))
def test_an_argument_is_the_text(text, indent, head):
    lines = argument(head, text, indent)
    assert lines[0].startswith(indent + head)
    assert lines[-1].endswith(",")
    code = "\n".join(lines).strip().removeprefix(head).removesuffix(",")
    assert ast.literal_eval(code) == text
    assert not any(line.endswith((" ", "\t")) for line in lines)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("up == 0", '"up == 0"'),
        ('up{job="x"} == 0', "'up{job=\"x\"} == 0'"),
        ("it's", '"it\'s"'),
        (r'x=~"a\\.b"', """r'x=~"a\\\\.b"'"""),
        ("\\d", 'r"\\d"'),
        ("\\", '"\\\\"'),
        ("a\tb\x07\xa0\u202e\U000e0041\ud800", '"a\\tb\\x07\\xa0\\u202e\\U000e0041\\ud800"'),
    ],
)
def test_the_literal_reads_well(text, code):
    assert literal(text) == code


def test_lines_become_a_block():
    assert argument("expr=", "sum(\n  up\n) > 1\n", "    ") == ['    expr="""\\', "sum(", "  up", ") > 1", '""",']
    assert argument("expr=", 'x{a=~"\\\\d"}\n> 1', "    ") == ['    expr=r"""x{a=~"\\\\d"}', '> 1""",']


@pytest.mark.parametrize("text", ["a \nb", "a\tb\nc", 'say """\nb', 'a\nb"', '"\\d\nb'])
def test_lines_that_a_block_would_hide_or_break_become_pieces(text):
    (line,) = argument("", text, "")
    assert line == literal(text) + ","


def test_a_long_text_is_broken_behind_spaces():
    text = "word " * 60
    lines = argument("summary=", text, "    ")
    assert lines[0] == "    summary=("
    assert lines[-1] == "    ),"
    assert all(len(line) <= WIDTH for line in lines)
    assert all(line.startswith('        "word') for line in lines[1:-1])


def test_promql_is_broken_before_operators_outside_of_parentheses():
    side = "sum by (cluster, instance) (rate(some_rather_long_metric_total[5m]))"
    lines = argument("expr=", f"{side} / on (cluster, instance) {side} > 0.5", "    ")
    assert lines[1:-1] == [f'        "{side} "', f'        "/ on (cluster, instance) {side} > 0.5"']


def test_a_long_list_is_broken_behind_its_commas():
    lines = argument("expr=", "sum by (" + ",".join(f"label_{n}" for n in range(40)) + ") (x)", "    ")
    assert all(len(line) <= WIDTH for line in lines)


def test_ruff_leaves_them_as_they_are(tmp_path, reformatted):
    texts = []

    @given(TEXTS)
    def gather(text):
        texts.append(text)

    gather()
    calls = []
    for text in dict.fromkeys(texts):
        nested = argument(f"{literal(text[:20])}: ", text, "        ")
        inner = ["    labels={", *nested, "    },"]
        calls.append("\n".join(["X = f(", *argument("", text, "    "), *argument("expr=", text, "    "), *inner, ")"]))
    path = tmp_path / "module.py"
    path.write_text('"""Doc."""\n\n' + "\n".join(calls) + "\n", encoding="utf-8")
    assert reformatted(path) == ""


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("GPUFull", "GPU_FULL"),
        ("HighGPUMemoryFragmentation", "HIGH_GPU_MEMORY_FRAGMENTATION"),
        ("job:http_requests:rate5m", "JOB_HTTP_REQUESTS_RATE5M"),
        ("kubernetes-apps / general", "KUBERNETES_APPS_GENERAL"),
        ("__x__", "X"),
        ("温度", ""),
        ("class", "CLASS"),
        ("a" * 200, "A" * 60),
    ],
)
def test_constants(name, expected):
    assert constant(name) == expected


def test_each_constant_once():
    constants = Constants("PACK")
    names = ["Down", "down", "Down_2", "Down", "pack", "温", "温", "5xx", ""]
    found = [constants.take(name, "ALERT") for name in names]
    assert found == ["DOWN", "DOWN_2", "DOWN_2_2", "DOWN_3", "PACK_2", "ALERT", "ALERT_2", "ALERT_5XX", "ALERT_3"]


@given(st.lists(st.text(max_size=4)))
def test_constants_are_names_and_differ(names):
    constants = Constants()
    found = [constants.take(name, "RULE", suffix) for name in names for suffix in ("", "_GROUP")]
    assert len(set(found)) == len(found)
    assert all(name.isidentifier() and name.isupper() and not name.startswith("_") for name in found)


@pytest.mark.parametrize(
    ("stem", "expected"),
    [("node-exporter.rules", "node_exporter_rules"), ("class", "rules_class"), ("5xx", "rules_5xx"), ("温", "rules")],
)
def test_module_names(stem, expected):
    assert module_name(stem) == expected
