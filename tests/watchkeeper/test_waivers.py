"""Waivers beside definitions and in comments of rule files."""

import re
import textwrap
import time
from datetime import date
from pathlib import Path
from types import SimpleNamespace

import pytest

from watchkeeper import Alert, Group, Pack, Recording, Severity, Waiver
from watchkeeper.building import build
from watchkeeper.checks import ids
from watchkeeper.checks.promql_syntax import check as syntax_check
from watchkeeper.fields import FieldError
from watchkeeper.findings import Finding, Place
from watchkeeper.read.comments import comments
from watchkeeper.read.documents import documents
from watchkeeper.read.source import File, Scalar
from watchkeeper.settings import Settings
from watchkeeper.subject import Expression
from watchkeeper.waivers import Waived
from watchkeeper.waivers.comments import of_file
from watchkeeper.waivers.held import apply, of_definitions

PAGES = Path(__file__).parents[2] / "docs"
TODAY = date(2026, 5, 17)
KNOWN = ids()


def rules_of(file):
    """Yield the nodes of the groups of a rule file, each with those of its rules."""
    for _, groups in (pair for root in documents(file) for pair in root.value):
        for group in groups.value:
            keys = {key.value: value for key, value in group.value}
            yield group, keys["rules"].value


def lines(node):
    """Return a mapping's lines as the parser tells them: up to where the next thing begins."""
    return node.start_mark.line + 1, node.end_mark.line + (node.end_mark.column > 0)


def scopes_of(file):
    return [lines(node) for group, rules in rules_of(file) for node in (group, *rules)]


def held_of(text):
    """Return the waivers of a rule file's text, and the findings about them."""
    file = File("rules.yaml", text)
    return of_file(file, comments(file), scopes_of(file), KNOWN)


def waived_lines(text, check="promql/counter"):
    """Return the lines on which a finding of the check would be waived, given one on each line."""
    held, findings = held_of(text)
    assert findings == []
    every = [Finding(check, "wrong", Place("rules.yaml", number)) for number in range(1, text.count("\n") + 1)]
    return [finding.place.line for finding, _ in apply(every, held, TODAY)[1]]


RULES = """\
groups:
- name: g
  interval: 15s
  rules:
  - alert: A
    expr: |
      rate(a[5m])
      > 3
    for: 5m

  - alert: B
    expr: b
    for: 5m
  - record: c
    expr: c
- name: h
  rules:
  - record: d
    expr: d
"""
ALLOW = "# watchkeeper: allow promql/counter because the exporter mislabels it"


def with_line(number, line):
    """Return RULES with a line more, which becomes the one of that number."""
    rows = RULES.splitlines()
    return "\n".join([*rows[: number - 1], line, *rows[number - 1 :], ""])


def with_end(number, text):
    """Return RULES with more at the end of a line."""
    rows = RULES.splitlines()
    rows[number - 1] += f" {text}"
    return "\n".join([*rows, ""])


def test_the_scopes_that_tests_use():
    assert scopes_of(File("rules.yaml", RULES)) == [(2, 15), (5, 11), (11, 14), (14, 15), (16, 19), (18, 19)]


@pytest.mark.parametrize(
    ("text", "waived"),
    [
        (with_line(5, f"  {ALLOW}"), range(5, 11)),  # above the rule
        (with_line(5, f"  # about A\n  {ALLOW}\n  # more about A"), range(6, 13)),
        (with_line(11, f"  {ALLOW}"), range(11, 15)),  # above the second one, and not within the first
        (with_line(12, f"    {ALLOW}"), range(11, 15)),  # within it
        (with_end(5, ALLOW), range(5, 10)),  # at the end of its first line
        (with_end(9, ALLOW), range(5, 10)),  # and of its last
        (with_end(13, ALLOW), range(11, 14)),
        (with_end(6, ALLOW), range(5, 10)),  # behind the mark of a block
        (with_line(14, ALLOW), range(14, 17)),  # above the third, without a blank line
        (with_end(2, ALLOW), range(2, 16)),  # for the group
        (with_line(2, ALLOW), range(2, 17)),
        (with_line(16, ALLOW), range(16, 21)),
        (with_line(3, f"  {ALLOW}"), range(2, 17)),
        (with_line(1, f"# by hand\n\n{ALLOW.replace('allow', 'allow-file')}\n---"), range(1, 24)),
        (with_line(1, f"{ALLOW.replace('allow', 'allow-file')}"), range(1, 21)),
    ],
)
def test_where_a_comment_waives(text, waived):
    assert waived_lines(text) == list(waived)


