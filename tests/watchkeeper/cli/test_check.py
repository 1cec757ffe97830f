"""`watchkeeper check PATH`: what is read, and what is said of it."""

import json
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest

BACKGROUND = Path(__file__).parents[4] / "shared/background/rc-9902-post-mortem.txt"
GOOD = """\
groups:
- name: gpu
  rules:
  - alert: GPUDown
    expr: up{job="gpu"} == 0
    for: 5m
    labels: {severity: warning}
    annotations: {summary: "{{ $labels.instance }} is down"}
"""
BAD = GOOD.replace("== 0", "==")
DASHBOARD = {
    "title": "GPUs",
    "uid": "gpus",
    "schemaVersion": 39,
    "panels": [
        {
            "id": 1,
            "type": "timeseries",
            "title": "Up",
            "datasource": {"type": "prometheus"},
            "targets": [{"refId": "A", "expr": "sum(up"}],
        },
    ],
}


def firsts(output):
    """Return the first line of each finding."""
    return [line for line in output.splitlines() if line and not line.startswith(" ")]


def places(output):
    """Return place and id of each finding."""
    return [match.groups() for match in re.finditer(r"^(\S+): \w+\[([\w/-]+)\]", output, re.MULTILINE)]


def test_nothing_to_say(folder):
    folder.write(a=GOOD)
    done = folder.check("a.yml")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "1 rule: fine\n")


def test_a_finding_has_place_excerpt_and_reason(folder):
    folder.write(a=BAD)
    done = folder.check("a.yml")
    assert done.returncode == 1
    assert done.stderr == "1 error\n"
    first, source, caret, why = done.stdout.splitlines()
    assert first.startswith("a.yml:5:")
    assert "error[promql/syntax] alert GPUDown: " in first
    assert source.strip() == 'expr: up{job="gpu"} =='
    assert set(caret.strip()) == {"^"}
    assert why == "  why: Prometheus refuses the file"


def test_warnings_and_notes_alone_do_not_fail(folder):
    folder.write(a=GOOD.replace("    labels: {severity: warning}\n", ""))
    done = folder.check("a.yml")
    assert (done.returncode, done.stderr) == (0, "1 note\n")


def test_formats(folder):
    folder.write(a=BAD)
    (one,) = json.loads(folder.check("a.yml", "--format", "json").stdout)
    assert (one["file"], one["line"], one["check"], one["severity"]) == ("a.yml", 5, "promql/syntax", "error")
    assert folder.check("a.yml", "--format", "github").stdout.startswith("::error file=a.yml,line=5,")
    sarif = json.loads(folder.check("a.yml", "--format", "sarif").stdout)
    assert [result["ruleId"] for result in sarif["runs"][0]["results"]] == ["promql/syntax"]
    assert folder.check("a.yml", "--format", "xml").returncode == 2
    folder.write(a=GOOD)
    assert json.loads(folder.check("a.yml", "--format", "json").stdout) == []


def test_a_folder_is_read_but_for_what_is_others(folder):
    for name in ("deep/er/a.yaml", "b.rules", ".hidden/c.yml", ".d.yml", "node_modules/e.yml", "env/f.yml", "g.txt"):
        path = folder.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(BAD)
    (folder.path / "env/pyvenv.cfg").write_text("")
    (folder.path / "templates").mkdir()
    (folder.path / "templates/chart.yaml").write_text("{{- if .Values.x }}\nkind: ConfigMap\n{{- end }}\n")
    (folder.path / "compose.yml").write_text("services: {a: {image: b}}\n")
    (folder.path / "package.json").write_text('{"name": "x"}')
    (folder.path / "d.json").write_text(json.dumps(DASHBOARD))
    done = folder.check(".")
    assert [place.split(":")[0] for place, check in places(done.stdout) if check == "promql/syntax"] == [
        "b.rules",
        "d.json",
        "deep/er/a.yaml",
    ]
    assert {check for _, check in places(done.stdout) if check.startswith(("yaml/", "json/"))} == set()


