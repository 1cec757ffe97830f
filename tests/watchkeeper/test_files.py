"""Files as a project: which there are, and what is known of them together."""

import os
from pathlib import Path

import pytest

from watchkeeper.files import check, read, scopes, waivers
from watchkeeper.read.paths import Paths
from watchkeeper.settings import Settings, Targets


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(name, text=""):
    path = Path(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def plain(items, *_):
    return items


def checked(*names):
    contents = read(names, plain)
    return contents, *check(contents, Settings(root=Path.cwd(), targets=Targets.newest()))


def test_files_in_the_order_of_names():
    for name in ("b.yml", "a/c.yaml", "a/b/d.rules", "a/e.json", "a/f.txt", "a/.g.yml", "a/.h/i.yml"):
        write(name)
    write("a/node_modules/j.yml")
    write("a/venv/pyvenv.cfg")
    write("a/venv/k.yml")
    paths = Paths(["b.yml", "a", "a/f.txt"])
    assert paths.files == [
        ("b.yml", True),
        ("a/c.yaml", False),
        ("a/e.json", False),
        ("a/b/d.rules", False),
        ("a/f.txt", True),
    ]
    assert paths.folders == ["a", "a/b"]


def test_one_file_by_several_names():
    write("a.yml")
    Path("link.yml").symlink_to("a.yml")
    Path("hard.yml").hardlink_to("a.yml")
    assert Paths(["link.yml", "a.yml", "./a.yml", Path.cwd() / "a.yml"]).files == [("link.yml", True)]
    assert [name for name, _ in Paths(["a.yml", "hard.yml"]).files] == ["a.yml", "hard.yml"]
    assert Paths([".", "a.yml"]).files == [("a.yml", True), ("hard.yml", False)]
    assert Paths(["-", "-"]).files == [("-", True)]


def test_links_are_not_followed_in_circles():
    write("a/b.yml")
    Path("a/loop").symlink_to("..")
    Path("a/self.yml").symlink_to("self.yml")
    Path("a/gone.yml").symlink_to("nosuch")
    assert sorted(name for name, _ in Paths(["."]).files) == ["a/b.yml", "a/gone.yml", "a/self.yml"]
    contents, _, findings = checked(".")
    assert len(contents.names) == 3
    assert [str(finding.place) for finding in findings] == ["a/gone.yml", "a/self.yml"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may list any folder")
def test_a_folder_that_can_not_be_listed():
    write("a/b.yml")
    Path("a").chmod(0)
    try:
        (finding,) = Paths(["."]).findings
    finally:
        Path("a").chmod(0o700)
    assert finding.message == "the folder can't be listed: Permission denied"


RULES = """\
groups:
- name: g
  rules:
  # why this is so
  - record: job:up:sum
    expr: sum by (job) (up)
  # and this
  - alert: Down
    expr: job:up:sum == 0
    labels: {severity: page}
    annotations: {summary: "{{ $labels.job }}{{ $labels.instance }}"}
"""


def test_rules_are_known_to_each_other():
    write("a.yml", RULES.replace("  # and this\n", "- name: h\n  rules:\n"))
    _, project, findings = checked("a.yml")
    assert [finding.check for finding in findings if finding.severity == "error"] == ["template/label"]
    assert [group.name.value for group in project.groups] == ["g", "h"]
    assert not project.catalogue.closed


def test_scopes_have_the_comments_above():
    write("a.yml", RULES)
    found = scopes(read(["a.yml"], plain))
    assert {file: [tuple(lines) for lines in ranges] for file, ranges in found.items()} == {
        "a.yml": [(2, 11), (4, 6), (7, 11)]
    }


def test_waivers_are_those_in_comments():
    write("a.yml", RULES.replace("# and this", "# watchkeeper: allow template/label because x"))
    held, faults = waivers(read(["a.yml"], plain))
    assert [(one.waiver.check, one.lines.first, one.lines.last) for one in held] == [("template/label", 7, 11)]
    assert faults == []
    write("a.yml", RULES.replace("{{ $labels.job }}", "watchkeeper: allow x"))
    assert waivers(read(["a.yml"], plain)) == ([], [])


def test_files_of_all_kinds_together():
    write("rules.yml", RULES.replace("{{ $labels.instance }}", ""))
    write(
        "alertmanager.yml",
        "route: {receiver: a, routes: [{matchers: ['severity=\"page\"'], receiver: b}]}\n"
        "receivers: [{name: a}, {name: b}]\n",
    )
    write(
        "manifest.json",
        '{"apiVersion": "monitoring.coreos.com/v1", "kind": "PrometheusRule", "metadata": {"name": "a"}, '
        '"spec": {"groups": [{"name": "m", "rules": [{"record": "job:x:sum", "expr": "sum by (job) (x"}]}]}}',
    )
    contents, project, findings = checked("rules.yml", "alertmanager.yml", "manifest.json")
    assert (len(project.groups), len(contents.alertmanagers)) == (2, 1)
    assert [finding.place.file for finding in findings if finding.check == "promql/syntax"] == ["manifest.json"]