def test_a_comment_waives_nothing_of_other_checks():
    assert waived_lines(with_end(5, ALLOW), "promql/metric") == []


@pytest.mark.parametrize(
    "text",
    [
        'groups: [{name: g, rules: [{record: a, expr: "1"}]}] # watchkeeper: allow promql/counter because x\n',
        f"groups:\n- name: g\n  rules:\n  -\n    {ALLOW}\n    record: a\n    expr: a\n",
        f"groups:\n- name: g\n  rules:\n  {ALLOW}\n  -\n    record: a\n    expr: a\n",
    ],
)
def test_other_ways_to_write_a_rule(text):
    number = next(index for index, line in enumerate(text.splitlines(), 1) if "record" in line)
    assert number in waived_lines(text)


def test_what_only_looks_like_a_waiver():
    text = RULES.replace("> 3", f"> 3\n      {ALLOW}").replace("expr: b", f"expr: '{ALLOW}'")
    assert held_of(text) == ([], [])
    assert held_of(with_line(5, "# Watchkeeper made this; it may allow promql/counter because of that")) == ([], [])


@pytest.mark.parametrize(
    ("comment", "word"),
    [
        ("#watchkeeper:allow promql/counter because x", "x"),
        ("#   watchkeeper:   allow   promql/counter   because   x  y  ", "x  y"),
        ("# watchkeeper: allow promql/counter because it is because of that", "it is because of that"),
        ("# watchkeeper: allow promql/counter until 2026-05-17 because x", "x"),
    ],
)
def test_ways_to_write_a_waiver(comment, word):
    (held,), findings = held_of(with_line(5, comment))
    assert findings == []
    assert held.waiver.reason == word
    assert (held.waiver.place.line, held.waiver.place.column) == (5, 1)


@pytest.mark.parametrize(
    ("comment", "message"),
    [
        ("watchkeeper:", "the comment says nothing"),
        ("watchkeeper: alow a/b because x", '"alow" is nothing that a comment can say; did you mean "allow"?'),
        ("watchkeeper: ignore promql/counter because x", '"ignore" is nothing that a comment can say'),
        ("watchkeeper: allow", "the waiver names no check"),
        ("watchkeeper: allow because x", "the waiver names no check"),
        ("watchkeeper: allow promql/counter", "the waiver of promql/counter has no reason"),
        ("watchkeeper: allow promql/counter because", "the waiver of promql/counter has no reason"),
        ("watchkeeper: allow promql/counter until 2027-01-31", "the waiver of promql/counter has no reason"),
        (
            "watchkeeper: allow promql/counter promql/metric because x",
            '"promql/metric" stands where "until" and a date, or "because", is expected',
        ),
        (
            "watchkeeper: allow promql/conter because x",
            'no check is called "promql/conter"; did you mean "promql/counter"?',
        ),
        ("watchkeeper: allow promql/* because x", 'no check is called "promql/*"'),
        ("watchkeeper: allow waiver/unused because x", 'no check is called "waiver/unused"'),
        ("watchkeeper: allow promql/counter until tomorrow because x", '"tomorrow" is no date'),
        ("watchkeeper: allow promql/counter until 2027-02-30 because x", '"2027-02-30" is no date'),
        ("watchkeeper: allow promql/counter until 20270131 because x", '"20270131" is no date'),
        ("watchkeeper: allow promql/counter until \uff12027-01-31 because x", '"\uff12027-01-31" is no date'),
        ("watchkeeper: allow-file promql/counter because x", "allow-file holds for the file"),
    ],
)  # fmt: skip
def test_what_is_no_waiver(comment, message):
    held, (finding,) = held_of(with_line(5, f"  # {comment}"))
    assert held == []
    assert finding.check == "waiver/syntax"
    assert finding.severity == "error"
    assert finding.message.startswith(message)
    assert (finding.place, finding.excerpt.text[finding.excerpt.start :][:3]) == (Place("rules.yaml", 5, 3), "# w")
    assert finding.why
    assert finding.fix


