"""Runbook pages: complete, short, and true to the alerts and metrics that they speak of."""

import dataclasses
import re
import shlex
from collections import Counter
from pathlib import Path

import pytest

from watchkeeper.building import build
from watchkeeper.checks import promql_counter, promql_label, promql_metric, promql_syntax, runbook_page
from watchkeeper.findings import to_text
from watchkeeper.render.runbooks import PLACEHOLDER, facts
from watchkeeper.runbook import SECTIONS
from watchkeeper.subject import Expression, Written
from watchkeeper_fleet.pack import PACK

PAGES = PACK.runbooks
ALERTS = {alert.runbook: alert for alert in PACK.alerts.values()}
EACH = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)

METRICS = {metric.name: metric for metric in PACK.metrics}
SERIES = {name for metric in PACK.metrics for name in metric.series()}
RECORDED = {rule.name for rule in PACK.rules if ":" in rule.name}
KINDS = {name.split("_")[0] for name in METRICS}
# What looks like a metric and is none: labels, resources, and the fields of nvidia-smi.
OTHERS = {
    *(label for metric in PACK.metrics for labels in metric.series().values() for label in labels),
    "gpu_uuid",
    "nvidia_com_gpu",
}
METRIC_LIKE = re.compile(r"(?<![\w:.])[a-z][a-z0-9]*(?:[_:][a-z0-9]+)+(?![\w:])")

