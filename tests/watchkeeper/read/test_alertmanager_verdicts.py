"""The same verdict as `amtool check-config` on small configurations, good and bad."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from random import Random

import pytest

from watchkeeper.read.alertmanager import config
from watchkeeper.read.alertmanager.matchers import MatcherError, _classic
from watchkeeper.read.documents import documents
from watchkeeper.read.source import File, Span
from watchkeeper.subject import Text

AMTOOL = shutil.which("amtool")
ROUTE = "route: {receiver: a}\nreceivers: [{name: a}]\n"
PLACES = {
    "root": "route: {receiver: a, CASE}\nreceivers: [{name: a}, {name: b}]\n",
    "matcher": "route:\n  receiver: a\n  routes:\n  - matchers:\n    - 'CASE'\nreceivers: [{name: a}]\n",
    "inhibit": ROUTE + "inhibit_rules: [{CASE}]\n",
    "receiver": "route: {receiver: a}\nreceivers: [{name: a, CASE}]\n",
    "interval": ROUTE + "time_intervals: [{name: t, time_intervals: [{CASE}]}]\n",
    "global": ROUTE + "global: {CASE}\n",
}


def cases() -> list[tuple[str, str]]:
    found = []
    verdict = place = ""
    for line in Path(__file__).with_name("alertmanager_verdicts.txt").read_text().splitlines():
        if line.startswith("## "):
            _, verdict, place = line.split()
        elif line and not line.startswith("# "):
            case = "" if line == "(nothing)" else line
            text = case.replace("\\n", "\n") if place == "file" else PLACES[place].replace("CASE", case)
            found.append((verdict, text))
    return found


CASES = cases()


def test_the_cases_are_there():
    assert {verdict for verdict, _ in CASES} == {"accepted", "refused", "newer"}
    assert len(CASES) > 200
    assert len({text for _, text in CASES}) == len(CASES)


@pytest.mark.parametrize(("verdict", "text"), CASES)
def test_verdict(verdict, text):
    file = File("alertmanager.yml", text)
    (node,) = documents(file) or [None]
    found, findings = config(node, file)
    faults = [finding for finding in findings if finding.severity == "error"]
    assert bool(faults) is (verdict == "refused"), faults
    assert (found is None) is bool(faults)
    for finding in findings:
        assert finding.place
        assert finding.place.line
        assert finding.why
        assert finding.check in {"yaml/key", "yaml/value", "alertmanager/config"}


needs_amtool = pytest.mark.skipif(not AMTOOL, reason="amtool is not here: apt-get install prometheus-alertmanager")


def amtool(folder, texts):
    """Which of these configurations amtool accepts."""
    for number, text in enumerate(texts):
        (folder / f"{number}.yml").write_text(text)
    command = [AMTOOL, "check-config", *(f"{number}.yml" for number in range(len(texts)))]
    run = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    verdicts = re.findall(r"Checking '(\d+).yml'  (SUCCESS|FAILED)", run.stdout)
    assert [int(number) for number, _ in verdicts] == list(range(len(texts)))
    return [verdict == "SUCCESS" for _, verdict in verdicts]


@needs_amtool
def test_amtool_says_the_same(tmp_path):
    # On a null in a list of routes or receivers, 0.25 panics.
    known = [(verdict, text) for verdict, text in CASES if not re.search(r"(routes: \[|, )null\]", text)]
    accepted = amtool(tmp_path, [text for _, text in known])
    assert [one for one, said in zip(known, accepted, strict=True) if said is not (one[0] == "accepted")] == []


def is_classic(text):
    try:
        _classic(Text(text, Span(File("x", text), 0, len(text))))
    except MatcherError:
        return False
    return True


@needs_amtool
def test_the_classic_syntax_is_that_of_amtool(tmp_path):
    random = Random(3)
    pieces = ["a", "b", "=", "=", "!=", "=~", "!~", '"', '"', "\\", ",", "{", "}", " ", "x.*", "(", ")", "é", ":", "'"]
    starts = ["", "a=", "a=~", 'a="', "{a!=", 'a="b",']
    texts = [random.choice(starts) + "".join(random.choices(pieces, k=random.randint(1, 9))) for _ in range(1500)]
    # It puts a regular expression between parentheses unseen, and so takes `a)(b`; we do not.
    texts = [text for text in texts if not re.search(r"\).*\(", text)]
    written = [PLACES["matcher"].replace("CASE", text.replace("'", "''")) for text in texts]
    taken = [is_classic(text) for text in texts]
    assert 200 < sum(taken) < len(texts) - 200
    said = amtool(tmp_path, written)
    assert [text for text, ours, theirs in zip(texts, taken, said, strict=True) if ours is not theirs] == []