@pytest.mark.parametrize(
    "text",
    [
        with_line(1, ALLOW),  # above all of it, and not allow-file
        with_line(10, f"\n    {ALLOW}\n"),  # between two rules: about which?
        with_line(20, f"\n{ALLOW}"),
    ],
)
def test_a_waiver_at_no_rule_is_told(text):
    held, (finding,) = held_of(text)
    assert held == []
    assert finding.message == "the waiver stands at no rule"


def test_a_file_without_waivers_is_not_looked_at():
    class Unread:
        name = "rules.yaml"

    assert of_file(Unread(), [SimpleNamespace(text="about A")], [(1, 2)], KNOWN) == ([], [])


@pytest.mark.parametrize(
    ("until", "reported"),
    [
        ("", []),
        ("until 2026-05-17 ", []),
        ("until 2026-05-16 ", ["promql/counter", "waiver/expired"]),
    ],
)
def test_a_waiver_holds_up_to_its_last_day(until, reported):
    held, _ = held_of(with_end(5, ALLOW.replace("because", f"{until}because")))
    finding = Finding("promql/counter", "wrong", Place("rules.yaml", 7))
    kept, waived = apply([finding], held, TODAY)
    assert sorted(one.check for one in kept) == reported
    assert waived == ([] if reported else [Waived(finding, held[0].waiver)])
    if reported:
        over = next(one for one in kept if one.check == "waiver/expired")
        assert over.message == "the waiver of promql/counter expired on 2026-05-16"
        assert (over.severity, over.place.line) == ("warning", 5)


@pytest.mark.parametrize("until", ["", "until 2020-01-01 "])
def test_a_waiver_of_nothing_is_told(until):
    held, _ = held_of(with_end(5, ALLOW.replace("because", f"{until}because")))
    other = Finding("promql/counter", "wrong", Place("rules.yaml", 12))
    kept, waived = apply([other], held, TODAY)
    assert waived == []
    assert [finding.check for finding in kept] == ["waiver/unused", "promql/counter"]
    assert kept[0].severity == "warning"
    assert kept[0].message == "there is no finding of promql/counter to waive"


@pytest.mark.parametrize(
    ("check", "line", "told"),
    [
        ("promql/syntax", 7, False),
        ("yaml/value", 7, False),
        ("yaml/parse", 19, False),
        ("promql/syntax", 12, True),
        ("yaml/value", 12, True),
        ("promql/metric", 7, True),
    ],
)
def test_where_a_rule_could_not_be_read_its_waiver_may_be_of_use(check, line, told):
    held, _ = held_of(with_end(5, ALLOW))
    kept, _ = apply([Finding(check, "wrong", Place("rules.yaml", line))], held, TODAY)
    assert ("waiver/unused" in [finding.check for finding in kept]) is told


def test_a_finding_about_the_file_is_waived_by_what_holds_for_the_file():
    finding = Finding("promql/counter", "wrong", Place("rules.yaml"))
    held, _ = held_of(with_line(1, ALLOW.replace("allow", "allow-file")))
    assert apply([finding], held, TODAY) == ([], [Waived(finding, held[0].waiver)])
    held, _ = held_of(with_end(2, ALLOW))
    assert finding in apply([finding], held, TODAY)[0]


