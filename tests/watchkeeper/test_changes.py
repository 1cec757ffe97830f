"""What changed since a revision, in real repositories."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from watchkeeper.changes import Changes, RevisionError, changes_since, touched
from watchkeeper.findings import Finding, Place
from watchkeeper.read.comments import comments
from watchkeeper.read.source import File
from watchkeeper.scopes import Lines, Scopes, with_comments

ALL = (0, 2**63)
RULES = "groups:\n- name: g\n  rules:\n" + "".join(
    f"  - alert: A{n}\n    expr: up == {n}\n    for: {n}m\n" for n in range(1, 5)
)
SCOPES = [(4 + 3 * n, 6 + 3 * n) for n in range(4)]


def git(folder, *arguments):
    subprocess.run(["git", *arguments], cwd=folder, check=True, capture_output=True)


def commit(folder, message="more"):
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", message, "--allow-empty")


@pytest.fixture
def repository(tmp_path, monkeypatch):
    """Return a repository with one commit of the rules, in which no settings of the user's hold."""
    monkeypatch.setenv("HOME", str(tmp_path / "nobody"))
    for name in [name for name in os.environ if name.startswith(("GIT_", "XDG_"))]:
        monkeypatch.delenv(name)
    for word in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{word}_NAME", "A")
        monkeypatch.setenv(f"GIT_{word}_EMAIL", "a@example.com")
    folder = tmp_path / "repository"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    (folder / "rules.yaml").write_text(RULES)
    commit(folder)
    return folder


def changed(repository, text, name="rules.yaml"):
    """Return the changed lines after the file was written."""
    (repository / name).write_text(text)
    return changes_since("HEAD", str(repository)).of(str(repository / name))


def reported(repository, text, scopes=SCOPES):
    """Return the numbers of the rules that are reported after the file was written, each with one finding."""
    file = str(repository / "rules.yaml")
    Path(file).write_text(text)
    findings = [Finding("a/b", str(n), Place(file, first)) for n, (first, _) in enumerate(scopes, 1)]
    kept = touched(findings, changes_since("HEAD", str(repository)), {file: scopes})
    return [int(finding.message) for finding in kept]


def test_nothing_changed(repository):
    assert changed(repository, RULES) == ()
    assert reported(repository, RULES) == []


def test_a_changed_line_touches_its_rule(repository):
    assert changed(repository, RULES.replace("up == 2", "up == 5")) == [(8, 8)]
    assert reported(repository, RULES.replace("up == 2", "up == 5")) == [2]


def test_lines_that_only_moved_are_not_touched(repository):
    assert reported(repository, f"# a comment\n\n{RULES}", [(a + 2, b + 2) for a, b in SCOPES]) == []


def test_a_new_rule(repository):
    text = RULES.replace("  - alert: A3", "  - alert: New\n    expr: up\n    for: 1m\n  - alert: A3")
    scopes = [*SCOPES, (16, 18)]
    assert reported(repository, text, scopes) == [3]  # the third from the top


def test_a_rule_without_its_last_line_is_touched(repository):
    scopes = [(4, 6), (7, 8), (9, 11), (12, 14)]
    assert reported(repository, RULES.replace("    for: 2m\n", ""), scopes) == [2]


def test_a_rule_without_a_line_in_it_is_touched(repository):
    scopes = [(4, 6), (7, 8), (9, 11), (12, 14)]
    assert reported(repository, RULES.replace("    expr: up == 2\n", ""), scopes) == [2]


@pytest.mark.parametrize("number", [1, 2, 3, 4])
def test_the_neighbours_of_a_rule_that_is_gone_are_not_touched(repository, number):
    gone = f"  - alert: A{number}\n    expr: up == {number}\n    for: {number}m\n"
    assert reported(repository, RULES.replace(gone, ""), SCOPES[:3]) == []


def test_a_comment_that_is_gone_touches_nothing_but_a_waiver_does(repository):
    commented = RULES.replace("  - alert: A2", "  # about\n  - alert: A2")
    commented = commented.replace("  - alert: A4", "  # watchkeeper: allow a/b because c\n  - alert: A4")
    (repository / "rules.yaml").write_text(commented)
    commit(repository)
    assert 4 in reported(repository, RULES)
    assert not {1, 2} & set(reported(repository, RULES))


