"""`watchkeeper check --changed-since`: queries of a series that the change took away."""

import json
import re
import subprocess

import pytest

RECORD = "groups:\n- name: r\n  rules:\n  - record: job:up:sum\n    expr: sum by (job) (up)\n"
OTHER = RECORD.replace("job:up:sum", "job:up:count").replace("sum by", "count by").replace("name: r", "name: o")
ALERT = """\
groups:
- name: a
  rules:
  - alert: Down
    expr: |
      job:up:sum
        < 3
    for: 5m
    labels: {severity: warning}
    annotations: {summary: "{{ $labels.job }} is down"}
"""
BOARD = {
    "title": "Up",
    "uid": "up",
    "schemaVersion": 39,
    "panels": [
        {
            "id": 1,
            "type": "timeseries",
            "title": "Up",
            "datasource": {"type": "prometheus"},
            "targets": [{"refId": "A", "expr": "job:up:sum"}],
        },
    ],
}


def git(folder, *arguments):
    command = ["git", "-c", "user.name=a", "-c", "user.email=a@b", *arguments]
    subprocess.run(command, cwd=folder.path, check=True, capture_output=True, env=folder.environment)


@pytest.fixture
def repository(folder):
    """Return a folder in which a recording rule and an alert that reads it are committed."""
    folder.write(recorded=RECORD, alerts=ALERT, others=OTHER)
    git(folder, "init", "-q")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "a")
    return folder


def found(folder, *paths):
    """Return place, severity and message of what is found of a series that is gone."""
    output = folder.check(*(paths or (".",)), "--changed-since", "HEAD").stdout
    return re.findall(r"^(\S+): (\w+)\[rule/dependency\] (.*)$", output, re.MULTILINE)


GONE = [("alerts.yml:6:7", "error", 'alert Down: job:up:sum is recorded no more; did you mean "job:up:count"?')]


def test_nothing_is_gone(repository):
    assert found(repository) == []
    repository.write(recorded=RECORD.replace("(up)", '(up{env="prod"})'))
    assert found(repository) == []


def test_a_rule_that_is_gone(repository):
    repository.write(recorded="groups: []\n")
    assert found(repository) == GONE
    done = repository.check(".", "--changed-since", "HEAD")
    assert done.returncode == 1
    assert "why: recorded.yml recorded it before, and nothing here does: the query finds nothing new" in done.stdout


def test_a_group_without_its_rules(repository):
    repository.write(recorded="groups:\n- name: r\n  rules: []\n")
    assert found(repository) == GONE


def test_a_rule_with_another_name(repository):
    repository.write(recorded=RECORD.replace("job:up:sum", "job:up:total"))
    assert [place for place, _, _ in found(repository)] == ["alerts.yml:6:7"]


def test_a_file_that_is_gone(repository):
    (repository.path / "recorded.yml").unlink()
    assert found(repository) == GONE
    git(repository, "add", "-A")  # staged
    assert found(repository) == GONE


def test_a_change_that_is_committed(repository):
    git(repository, "branch", "before")
    (repository.path / "recorded.yml").unlink()
    git(repository, "commit", "-qam", "b")
    assert found(repository) == []
    done = repository.check(".", "--changed-since", "before")
    assert done.stdout.startswith("alerts.yml:6:7: error[rule/dependency]")


def test_a_rule_that_moved(repository):
    (repository.path / "recorded.yml").rename(repository.path / "moved.yml")
    assert found(repository) == []
    git(repository, "add", "-A")
    assert found(repository) == []


def test_a_reader_that_goes_with_it(repository):
    (repository.path / "recorded.yml").unlink()
    repository.write(alerts=ALERT.replace("job:up:sum", "job:up:count"))
    assert found(repository) == []


def test_only_what_is_given_counts(repository):
    repository.write(recorded="groups: []\n")
    assert found(repository, "alerts.yml") == []  # what records it may well be read by the server
    assert [place for place, _, _ in found(repository, "alerts.yml", "recorded.yml")] == ["alerts.yml:6:7"]
    (repository.path / "recorded.yml").unlink()
    assert found(repository, "alerts.yml", "others.yml") == []