def test_other_files_and_findings_of_no_file_are_not_waived():
    held, _ = held_of(with_line(1, ALLOW.replace("allow", "allow-file")))
    findings = [Finding("promql/counter", "wrong", Place("other.yaml", 5)), Finding("promql/counter", "wrong")]
    kept, waived = apply(findings, held, TODAY)
    assert waived == []
    assert set(findings) < set(kept)


def test_many_findings_and_waivers():
    number = 10_000
    rules = "".join(f"  - record: r{n} {ALLOW}\n    expr: x\n" for n in range(number))
    text = f"groups:\n- name: g\n  rules:\n{rules}"
    file = File("rules.yaml", text)
    found, scopes = comments(file), [(4 + 2 * n, 5 + 2 * n) for n in range(number)]
    findings = [Finding("promql/counter", "wrong", Place("rules.yaml", 5 + 2 * n)) for n in range(number)]
    start = time.process_time()
    held, faults = of_file(file, found, scopes, KNOWN)
    kept, waived = apply(findings, held, TODAY)
    assert (faults, kept, len(waived)) == ([], [], number)
    assert time.process_time() - start < 2


# Definitions.

WAIVED = Waiver("rule/name", reason="grown")


def apply_to(*groups, loose=(), folder):
    """Return the findings of a pack and its waivers: those kept as `check message`, and those waived."""
    pack = Pack(groups=groups, loose=loose)
    _, findings = build(pack, Settings(root=folder))
    held, faults = of_definitions(pack, KNOWN)
    kept, waived = apply([*findings, *faults], held, TODAY)
    of_ours = [
        finding for finding in kept if finding.check in ("rule/name", "promql/syntax") or "waiver/" in finding.check
    ]
    return [f"{finding.check} {finding.message}" for finding in of_ours], [finding.message for finding, _ in waived]


def test_a_rule_with_a_waiver(tmp_path):
    one = Recording("a b", "1", waivers=(WAIVED,))
    two = Recording("c d", "1")
    kept, waived = apply_to(Group("g", [one, two]), folder=tmp_path)
    assert [line for line in kept if "a b" in line] == []
    assert len([line for line in kept if "c d" in line]) == 1
    assert len(waived) == 1


def test_a_group_with_a_waiver(tmp_path):
    one = Recording("a b", "1")
    group = Group("g", [one, Recording("c d", "1")], waivers=[WAIVED])
    kept, waived = apply_to(group, folder=tmp_path)
    assert (kept, len(waived)) == ([], 2)


def test_a_group_in_a_group_brings_its_waivers(tmp_path):
    one = Recording("a b", "1")
    inner = Group("inner", [one], waivers=[WAIVED])
    group = Group("g", [inner, Recording("c d", "1")])
    assert [rule.waivers for rule in group.rules] == [(WAIVED,), ()]
    kept, waived = apply_to(group, folder=tmp_path)
    assert (len(kept), len(waived)) == (1, 1)


def test_rules_made_on_one_line_are_told_apart(tmp_path):
    def rule(name, *waivers):
        return Recording(name, "sum by (", waivers=waivers)

    waiver = Waiver("promql/syntax", reason="of another server")
    group = Group("g", [rule("a:b:c", waiver), rule("a:b"), rule("a:b:c:d")])
    assert len({one.place for one in group.rules}) == 1
    kept, waived = apply_to(group, folder=tmp_path)
    assert [line.partition(": ")[0] for line in kept] == [
        "promql/syntax recording rule a:b", "promql/syntax recording rule a:b:c:d",
    ]  # fmt: skip
    assert [line.partition(": ")[0] for line in waived] == ["recording rule a:b:c"]


def test_a_shared_waiver_is_of_use_where_one_rule_needs_it(tmp_path):
    one = Recording("a b", "1", waivers=[WAIVED])
    two = Recording("a:b:c", "1", waivers=[WAIVED])
    assert apply_to(Group("g", [one, two]), folder=tmp_path)[0] == []
    kept, _ = apply_to(Group("g", [two]), folder=tmp_path)
    assert kept == ["waiver/unused there is no finding of rule/name to waive"]