def test_a_waiver_for_the_file_touches_all_of_it(repository):
    assert reported(repository, f"# watchkeeper: allow-file a/b because c\n{RULES}") == [1, 2, 3, 4]
    commit(repository)
    assert reported(repository, RULES) == [1, 2, 3, 4]


def test_staged_committed_and_uncommitted_changes_count(repository):
    git(repository, "checkout", "-qb", "work")
    text = RULES.replace("up == 1", "up == 5")
    (repository / "rules.yaml").write_text(text)
    commit(repository)
    text = text.replace("up == 2", "up == 5")
    (repository / "rules.yaml").write_text(text)
    git(repository, "add", "-A")
    text = text.replace("up == 3", "up == 5")
    (repository / "rules.yaml").write_text(text)
    lines = changes_since("main", str(repository)).of(str(repository / "rules.yaml"))
    assert lines == [(5, 5), (8, 8), (11, 11)]


def test_what_others_did_on_the_branch_since_does_not_count(repository):
    git(repository, "checkout", "-qb", "work")
    (repository / "rules.yaml").write_text(RULES.replace("up == 1", "up == 5"))
    commit(repository)
    git(repository, "checkout", "-q", "main")
    (repository / "rules.yaml").write_text(RULES.replace("up == 4", "up == 6"))
    commit(repository)
    git(repository, "checkout", "-q", "work")
    assert changes_since("main", str(repository)).of(str(repository / "rules.yaml")) == [(5, 5)]


def test_histories_without_a_common_commit_are_compared_as_they_are(repository):
    git(repository, "checkout", "-q", "--orphan", "other")
    (repository / "rules.yaml").write_text(RULES.replace("up == 1", "up == 5"))
    commit(repository)
    assert changes_since("main", str(repository)).of(str(repository / "rules.yaml")) == [(5, 5)]


NAMES = [
    "a b.yaml",
    'q"uote.yaml',
    "tab\there.yaml",
    "line\nbreak.yaml",
    "für/é 🔥.yaml",
    "back\\slash.yaml",
    "b/b.yaml",
]
NAMES += ["+++ b.yaml", "-x.yaml", " .yaml ", os.fsdecode(b"\xff\x01.yaml")]


@pytest.mark.parametrize("quoted", ["on", "off"])
def test_any_file_name(repository, quoted):
    git(repository, "config", "core.quotePath", quoted)
    for name in NAMES:
        (repository / name).parent.mkdir(exist_ok=True)
        (repository / name).write_text("a\nb\nc\n")
    commit(repository)
    for name in NAMES:
        (repository / name).write_text("a\nx\nc\n")
    changes = changes_since("HEAD", str(repository))
    assert {name: changes.of(str(repository / name)) for name in NAMES} == {name: [(2, 2)] for name in NAMES}


def test_a_renamed_file_keeps_its_lines(repository):
    git(repository, "mv", "rules.yaml", "other name.yaml")
    (repository / "other name.yaml").write_text(RULES.replace("up == 3", "up == 5"))
    changes = changes_since("HEAD", str(repository))
    assert changes.of(str(repository / "other name.yaml")) == [(11, 11)]


def test_a_file_that_git_does_not_keep_has_changed(repository):
    (repository / ".gitignore").write_text("ignored.yaml\n")
    for name in ("ignored.yaml", "new.yaml"):
        (repository / name).write_text(RULES)
    changes = changes_since("HEAD", str(repository))
    for path in (repository / "ignored.yaml", repository / "new.yaml", repository.parent / "elsewhere.yaml"):
        assert changes.of(str(path)) == [ALL]
    git(repository, "add", "new.yaml")
    assert changes_since("HEAD", str(repository)).of(str(repository / "new.yaml")) == [(1, 15)]


def test_deleted_files_are_no_hindrance(repository):
    (repository / "b.yaml").write_text("a\n")
    commit(repository)
    (repository / "b.yaml").unlink()
    assert changed(repository, RULES.replace("up == 2", "up == 5")) == [(8, 8)]


def test_lines_that_look_like_a_diff(repository):
    nasty = "a\n++ b/evil.yaml\n@@ -1 +1 @@\n-- a/rules.yaml\ndiff --git a/x b/x\n"
    (repository / "b.yaml").write_text("a\n")
    commit(repository)
    (repository / "b.yaml").write_text(nasty)
    assert changed(repository, RULES.replace("up == 2", "up == 5")) == [(8, 8)]
    assert changes_since("HEAD", str(repository)).of(str(repository / "b.yaml")) == [(2, 5)]