def test_folders_that_are_not_read(repository):
    for name in (".hidden", "node_modules"):
        (repository.path / name).mkdir()
        (repository.path / name / "r.yml").write_text(RECORD.replace("job:up:sum", "job:up:max"))
    git(repository, "add", "-fA")
    git(repository, "commit", "-qm", "b")
    for name in (".hidden", "node_modules"):
        (repository.path / name / "r.yml").unlink()
    repository.write(alerts=ALERT.replace("job:up:sum", "job:up:max"))
    assert found(repository) == []


def test_a_file_that_can_not_be_read_any_more(repository):
    repository.write(recorded=RECORD.replace("expr: sum", "expr: [sum"))
    assert found(repository) == []
    assert "recorded.yml" in repository.check(".", "--changed-since", "HEAD").stdout


def test_a_file_that_could_not_be_read_before(repository):
    repository.write(recorded="record: [", others="\0record")
    (repository.path / "bytes.yml").write_bytes(b"# record \xff\n")
    git(repository, "add", "-A")
    git(repository, "commit", "-qm", "b")
    repository.write(recorded=OTHER)
    for name in ("others", "bytes"):
        (repository.path / f"{name}.yml").unlink()
    assert found(repository) == []


def test_queries_of_dashboards(repository):
    (repository.path / "board.json").write_text(json.dumps(BOARD, indent=1))
    git(repository, "add", "-A")
    git(repository, "commit", "-qm", "b")
    (repository.path / "recorded.yml").unlink()
    (_, (place, severity, message)) = found(repository)
    lines = (repository.path / "board.json").read_text().splitlines()
    line = next(number for number, text in enumerate(lines, 1) if "job:up:sum" in text)
    assert place.startswith(f"board.json:{line}:")
    assert severity == "error"
    assert "job:up:sum is recorded no more" in message


def test_what_may_be_meant_is_a_warning(repository):
    bare = {"recorded": RECORD.replace("job:up:sum", "up_sum"), "alerts": ALERT.replace("job:up:sum", "up_sum")}
    repository.write(**bare)
    git(repository, "commit", "-qam", "b")
    (repository.path / "recorded.yml").unlink()
    assert [severity for _, severity, _ in found(repository)] == ["warning"]
    git(repository, "reset", "-q", "--hard", "HEAD~1")
    (repository.path / "recorded.yml").unlink()
    repository.write(alerts=ALERT.replace("job:up:sum\n", "(job:up:count or job:up:sum)\n"))
    assert [severity for _, severity, _ in found(repository)] == ["warning"]


def test_many_files_and_odd_names(repository):
    names = ["a b.yml", "line\nbreak.yml", 'q"uote.yml', "für.yml"]
    for number, name in enumerate(names):
        (repository.path / name).write_text(RECORD.replace("job:up:sum", f"job:up:n{number}"))
    (repository.path / "same.yml").write_text(RECORD)  # the same content twice
    git(repository, "add", "-A")
    git(repository, "commit", "-qm", "b")
    for name in (*names, "same.yml", "recorded.yml"):
        (repository.path / name).unlink()
    repository.write(
        alerts=ALERT.replace("job:up:sum\n", "job:up:n0 + job:up:n1 + job:up:n2 + job:up:n3 + job:up:sum\n")
    )
    assert len(found(repository)) == 5


def test_from_a_folder_below(repository):
    (repository.path / "rules").mkdir()
    for name in ("recorded", "alerts"):
        git(repository, "mv", f"{name}.yml", f"rules/{name}.yml")
    git(repository, "commit", "-qm", "b")
    (repository.path / "rules/recorded.yml").unlink()
    done = repository.check(".", "--changed-since", "HEAD", below="rules")
    assert done.stdout.startswith("alerts.yml:6:7: error[rule/dependency]")