def test_what_looks_like_rules_and_is_no_yaml_is_told_in_a_folder_too(folder):
    folder.write(a=GOOD + "\t- alert: B\n")
    assert folder.check(".").returncode == 1


@pytest.mark.parametrize("text", ["services: {}\n", "just text\n", "{}", "[]", "", '{"a": 1}'])
def test_a_named_file_of_another_kind_is_told(folder, text):
    (folder.path / "a.txt").write_text(text)
    done = folder.check("a.txt")
    assert done.returncode == 1 or "warning" in done.stdout
    assert len(firsts(done.stdout)) == 1


def test_nothing_to_check(folder):
    done = folder.check(".")
    assert done.returncode == 1
    assert firsts(done.stdout) == [".: error[yaml/kind] there is nothing to check"]


def test_what_is_not_there_is_wrong_usage(folder):
    folder.write(a=BAD)
    done = folder.check("a.yml", "nosuch.yml")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.splitlines()[-1] == "Error: Invalid value for PATH: there is no nosuch.yml"
    assert folder.check("a.yml", "--definitions", "x:PACK").returncode == 2
    assert folder.check("--metrics", "x").returncode == 2


def test_standard_input(folder):
    done = folder.check("-", text=BAD)
    assert done.returncode == 1
    assert firsts(done.stdout)[0].startswith("-:5:")
    assert folder.check("-", text=GOOD).stderr == "1 rule: fine\n"
    assert folder.check("-", text=GOOD).stderr == "1 rule: fine\n"  # nothing is remembered of it
    assert folder.check("-", text=BAD).returncode == 1
    assert places(folder.check("-", text=json.dumps(DASHBOARD)).stdout)[0][1] == "promql/syntax"
    assert folder.check("-", text=b"\xff\xfe").returncode == 1
    assert folder.check("-").returncode == 1


def test_a_file_is_read_once(folder):
    folder.write(a=GOOD)
    (folder.path / "b.yml").symlink_to("a.yml")
    (folder.path / "loop").symlink_to(".")
    for arguments in (["a.yml", "a.yml", "./a.yml"], [".", "a.yml"], [".", "."], ["b.yml", "a.yml"], ["loop"]):
        assert folder.check(*arguments).stderr == "1 rule: fine\n"
    (folder.path / "c.yml").symlink_to("c.yml")
    assert "Too many levels of symbolic links" in folder.check("c.yml").stdout


def test_anywhere(folder):
    (folder.path / "here").mkdir()
    folder.write(a=BAD)
    assert firsts(folder.check("../a.yml", below="here").stdout)[0].startswith("../a.yml:5:")
    assert firsts(folder.check(folder.path / "a.yml").stdout)[0].startswith("a.yml:5:")


def test_settings_of_the_working_directory_hold(folder):
    (folder.path / "pyproject.toml").write_text("[tool.watchkeeper]\nteams = 5\n")
    folder.write(a=GOOD)
    done = folder.check("a.yml")
    assert done.returncode == 1
    assert "error[settings/value]" in done.stderr


@pytest.mark.parametrize("name", [b"new\nline.yml", b"\xff.yml", b"--", b"-x.yml", b"\x1b[31m.yml", "é ü.yml".encode()])
def test_odd_names(folder, name):
    (Path(os.fsdecode(os.fsencode(folder.path) + b"/" + name))).write_text(BAD)
    done = folder.run("check", "--", name)
    assert done.returncode == 1
    assert len(firsts(done.stdout)) == 1
    assert "\x1b" not in done.stdout
    (one,) = json.loads(folder.run("check", "--format", "json", "--", name).stdout)
    assert one["line"] == 5


def nested(depth):
    return "groups: " + "[" * depth


