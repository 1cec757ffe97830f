"""`watchkeeper import` as a person meets it: a real process in a folder of its own."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

CASES = Path(__file__).parent / "cases"
RULES = """
groups:
- name: targets
  rules:
  - record: job:up:sum
    expr: sum by (job, cluster) (up)
  # Nobody answers.
  - alert: JobDown
    expr: job:up:sum == 0
    for: 5m
    labels: {severity: critical, team: sre}
    annotations:
      summary: "{{ $labels.job }} is down"
      runbook_url: https://wiki.example.com/job-down
"""


def run(folder, *arguments):
    return subprocess.run(
        [Path(sys.executable).with_name("watchkeeper"), *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


@pytest.fixture
def project(tmp_path):
    (tmp_path / "pyproject.toml").write_text("[tool.watchkeeper]\n")
    (tmp_path / "targets.yml").write_text(RULES)
    return tmp_path


def test_what_is_imported_generates_the_same_rules(project):
    done = run(project, "import", "targets.yml", "--out", "acme/alerts/targets.py")
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr.splitlines() == [
        "acme/alerts/targets.py: 2 rules in 1 group",
        "the pack declares no metric: names of metrics are not checked until it does",
        "all of that: watchkeeper check --definitions acme.alerts.targets:PACK",
    ]
    generated = run(project, "generate", "--definitions", "acme.alerts.targets:PACK")
    assert generated.returncode == 0, generated.stderr
    (group,) = yaml.safe_load((project / "rules/targets.yaml").read_text())["groups"]
    assert group == yaml.safe_load(RULES)["groups"][0]


def test_the_example_of_the_documentation(project):
    page = (Path(__file__).parents[3] / "docs" / "import.md").read_text()
    console = page.split("```console\n")[1].split("```\n")[0]
    said = dict(part.split("\n", 1) for part in console.split("$ ")[1:])
    (project / "node.rules.yml").write_text(said["cat node.rules.yml"])
    command = next(line for line in said if line.startswith("watchkeeper "))
    done = run(project, *command.split()[1:])
    assert done.stderr == said[command]
    assert (project / "alerts/node.py").read_text() == said["cat alerts/node.py"]


def test_without_out_the_module_is_printed(project):
    done = run(project, "import", "targets.yml")
    assert done.returncode == 0
    assert '# Nobody answers.\nJOB_DOWN = Alert(\n    "JobDown",\n' in done.stdout
    assert sorted(path.name for path in project.iterdir()) == ["pyproject.toml", "targets.yml"]


def test_what_is_left_to_do_is_listed(project):
    (project / "bare.yml").write_text("groups: [{name: a b, rules: [{alert: A, expr: up}, {alert: B, expr: up}]}]")
    done = run(project, "import", "bare.yml", "--out", "bare.py")
    assert done.returncode == 0
    assert "  error[alert/severity] alert A has no " in done.stderr
    assert "(bare.py:5), and " in done.stderr
    assert '  error[group/name] group "a b": ' in done.stderr
    checked = run(project, "check", "--definitions", "bare:PACK")
    assert checked.returncode == 1
    assert "bare.py:5: error[alert/severity] alert A has no " in checked.stdout + checked.stderr


def test_a_folder_becomes_a_module_for_each_rule_file(project):
    (project / "in" / "eu-west").mkdir(parents=True)
    shutil.copy(CASES / "node.yml", project / "in/eu-west/node-exporter.rules.yaml")
    shutil.copy(CASES / "manifest.yml", project / "in/manifest.yml")
    (project / "in/manifest.yaml").write_text(RULES)
    (project / "in/values.yml").write_text("replicas: 2\n")
    (project / "in/notes.txt").write_text("groups: none\n")
    done = run(project, "import", "in", "in/manifest.yml", "--out", "acme")
    assert done.returncode == 0
    modules = sorted(str(path.relative_to(project)) for path in project.rglob("*.py"))
    assert modules == ["acme/eu_west/node_exporter_rules.py", "acme/manifest.py", "acme/manifest_2.py"]
    assert done.stderr.splitlines()[-1] == 'one pack of all modules: PACK = Pack.discover("acme")'
    (project / "all.py").write_text('from watchkeeper import Pack\n\nPACK = Pack.discover("acme")\n')
    checked = run(project, "check", "--definitions", "all:PACK")
    assert "error[load/" not in checked.stdout + checked.stderr
    assert "CertificateExpires" in checked.stdout + checked.stderr


def test_nothing_is_overwritten_unless_told(project):
    (project / "targets.py").write_text("mine\n")
    refused = run(project, "import", "targets.yml", "--out", "targets.py")
    assert refused.returncode == 1
    assert refused.stderr.startswith("targets.py: error[import/exists] is already there\n")
    assert (project / "targets.py").read_text() == "mine\n"
    assert run(project, "import", "targets.yml", "--out", "targets.py", "--force").returncode == 0
    assert "JobDown" in (project / "targets.py").read_text()
    assert sorted(path.name for path in project.iterdir()) == ["pyproject.toml", "targets.py", "targets.yml"]


BOMB = "a: &a [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{new}: &{new} [{', '.join([f'*{old}'] * 10)}]\n" for old, new in zip("abcdefg", "bcdefgh", strict=True)
)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"groups: [", "bad.yml:1:"),
        (b"groups:\n- name: g\n  rules:\n  - alert: X\n    expr: rate(up\n", "bad.yml:5:"),
        (b"groups:\n- name: g\n  rules:\n  - [alert, X]\n", "bad.yml:4:5: error[yaml/value]"),
        (b"groups:\n- name: g\n  rules:\n  - alert: X\n    expr: up\n    fro: 5m\n", "bad.yml:6:5: error[yaml/key]"),
        (b"groups:\n\t- name: g\n", "bad.yml:2:1: error[yaml/parse]"),
        (b"\xff\xfe\x00", "bad.yml: error[yaml/parse]"),
        (b"groups:\n\0", "bad.yml:2:1: error[yaml/parse]"),
        (BOMB.encode() + b"groups: *h\n", "bad.yml:"),
        (b"[" * 100_000, "bad.yml:1:1"),
        (b"replicas: 2\n", "bad.yml: error[import/rules] there are no rules in it"),
        (b"", "bad.yml: error[import/rules] there are no rules in it"),
    ],
)
def test_a_file_that_is_no_rule_file_is_one_clear_error_and_nothing_is_written(project, content, said):
    (project / "bad.yml").write_bytes(content)
    done = run(project, "import", "targets.yml", "bad.yml", "--out", "acme")
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.startswith(said)
    assert "Traceback" not in done.stderr
    assert done.stderr.endswith("nothing imported\n")
    assert not (project / "acme").exists()


def test_what_definitions_have_no_field_for_is_told(project):
    manifest = (CASES / "manifest.yml").read_text()
    (project / "thanos.yml").write_text(
        manifest.replace("    rules:", "    partial_response_strategy: warn\n    rules:")
    )
    done = run(project, "import", "thanos.yml")
    assert done.returncode == 0
    said = "thanos.yml:12:5: warning[import/lost] partial_response_strategy of the group is left out\n"
    assert done.stderr.startswith(said)
    assert done.stdout == (CASES / "manifest.txt").read_text().replace("manifest.yml", "thanos.yml")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "Missing argument 'PATH...'"),
        (("targets.yml", "more.yml"), "2 rule files are 2 modules: say where they go, --out DIR"),
        (("targets.yml", "more.yml", "--out", "x.py"), "2 rule files are 2 modules: name a folder"),
        (("empty",), "no rule files below empty"),
    ],
)
def test_wrong_usage(project, arguments, said):
    (project / "more.yml").write_text(RULES)
    (project / "empty").mkdir()
    done = run(project, "import", *arguments)
    assert done.returncode == 2
    assert said in done.stderr


def test_a_folder_that_cannot_be_made(project):
    (project / "acme").write_text("a file")
    done = run(project, "import", "targets.yml", "--out", "acme/alerts.py")
    assert done.returncode == 1
    assert done.stderr.startswith("acme/alerts.py: error[import/file] can't be written: ")
    assert done.stderr.count("\n") == 2