def test_without_a_newline_at_the_end(repository):
    assert changed(repository, RULES.replace("up == 2", "up == 5").removesuffix("\n")) == [(8, 8), (15, 15)]
    commit(repository)
    assert changed(repository, RULES.replace("up == 2", "up == 5")) == [(15, 15)]


SETTINGS = {
    "color.diff": "always",
    "diff.noprefix": "true",
    "diff.mnemonicPrefix": "true",
    "diff.context": "7",
    "diff.interHunkContext": "9",
    "diff.external": "false",
    "diff.relative": "true",
    "diff.renames": "false",
    "diff.algorithm": "patience",
    "core.quotePath": "true",
    "core.pager": "false",
}


def test_no_setting_of_the_user_changes_what_changed(repository, monkeypatch):
    for name, value in SETTINGS.items():
        git(repository, "config", name, value)
    monkeypatch.setenv("GIT_DIFF_OPTS", "--unified=5")
    monkeypatch.setenv("GIT_EXTERNAL_DIFF", "false")
    monkeypatch.setenv("LC_ALL", "de_DE.UTF-8")
    (repository / ".gitattributes").write_text("*.yaml -diff\n")
    (repository / "below").mkdir()
    (repository / "rules.yaml").write_text(RULES.replace("up == 2", "up == 5").replace("up == 4", "up == 5"))
    changes = changes_since("HEAD", str(repository / "below"))
    assert changes.of(str(repository / "rules.yaml")) == [(8, 8), (14, 14)]


def test_files_are_found_from_any_folder_and_through_links(repository, monkeypatch):
    (repository.parent / "link").symlink_to(repository)
    changes = changes_since("HEAD", str(repository.parent / "link"))
    assert changes.of(str(repository.parent / "link" / "rules.yaml")) == ()
    monkeypatch.chdir(repository)
    assert changes.of("rules.yaml") == ()


@pytest.mark.parametrize("revision", ["", "-n", "--output=/tmp/x", "a\nb", "a\0b"])
def test_what_can_be_no_revision(repository, revision):
    with pytest.raises(RevisionError, match="is no revision") as caught:
        changes_since(revision, str(repository))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("revision", ["nowhere", "main..HEAD", "HEAD:rules.yaml", "HEAD~9", "@{", "\ud800"])
def test_a_revision_that_is_not_there(repository, revision):
    with pytest.raises(RevisionError, match=r"^(Git knows no|'\\ud800' is no) revision"):
        changes_since(revision, str(repository))


def test_no_repository_no_folder_no_git(tmp_path, repository, monkeypatch):
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path))
    outside = tmp_path / "outside"
    outside.mkdir()
    with pytest.raises(RevisionError, match="is in no Git repository"):
        changes_since("HEAD", str(outside))
    with pytest.raises(RevisionError, match=r"Git can't run in .*: No such file or directory"):
        changes_since("HEAD", str(tmp_path / "nowhere"))
    monkeypatch.setenv("PATH", str(outside))
    with pytest.raises(RevisionError, match="Git is not installed"):
        changes_since("HEAD", str(repository))


def test_a_repository_without_files_to_look_at(repository):
    git(repository, "clone", "-q", "--bare", ".", "../bare")
    with pytest.raises(RevisionError, match=r"Git can't read the repository of .*work tree"):
        changes_since("HEAD", str(repository.parent / "bare"))


DEFINITIONS = """\
from watchkeeper import Alert, Group

A = Alert(
    "A",
    expr="up == 0",
)
B = (
    A
    .replace(
        threshold=1,
    )
)
GROUP = Group("g", [A,
    B,
])


@decorated(
    1
)
def dashboard(pack):
    x = [
        1,
    ]
    return x
"""


def definitions(repository, text):
    """Return the first lines of the definitions that are reported."""
    file = repository / "defined.py"
    file.write_text(DEFINITIONS)
    commit(repository)
    file.write_text(text)
    names = {3: "A", 9: "B", 13: "GROUP", 18: "dashboard"}
    findings = [Finding("a/b", name, Place(str(file), line)) for line, name in names.items()]
    return [finding.message for finding in touched(findings, changes_since("HEAD", str(repository)), {})]