BOMB = "groups:\n- &a {name: x, rules: []}\n" + "".join(
    f"- &{chr(98 + n)} [{', '.join([f'*{chr(97 + n)}'] * 10)}]\n" for n in range(9)
)
WRONG = [
    ("groups: [\n", "1:10", "yaml/parse"),
    ("groups:\n\t- name: a\n", "2:1", "yaml/parse"),
    (BOMB, "", "yaml/parse"),
    (nested(100_000), "", "yaml/parse"),
    (GOOD + "---\n" + GOOD, "10:1", "yaml/value"),
    (GOOD + "    for: 5m\n", "9:5", "yaml/key"),
    ("groups:\n- name: a\n  rules:\n  - [alert, b]\n", "4:5", "yaml/value"),
    ("groups:\n- name: a\n  rules:\n  - alert: a\n    expr: " + "(" * 100_000 + "\n", "", "promql/syntax"),
    (b"groups:\n- name: a\xff\n", "2:10", "yaml/parse"),
    (b"\x7fELF\x01\x01\0\0", "1:7", "yaml/parse"),
    (b"groups: \x07\n", "1:9", "yaml/parse"),
]


@pytest.mark.parametrize(("content", "place", "check"), WRONG, ids=range(len(WRONG)))
def test_bad_input_is_one_line_at_its_place(folder, content, place, check):
    (folder.path / "a.yml").write_bytes(content if isinstance(content, bytes) else content.encode())
    done = folder.check("a.yml")
    assert done.returncode == 1
    (error,) = [line for line in firsts(done.stdout) if "error[" in line]
    assert error.startswith(f"a.yml:{place}")
    assert f"error[{check}]" in error
    assert len(done.stdout) < 3000


def test_a_huge_file_and_what_is_no_file(folder):
    with (folder.path / "huge.yml").open("wb") as file:
        file.truncate(100 << 20)
    done = folder.check("huge.yml")
    assert done.returncode == 1
    assert firsts(done.stdout) == ["huge.yml: error[yaml/parse] the file is larger than 64 MiB: 100 MiB"]
    os.mkfifo(folder.path / "pipe.yml")
    assert firsts(folder.check("pipe.yml").stdout) == ["pipe.yml: error[yaml/parse] this is a pipe"]
    done = folder.shell("head -c 100000000 /dev/zero | watchkeeper check -")
    assert firsts(done.stdout) == ["-: error[yaml/parse] the file is larger than 64 MiB"]


def test_streams_that_can_not_be_written(folder):
    folder.write(**{f"a{n}": BAD for n in range(300)})
    done = folder.shell("watchkeeper check . | head -1; echo ${PIPESTATUS[0]}")
    assert "Traceback" not in done.stderr
    assert done.stdout.splitlines()[0].startswith("a0.yml:5:")
    done = folder.shell("watchkeeper check a1.yml > /dev/full")
    assert done.returncode == 1
    assert done.stderr.endswith("watchkeeper: the output can't be written: No space left on device\n")
    for line in (
        "watchkeeper check a1.yml >&-",
        "watchkeeper check a1.yml 2>&-",
        "watchkeeper check a1.yml <&- >&- 2>&-",
    ):
        done = folder.shell(line)
        assert (done.returncode, "Traceback" in done.stderr) == (1, False)
    done = folder.shell("PYTHONIOENCODING=ascii watchkeeper check a1.yml")
    assert done.returncode == 1


def test_a_working_directory_that_is_gone(folder):
    folder.write(a=GOOD)
    done = folder.shell("mkdir x; cd x; rmdir ../x; watchkeeper check ../a.yml")
    assert done.returncode in {1, 2}
    assert "Traceback" not in done.stderr


def in_a_terminal(folder, *arguments, **environment):
    """Run with all streams on a pseudo-terminal, and return what was printed there."""
    leader, follower = pty.openpty()
    process = subprocess.Popen(
        [Path(sys.executable).with_name("watchkeeper"), *arguments],
        cwd=folder.path,
        env={**folder.environment, "TERM": "xterm", **environment},
        stdin=subprocess.DEVNULL,
        stdout=follower,
        stderr=follower,
    )
    os.close(follower)
    output = b""
    try:
        while piece := os.read(leader, 65536):
            output += piece
    except OSError:  # the last process on it has closed it
        pass
    os.close(leader)
    process.wait(timeout=60)
    return output.decode()