FENCED = re.compile(r"^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)
INLINE = re.compile(r"`([^`\n]+)`")
QUERY = re.compile(r"promtool query instant PROMETHEUS '([^']*)'")
CAPITALS = re.compile(r"(?<![\w-])[A-Z]{3,}(?![\w:])")
# Words in capitals that are to be typed as they are: what nvidia-smi -d displays, variables, a series of Prometheus.
TYPED = re.compile(r"-d [A-Z_,]+|PYTORCH_\w+|ALERTS")
# A first command looks; it changes nothing.
KUBECTL = r"kubectl (get|describe|logs|top|rollout history|rollout status) .+"
INSIDE = r"kubectl exec -n \w+ POD( -c CONTAINER)? -- "
READS = re.compile(
    rf"{KUBECTL}|{INSIDE}.+|promtool (query instant|check config) .+|amtool (alert query|config routes test) .+"
    r"|gh (run list|run view|issue list|api rate_limit) .+|curl -(sS|sv) (?!.*(-X|-d|--data|--request)).+"
    r"|(timeout 20 )?nvidia-smi( -L| -q -d [A-Z,_]+| --query-[\w-]+=[\w,.]+ --format=csv)?"
    r"|(sudo )?(dmesg -T|journalctl (-k|-u) .+|py-spy dump --nonblocking --pid PID|ipmitool sdr type \w+)"
    r"|systemctl (--no-pager status|is-active) .+|(cat|ls|df|free|lspci|ps) .+|printenv( .+)?|uptime"
    r"|python -m pip show watchkeeper|(grep|head|tail|sed -n|jq) .+|tail|head"
)


@pytest.fixture(scope="module")
def project():
    """The fleet's project, whatever else may be wrong with it."""
    from watchkeeper.settings import load_settings

    return build(PACK, load_settings(Path(__file__)))[0]


def commands(page):
    (block,) = FENCED.findall(page.sections["First three commands"])
    return [line for line in block.splitlines() if line.strip() and not line.lstrip().startswith("#")]


def prose(page):
    return FENCED.sub("", page.text)


def test_every_alert_has_a_page_and_every_page_is_one_alerts():
    assert Counter(alert.runbook for alert in PACK.alerts.values()) == Counter(page.name for page in PAGES)


def test_no_two_pages_mean_the_same():
    meanings = Counter(page.sections["What it means"] for page in PAGES)
    assert [text for text, count in meanings.items() if count > 1] == []


def test_the_check_finds_nothing_wrong(project):
    found = list(runbook_page.check(project))
    assert not found, "\n".join(map(to_text, found))


@EACH
def test_the_sections_are_all_there_in_order(page):
    assert tuple(page.sections) == SECTIONS
    assert page.text.startswith(f"## {SECTIONS[0]}\n")


@EACH
def test_a_section_begins_with_a_whole_sentence(page):
    for name, text in page.sections.items():
        first = text.removeprefix("```sh\n") if name == "First three commands" else text
        assert re.match(r"[A-Z0-9`{]|kubectl|gh ", first), f"{name}: {first[:40]}"
        if not text.endswith("```"):
            assert text.endswith((".", "?")), f"{name}: {text[-40:]}"


@EACH
def test_a_page_is_short(page):
    lines = page.text.splitlines()
    assert 15 <= len(lines) <= 60
    assert [line for line in lines if len(line) > 120] == []


def steps(script):
    """Yield the commands of a pipeline or list, those that ssh and kubectl exec run included."""
    words = shlex.shlex(script, posix=True, punctuation_chars=True)  # raises where a quote is left open
    words.whitespace_split = True
    step = []
    for word in [*words, ";"]:
        if word not in {"|", ";"}:
            step.append(word)
            continue
        if step[0] == "ssh":
            assert step[1] == "NODE"
            yield from steps(step[2] if len(step) == 3 else shlex.join(step[2:]))
        else:
            yield " ".join(step)
            if step[:2] == ["kubectl", "exec"]:
                yield " ".join(step[step.index("--") + 1 :])
        step = []


@EACH
def test_there_are_three_commands_that_can_be_pasted_and_change_nothing(page):
    lines = commands(page)
    assert len(lines) == 3
    for step in [step for line in lines for step in steps(line)]:
        assert READS.fullmatch(step), step


@EACH
def test_each_command_says_what_a_good_and_a_bad_answer_is(page):
    after = page.sections["First three commands"].rsplit("```", 1)[1]
    answers = re.split(r"^\d+\. ", after, flags=re.MULTILINE)
    assert len(answers) == 4
    assert answers[0].strip() == ""


@EACH
def test_what_is_to_be_filled_in_is_explained_above(page):
    section = page.sections["First three commands"]
    above = section.split("```sh")[0]
    for line in commands(page):
        for word in CAPITALS.findall(TYPED.sub("", line)):
            assert re.search(rf"\b{word}\b", above), f"{word} in: {line}"


@EACH
def test_placeholders_stand_for_something(page):
    known = facts(ALERTS[page.name])
    assert {match[1] for match in PLACEHOLDER.finditer(page.text)} <= set(known)


@EACH
def test_the_team_is_the_alerts_own(page):
    assert "{team}" in page.sections["Tell"] or page.sections["Tell"].startswith("Tell nobody")


@EACH
def test_how_long_the_alert_holds_is_the_alerts_own(page):
    over = " ".join(page.sections["Over when"].split())
    held = ALERTS[page.name].keep_firing_for
    assert re.findall(r"stays on for (\S+)", over) == (["{keep}"] if held else [])
    assert facts(ALERTS[page.name]).get("keep") == (held or None)


@EACH
def test_metrics_that_are_named_exist(page):
    for name in METRIC_LIKE.findall(page.text):
        if ":" in name:
            assert name in RECORDED
        elif name.split("_")[0] in KINDS and name not in OTHERS:
            assert name in SERIES or name in METRICS, name


@EACH
def test_promql_on_the_page_is_proven_as_a_rules_is(page, project):
    texts = [text for line in commands(page) for text in QUERY.findall(line)]
    for text in INLINE.findall(prose(page)):
        names = [name for name in METRIC_LIKE.findall(text) if name in SERIES or name in RECORDED]
        if names and "METRICS" not in text:
            texts.append(text)
    expressions = tuple(Expression(text, f"runbook {page.name}", Written(page.place, text)) for text in texts)
    only = dataclasses.replace(project, expressions=expressions)
    checks = (promql_syntax, promql_metric, promql_label, promql_counter)
    found = [finding for check in checks for finding in check.check(only)]
    assert not found, "\n".join(map(to_text, found))


@EACH
def test_pages_that_it_sends_to_exist(page):
    named = re.findall(r"(?:[Gg]o to|[Ss]ee(?: also)?) ([A-Z]\w+[a-z]\w*[A-Z]\w*)", " ".join(page.text.split()))
    assert set(named) <= {alert.name for alert in PACK.alerts.values()}


@EACH
def test_what_is_rendered_has_no_placeholder_left(page, project):
    text = project.files[f"runbooks/{page.name}.md"]
    alert = ALERTS[page.name]
    body = text.split("```\n", 1)[1]  # after the alert's own expression
    assert not PLACEHOLDER.search(body)
    assert f"# {alert.name}\n" in text
    assert alert.team in text