@pytest.mark.parametrize(
    ("old", "new", "names"),
    [
        ("up == 0", "up == 2", ["A"]),
        ("threshold=1", "threshold=2", ["B"]),
        ("    B,\n", "    C,\n", ["GROUP"]),
        ("        1,\n", "        2,\n", ["dashboard"]),
        ("@decorated(\n    1\n", "@decorated(\n    2\n", ["dashboard"]),
        ("import Alert, Group", "import Alert, Group, Pack", []),
        ("(\n    A\n", "(\n    C\n", ["B"]),
    ],
)
def test_a_definition_is_touched_where_its_call_is(repository, old, new, names):
    assert DEFINITIONS.count(old) == 1
    assert definitions(repository, DEFINITIONS.replace(old, new)) == names


def test_a_file_that_is_no_python_any_more_counts_as_touched(repository):
    assert definitions(repository, DEFINITIONS.replace("up == 0", "up == 0'").replace("(", "[")) == [
        "A", "B", "GROUP", "dashboard",
    ]  # fmt: skip


def test_the_line_of_a_method_is_the_one_that_definitions_remember(tmp_path):
    # What `definitions` above takes for granted, asked of the interpreter.
    (tmp_path / "defined.py").write_text(DEFINITIONS.partition("GROUP")[0].replace('"up == 0",', '"up == 0", **REST,'))
    code = """
import builtins
builtins.REST = {"severity": "info", "team": "t", "summary": "s"}
import defined
print(defined.A.place.line, defined.B.place.line)
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.split() in (["3", "9"], ["3", "8"])


def test_findings_of_no_rule_count_where_their_file_changed(repository):
    file, other = str(repository / "rules.yaml"), str(repository / "b.yaml")
    Path(other).write_text("a\n")
    commit(repository)
    Path(file).write_text(RULES.replace("up == 2", "up == 5"))
    findings = [
        Finding("a/b", "nowhere"),
        Finding("a/b", "the file", Place(file)),
        Finding("a/b", "the group", Place(file, 2)),
        Finding("a/b", "a dashboard", Place(other, 1)),
    ]
    kept = touched(findings, changes_since("HEAD", str(repository)), {file: SCOPES, other: []})
    assert [finding.message for finding in kept] == ["nowhere", "the file", "the group"]


def test_a_group_is_touched_by_any_of_its_rules():
    changes = Changes(["/a.yaml"], {"/a.yaml": [Lines(8, 8)]})
    scopes = {"/a.yaml": [(2, 12), (20, 30), *SCOPES]}
    findings = [Finding("a/b", str(line), Place("/a.yaml", line)) for line in (2, 5, 7, 8, 9, 10, 20)]
    assert [finding.message for finding in touched(findings, changes, scopes)] == ["2", "7", "8", "9"]


def test_many_changes_and_findings():
    number = 10_000
    changes = Changes(["/a.yaml"], {"/a.yaml": [Lines(10 * n + 1, 10 * n + n % 3) for n in range(number)]})
    scopes = [(10 * n + 1, 10 * n + 9) for n in range(number)]
    findings = [Finding("a/b", "wrong", Place("/a.yaml", first)) for first, _ in scopes]
    start = time.process_time()
    # An empty range above a rule's first line is not in it.
    assert len(touched(findings, changes, {"/a.yaml": scopes})) == sum(n % 3 > 0 for n in range(number))
    assert time.process_time() - start < 2


def test_scopes():
    scopes = Scopes([(10, 20), (2, 30), (12, 14), (21, 22)])
    assert [scopes.innermost(line) for line in (1, 2, 11, 13, 15, 23, 31)] == [
        None, (2, 30), (10, 20), (12, 14), (10, 20), (2, 30), None,
    ]  # fmt: skip
    assert scopes.beginning(12) == (12, 14)
    assert scopes.beginning(13) is None
    assert scopes.beginning(99) is None


def test_comments_above_belong_to_a_rule_and_those_behind_do_not():
    text = """\
groups:
- name: g
  rules:
  # about A
  - alert: A
    expr: up
    # watchkeeper: that
    for: 5m

  # about B,
  # more
  - alert: B
    expr: |
      up
      # of the text

# about h
- name: h
  rules: []
"""
    file = File("a.yaml", text)
    # As the parser has them, each up to where the next one begins.
    scopes = [(2, 18), (5, 12), (12, 18), (18, 19)]
    assert with_comments(file, comments(file), scopes) == [(2, 15), (4, 8), (10, 15), (17, 19)]
    assert Scopes(scopes).innermost(12) == (12, 17)
    assert list(Scopes(scopes)) == [(2, 17), (5, 11), (12, 17), (18, 19)]