def test_colour_on_a_terminal_only(folder):
    folder.write(a=BAD)
    assert "\x1b[31m" in in_a_terminal(folder, "check", "a.yml")
    assert "\x1b" not in in_a_terminal(folder, "check", "a.yml", NO_COLOR="1")
    assert "\x1b" not in in_a_terminal(folder, "check", "a.yml", TERM="dumb")
    assert "\x1b" not in folder.check("a.yml").stdout
    assert "\x1b[31m" in in_a_terminal(folder, "check", "a.yml")  # what was said without is not said again


SUM = "sum(torch_cuda_memory_reserved_bytes)"
EXPR = f"({SUM} - sum(torch_cuda_memory_allocated_bytes)) / {SUM} > 0.3"
OUTAGE = f"""\
groups:
- name: AI_Inference_Alerts
  rules:
  - alert: HighGPUMemoryFragmentation
    expr: {EXPR}
    for: 5m
    labels: {{severity: critical}}
    annotations:
      summary: "GPU Memory Fragmentation too high on {{{{ $labels.instance }}}}"
"""
BLOCKS = [
    (OUTAGE, "5:12", "9:65"),
    (OUTAGE.replace("expr: ", "expr: |\n      "), "6:8", "10:65"),
    (OUTAGE.replace("expr: ", "expr: >-\n      ").replace(" - sum", "\n      - sum"), "6:8", "11:65"),
    (OUTAGE.replace(EXPR, f"'{EXPR}'"), "5:13", "9:65"),
    (OUTAGE.replace('"GPU', ">\n        GPU").replace('}}"', "}}"), "5:12", "10:57"),
    (OUTAGE.replace('"GPU', "|\n        GPU\n        ").replace('}}"', "}}"), "5:12", "11:54"),
]


@pytest.mark.parametrize(("text", "identity", "label"), BLOCKS, ids=range(len(BLOCKS)))
def test_the_alerts_of_the_outage(folder, text, identity, label):
    folder.write(a=text)
    done = folder.check("a.yml")
    assert done.returncode == 1
    found = {check: place for place, check in places(done.stdout)}
    assert found["alert/identity"] == f"a.yml:{identity}"
    assert found["template/label"] == f"a.yml:{label}"


def test_the_post_mortem_as_it_was_written(folder):
    if not BACKGROUND.is_file():
        pytest.skip("the post-mortem is not here")
    lines = BACKGROUND.read_text().splitlines()
    begin = next(n for n, line in enumerate(lines) if line.startswith("groups:"))
    indents = {"groups:": 0, "- name:": 0, "rules:": 2, "- alert:": 2, "summary:": 6, "description:": 6, "severity:": 6}
    text = ""
    for line in lines[begin:]:
        if line.startswith("VII."):
            break
        indent = next((spaces for start, spaces in indents.items() if line.startswith(start)), 4)
        text += f"{' ' * indent}{line}\n"
    folder.write(a=text)
    done = folder.check("a.yml")
    found = {check: place for place, check in places(done.stdout)}
    assert found["alert/identity"] == "a.yml:5:12"
    assert found["template/label"] == "a.yml:10:65"


def git(folder, *arguments):
    command = ["git", "-c", "user.name=a", "-c", "user.email=a@b", *arguments]
    subprocess.run(command, cwd=folder.path, check=True, capture_output=True, env=folder.environment)


def test_only_what_changed_is_reported(folder):
    two = BAD + GOOD.partition("rules:\n")[2].replace("GPUDown", "Other").replace("== 0", "== (")
    folder.write(a=two, b=BAD)
    git(folder, "init", "-q")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "a")
    done = folder.check(".", "--changed-since", "HEAD")
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr == "3 rules: nothing to report of what changed since HEAD\n"
    folder.write(a=two.replace("  - alert: Other", "  # a word about it\n  - alert: Other"))
    (one,) = firsts(folder.check(".", "--changed-since", "HEAD").stdout)
    assert one.startswith("a.yml:11:")
    assert len([line for line in firsts(folder.check(".").stdout) if "error[" in line]) == 3
    done = folder.check(".", "--changed-since", "nosuch")
    assert (done.returncode, done.stdout) == (2, "")
    assert "Git knows no revision nosuch" in done.stderr