def test_a_changed_rule_keeps_its_waivers():
    alert = Alert("A", expr="sum by (", severity=Severity.INFO, team="t", summary="s", waivers=[WAIVED])
    assert alert.replace(team="u").waivers == (WAIVED,)


def test_a_rule_in_no_group_has_its_waivers(tmp_path):
    loose = Recording("a:b:c", "1", waivers=[Waiver("rule/group", reason="put there by another pack")])
    kept, waived = apply_to(loose=[loose], folder=tmp_path)
    assert (kept, len(waived)) == ([], 1)


@pytest.mark.parametrize(
    ("waiver", "message"),
    [
        (Waiver("rule/nam", reason="x"), 'no check is called "rule/nam"; did you mean "rule/name"?'),
        (Waiver("rule/name", reason=" "), "the waiver of rule/name has no reason"),
        (Waiver("rule/name", reason="x", until="31.1.2027"), '"31.1.2027" is no date'),
        (Waiver("waiver/unused", reason="x"), 'no check is called "waiver/unused"'),
    ],
)
def test_faults_of_waivers_are_told_once(waiver, message, tmp_path):
    one = Recording("a b", "1", waivers=[waiver])
    two = Recording("c d", "1", waivers=[waiver])
    kept, waived = apply_to(Group("g", [one, two]), folder=tmp_path)
    assert [line for line in kept if "waiver/" in line] == [f"waiver/syntax {message}"]
    assert waived == []


def test_a_waiver_of_the_wrong_type_is_told_where_it_is_made():
    with pytest.raises(FieldError, match="waiver: until must be a string, not date"):
        Waiver("rule/name", reason="x", until=TODAY)
    with pytest.raises(FieldError, match="recording rule a: waivers must hold Waiver only, not str"):
        Recording("a", "1", waivers=["rule/name"])
    with pytest.raises(FieldError, match="group g: waivers must be a list or tuple of Waiver, not Waiver: write"):
        Group("g", [], waivers=WAIVED)


def test_a_waiver_is_a_value():
    assert Waiver("a/b", reason="x") == Waiver("a/b", reason="x")
    assert hash(Recording("a", "1", waivers=[WAIVED]))
    assert WAIVED.place.file == __file__


# The pages.

BLOCK = re.compile(r"^## (Bad|Good)\n.*?^```yaml\n(.*?)^```", re.MULTILINE | re.DOTALL)


def findings_of(text):
    """Return what is reported of a rule file's text: its expressions' syntax, and waivers."""
    file = File("rules.yaml", text)
    held, faults = of_file(file, comments(file), scopes_of(file), KNOWN)
    nodes = [
        value
        for _, rules in rules_of(file)
        for rule in rules
        for key, value in rule.value
        if key.value == "expr"
    ]  # fmt: skip
    expressions = [
        Expression(
            node.value, "a rule", Scalar(file, node.start_mark.index, node.end_mark.index, node.value, node.style)
        )
        for node in nodes
    ]
    found = list(syntax_check(SimpleNamespace(expressions=expressions)))
    return apply([*found, *faults], held, TODAY)[0]


@pytest.mark.parametrize("check", ["waiver/expired", "waiver/syntax", "waiver/unused"])
def test_the_pages_say_the_truth(check):
    page = (PAGES / "checks" / f"{check.replace('/', '-')}.md").read_text()
    assert page.startswith(f"# {check}\n")
    examples = dict(BLOCK.findall(page))
    assert check in [finding.check for finding in findings_of(examples["Bad"])]
    assert findings_of(examples["Good"]) == []


def test_the_page_about_waivers_says_the_truth():
    page = (PAGES / "waivers.md").read_text()
    (text,) = re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)
    held, faults = held_of(text)
    assert faults == []
    assert len(held) == text.count("watchkeeper:")
    (code,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    names = {}
    exec(textwrap.dedent(code), names)
    assert of_definitions(Pack(groups=(Group("g", [names["IDLE"]]),)), KNOWN)[1] == []
