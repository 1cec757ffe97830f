"""Generated files: owned, pruned, atomic."""

import os
import resource
import subprocess

import pytest

from watchkeeper.output import MANIFEST, OutputError, apply, diff, plan


def write(files, out):
    made = plan(files, out)
    apply(made)
    return made


def tree(out):
    return {str(path.relative_to(out)): path.read_text() for path in sorted(out.rglob("*")) if path.is_file()}


def test_files_are_written_once(tmp_path):
    files = {"rules/a.yaml": "a\n", "dashboards/b.json": "b\n"}
    first = write(files, tmp_path)
    assert sorted(first.writes) == ["dashboards/b.json", "rules/a.yaml", MANIFEST]
    before = {path: (tmp_path / path).stat().st_mtime_ns for path in files}
    again = write(files, tmp_path)
    assert (again.writes, again.deletes, again.unchanged) == ({}, (), 2)
    assert before == {path: (tmp_path / path).stat().st_mtime_ns for path in files}


def test_the_manifest_is_what_sha256sum_reads(tmp_path):
    write({"rules/a.yaml": "a\n", "dashboards/ü b.json": "b\n"}, tmp_path)
    done = subprocess.run(
        ["sha256sum", "--check", "--strict", MANIFEST], cwd=tmp_path, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_files_can_be_read_by_a_server_of_another_user(tmp_path):
    old = os.umask(0o022)
    try:
        write({"rules/a.yaml": "a\n"}, tmp_path)
    finally:
        os.umask(old)
    assert (tmp_path / "rules/a.yaml").stat().st_mode & 0o777 == 0o644


def test_orphans_are_pruned_and_strangers_left_alone(tmp_path):
    write({"rules/a.yaml": "a\n", "rules/old/b.yaml": "b\n"}, tmp_path)
    (tmp_path / "rules/theirs.yaml").write_text("theirs\n")
    made = write({"rules/a.yaml": "a\n"}, tmp_path)
    assert made.deletes == ("rules/old/b.yaml",)
    assert sorted(tree(tmp_path)) == ["rules/a.yaml", "rules/theirs.yaml", MANIFEST]
    assert not (tmp_path / "rules/old").exists()
    assert (tmp_path / MANIFEST).read_text().endswith("  rules/a.yaml\n")


@pytest.mark.parametrize(("new", "check"), [({"rules/a.yaml": "new\n"}, "output/edited"), ({}, "output/edited")])
def test_a_hand_edit_is_never_lost(tmp_path, new, check):
    write({"rules/a.yaml": "a\n"}, tmp_path)
    (tmp_path / "rules/a.yaml").write_text("edited\n")
    with pytest.raises(OutputError) as caught:
        plan(new, tmp_path)
    assert [finding.check for finding in caught.value.findings] == [check]
    (tmp_path / "rules/a.yaml").unlink()  # what the message says to do
    write(new, tmp_path)
    assert (tmp_path / "rules/a.yaml").exists() == bool(new)


def test_a_file_of_someone_else_in_the_way(tmp_path):
    (tmp_path / "rules").mkdir()
    (tmp_path / "rules/a.yaml").write_text("theirs\n")
    with pytest.raises(OutputError) as caught:
        plan({"rules/a.yaml": "a\n", "rules/b.yaml": "b\n"}, tmp_path)
    assert [finding.check for finding in caught.value.findings] == ["output/foreign"]
    assert tree(tmp_path) == {"rules/a.yaml": "theirs\n"}


def test_the_same_text_in_the_way_is_adopted(tmp_path):
    (tmp_path / "rules").mkdir()
    (tmp_path / "rules/a.yaml").write_text("a\n")
    assert sorted(write({"rules/a.yaml": "a\n"}, tmp_path).writes) == [MANIFEST]


@pytest.mark.parametrize(
    "line",
    [
        "<<<<<<< HEAD",
        "0" * 64 + "  ../outside",
        "0" * 64 + "  /etc/passwd",
        "0" * 64 + "  rules/../../x",
        "0" * 63 + "  a",
        "\ufffd\0",
    ],
)
def test_a_manifest_that_cannot_be_trusted_deletes_nothing(tmp_path, line):
    (tmp_path / MANIFEST).write_text(f"{'0' * 64}  rules/a.yaml\n{line}\n")
    with pytest.raises(OutputError) as caught:
        plan({}, tmp_path)
    (finding,) = caught.value.findings
    assert (finding.check, finding.place.line) == ("output/manifest", 2)


def test_diff(tmp_path):
    write({"rules/a.yaml": "a\nb\n", "rules/gone.yaml": "g\n"}, tmp_path)
    lines = list(diff(plan({"rules/a.yaml": "a\nc\n", "rules/new.yaml": "n\n"}, tmp_path)))
    assert lines == [
        *("--- a/rules/a.yaml", "+++ b/rules/a.yaml", "@@ -1,2 +1,2 @@", " a", "-b", "+c"),
        *("--- a/rules/gone.yaml", "+++ /dev/null", "@@ -1 +0,0 @@", "-g"),
        *("--- /dev/null", "+++ b/rules/new.yaml", "@@ -0,0 +1 @@", "+n"),
    ]


def test_a_folder_in_the_way(tmp_path):
    (tmp_path / "rules/a.yaml").mkdir(parents=True)
    with pytest.raises(OutputError, match=r"Is a directory"):
        write({"rules/a.yaml": "a\n"}, tmp_path)


def test_a_file_where_the_folder_should_be(tmp_path):
    (tmp_path / "rules").write_text("a file")
    with pytest.raises(OutputError) as caught:
        write({"rules/a.yaml": "a\n", "dashboards/b.json": "b\n"}, tmp_path)
    assert [finding.check for finding in caught.value.findings] == ["output/file"]
    assert tree(tmp_path) == {"rules": "a file"}


def test_a_full_disk_changes_nothing(tmp_path):
    """The kernel refuses the write in the middle: a file size limit fails as a full disk does, without needing root."""
    write({"rules/a.yaml": "old\n", "rules/b.yaml": "old\n"}, tmp_path)
    before = tree(tmp_path)
    made = plan({"rules/a.yaml": "new\n", "rules/b.yaml": "n" * 100_000}, tmp_path)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, hard))
    try:
        with pytest.raises(OutputError) as caught:
            apply(made)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    (finding,) = caught.value.findings
    assert finding.message == "can't be written: File too large"
    assert finding.place.file.endswith("rules/b.yaml")
    assert tree(tmp_path) == before  # no temporary file is left either