def test_a_rule_that_breaks_by_what_another_became_is_known(folder):
    record = "groups:\n- name: r\n  rules:\n  - record: job:up:sum\n    expr: sum by (job) (up)\n"
    alert = GOOD.replace('up{job="gpu"}', "job:up:sum").replace("instance", "job")
    folder.write(a=record, b=alert)
    git(folder, "init", "-q")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "a")
    assert folder.check(".").returncode == 0
    folder.write(b=alert.replace("$labels.job", "$labels.instance"))
    assert places(folder.check(".", "--changed-since", "HEAD").stdout) == [("b.yml:8:40", "template/label")]


def test_changes_outside_of_a_repository(folder):
    folder.write(a=BAD)
    done = folder.check("a.yml", "--changed-since", "HEAD", environment={"GIT_CEILING_DIRECTORIES": "/"})
    assert done.returncode == 2
    assert "is in no Git repository" in done.stderr


def test_waivers_in_files(folder):
    waiver = "  # watchkeeper: allow promql/syntax because it is a test\n  - alert"
    folder.write(a=BAD.replace("  - alert", waiver))
    done = folder.check("a.yml")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "1 rule: fine\n")
    (one,) = json.loads(folder.check("a.yml", "--format", "json").stdout)
    assert one["waived"]["reason"] == "it is a test"
    folder.write(a=GOOD.replace("  - alert", waiver))
    assert "warning[waiver/unused]" in folder.check("a.yml").stdout
    folder.write(a=BAD.replace("  - alert", waiver.replace("because", "until 2020-01-31 because")))
    done = folder.check("a.yml")
    assert done.returncode == 1
    assert [check for _, check in places(done.stdout)] == ["waiver/expired", "promql/syntax"]
    folder.write(a=GOOD.replace("  - alert", "  # watchkeeper: allow nosuch/check because x\n  - alert"))
    done = folder.check("a.yml")
    assert done.returncode == 1
    assert "error[waiver/syntax]" in done.stdout


DEFINITIONS = """
from watchkeeper import Alert, Gauge, Group, Pack, Severity, Waiver

FREE = Gauge("gpu_memory_free_bytes", "Free.", labels=("gpu",), unit="bytes")
FULL = Alert(
    "GPUFull", expr=f"{FREE} < 1e9", severity=Severity.CRITICAL, team="sre",
    summary="GPU {{ $labels.gpu }} is full",
    waivers=(Waiver("alert/runbook", reason="it is on its way"),),
)
PACK = Pack(metrics=(FREE,), groups=(Group("gpu", [FULL]),))
"""


def test_waivers_in_definitions_hold_for_both_verbs(folder):
    (folder.path / "pyproject.toml").write_text('[tool.watchkeeper]\ndefinitions = "acme:PACK"\n')
    (folder.path / "acme.py").write_text(DEFINITIONS)
    assert folder.check().stderr == "1 rule, 0 dashboards, 1 metric: fine\n"
    done = folder.run("generate")
    assert (done.returncode, done.stderr) == (0, "1 file: 1 written, 0 deleted, 0 unchanged\n")
    (folder.path / "acme.py").write_text(DEFINITIONS.replace('way")', 'way", until="2020-01-31")'))
    for verb in ("check", "generate"):
        done = folder.run(verb)
        assert done.returncode == 1
        assert "waiver/expired" in done.stdout + done.stderr
        assert "error[alert/runbook]" in done.stdout + done.stderr


def test_help_is_true(folder):
    text = folder.check("--help").stdout
    for word in ("--metrics", "--changed-since", "--format", "Exit status: 0", "`-` for standard input"):
        assert word in text
