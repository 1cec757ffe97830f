"""Generated files: owned, pruned, atomic."""

import hashlib
import os
import resource
import socket
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
        "0" * 64 + "  defs.py",
        "0" * 64 + "  .git/config",
        "0" * 64 + "  pyproject.toml",
        "0" * 64 + "  rules",
        "0" * 64 + "  rules/theirs.py",
        "0" * 64 + "  elsewhere/b.yaml",
        "0" * 64 + "  ./rules/b.yaml",
        "0" * 64 + "  rules//b.yaml",
        "0" * 64 + "  rules/./b.yaml",
        "0" * 64 + "  rules/b.yaml/",
        "0" * 64 + "  rules/b\x1b[2J.yaml",
        "0" * 64 + "  rules/a.yaml",  # once more
        "",
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


def owned(*paths):
    return "".join(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {name}\n" for name, path in paths)


def test_a_listed_file_behind_a_link_is_not_deleted(tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "theirs.yaml").write_text("theirs\n")
    out = tmp_path / "out"
    (out / "dashboards").mkdir(parents=True)
    (out / "rules").symlink_to(outside)
    (out / "dashboards/deep").symlink_to("../../outside")
    (out / MANIFEST).write_text(
        owned(("dashboards/deep/x.json", outside / "theirs.yaml"), ("rules/theirs.yaml", outside / "theirs.yaml"))
    )
    (outside / "x.json").write_text("theirs\n")
    for files in ({}, {"rules/new.yaml": "new\n"}):
        with pytest.raises(OutputError) as caught:
            write(files, out)
        assert [(f.check, f.place.file, f.message) for f in caught.value.findings] == [
            ("output/foreign", str(out / path), "is a symbolic link, where the folder of generated files would go")
            for path in ("dashboards/deep", "rules")
        ]
    assert sorted(tree(outside)) == ["theirs.yaml", "x.json"]


def test_the_output_folder_itself_may_be_a_link(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    write({"rules/a.yaml": "a\n"}, tmp_path / "link")
    write({"rules/b.yaml": "b\n"}, tmp_path / "link")
    assert sorted(tree(tmp_path / "real")) == ["rules/b.yaml", MANIFEST]


@pytest.mark.parametrize("path", ["rules/a.txt", "a.yaml", "rules/../a.yaml", "other/a.yaml", "rules/a\n.yaml"])
def test_what_the_next_run_would_not_take_for_ours_is_not_written(tmp_path, path):
    with pytest.raises(OutputError) as caught:
        write({path: "a\n"}, tmp_path)
    assert [finding.check for finding in caught.value.findings] == ["output/path"]
    assert tree(tmp_path) == {}


def listen(path):
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))


OTHERS = {
    "folder": lambda path: path.mkdir(),
    "named pipe": os.mkfifo,
    "socket": listen,
    "symbolic link": lambda path: path.symlink_to("/dev/zero"),
}


@pytest.mark.parametrize("kind", OTHERS)
@pytest.mark.parametrize("name", ["rules/a.yaml", MANIFEST])
@pytest.mark.parametrize("new", ["a\n", "b\n"])
def test_what_is_no_file_is_neither_read_nor_replaced(tmp_path, monkeypatch, kind, name, new):
    monkeypatch.chdir(tmp_path)
    write({"rules/a.yaml": "a\n"}, tmp_path)
    (tmp_path / name).unlink()
    OTHERS[kind](type(tmp_path)(name))  # relative: a socket's path is short
    with pytest.raises(OutputError) as caught:
        write({"rules/a.yaml": new}, tmp_path)
    assert [(f.check, f.message) for f in caught.value.findings] == [
        ("output/foreign", f"is a {kind}, where a generated file would go")
    ]


def test_a_linked_output_is_told_even_where_its_text_is_right(tmp_path):
    write({"rules/a.yaml": "a\n"}, tmp_path)
    (tmp_path / "rules/a.yaml").rename(tmp_path / "real.yaml")
    (tmp_path / "rules/a.yaml").symlink_to("../real.yaml")
    with pytest.raises(OutputError, match="is a symbolic link"):
        write({"rules/a.yaml": "a\n"}, tmp_path)
    assert (tmp_path / "rules/a.yaml").is_symlink()


def test_a_file_where_the_folder_should_be(tmp_path):
    (tmp_path / "rules").write_text("a file")
    with pytest.raises(OutputError) as caught:
        write({"rules/a.yaml": "a\n", "rules/b.yaml": "b\n", "dashboards/b.json": "b\n"}, tmp_path)
    assert [finding.message for finding in caught.value.findings] == [
        "is a file, where the folder of generated files would go"
    ]
    assert tree(tmp_path) == {"rules": "a file"}


ONE = {"rules/a.yaml": "1\n", "rules/b.yaml": "1\n", "rules/old.yaml": "1\n", "runbooks/same.md": "same\n"}
TWO = {"rules/a.yaml": "2\n", "rules/b.yaml": "2\n", "dashboards/new.json": "2\n", "runbooks/same.md": "same\n"}
THREE = dict.fromkeys(ONE | TWO, "3\n") | {"rules/b.yaml": "1\n"}


def cut_off(files, out, number):
    """Generate in a process that is killed at the change of that number. Returns whether it came so far."""
    child = os.fork()
    if not child:
        left = number

        def deadly(call):
            def killed(*arguments, **options):
                nonlocal left
                left -= 1
                if left < 0:
                    os._exit(9)
                return call(*arguments, **options)

            return killed

        for name in ("open", "replace", "unlink", "rmdir", "mkdir"):
            setattr(os, name, deadly(getattr(os, name)))
        write(files, out)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9


@pytest.mark.parametrize("after", [ONE, TWO, THREE, {}], ids=["back", "same", "other", "none"])
def test_a_run_that_is_killed_heals_whatever_comes_next(tmp_path, after):
    kills = 0
    for number in range(100):
        out = tmp_path / str(number)
        write(ONE, out)
        killed = cut_off(TWO, out, number)
        kills += killed
        for again in range(0, 12, 3) if killed else ():  # and once more, in the middle of healing
            cut_off(THREE, out, again)
        write(after, out)
        assert {name: text for name, text in tree(out).items() if name != MANIFEST} == after
        assert (out / MANIFEST).read_text().count("\n") == len(after)
        if not killed:
            break
    assert 10 < kills < 50


def test_a_file_that_cannot_be_replaced_is_told_and_heals(tmp_path, monkeypatch):
    write(ONE, tmp_path)
    replace = os.replace

    def refuse(source, target):
        if str(target).endswith("b.yaml"):
            raise PermissionError(1, "Operation not permitted")
        replace(source, target)

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", refuse)
        with pytest.raises(OutputError) as caught:
            write(TWO, tmp_path)
    (finding,) = caught.value.findings
    assert finding.message == "can't be written: Operation not permitted"
    assert finding.why == "2 of 4 had changed before, whole; generate again, and the others follow"
    assert not [name for name in tree(tmp_path) if name.endswith(".tmp")]
    write(THREE, tmp_path)
    assert {name: text for name, text in tree(tmp_path).items() if name != MANIFEST} == THREE


def test_temporary_files_of_killed_runs_are_swept_and_others_are_not(tmp_path):
    write({"rules/a.yaml": "a\n"}, tmp_path)
    (tmp_path / "theirs").mkdir()
    keep = [
        f"rules/.watchkeeper-{os.getppid()}-0.tmp",  # a run still at work
        "rules/.a.yaml.tmp",
        "theirs/.watchkeeper-999999999-0.tmp",
        "rules/.watchkeeper-0-0.tmp",
    ]
    stale = [".watchkeeper-999999999-0.tmp", "rules/.watchkeeper-999999999-7.tmp", "runbooks/.watchkeeper-2-0.tmp.tmp"]
    (tmp_path / "runbooks").mkdir()
    for name in [*keep, *stale]:
        (tmp_path / name).write_text("")
    write({"rules/a.yaml": "a\n"}, tmp_path)
    assert sorted(tree(tmp_path)) == sorted([*keep, stale[-1], "rules/a.yaml", MANIFEST])


def test_an_interruption_while_staging_leaves_nothing(tmp_path, monkeypatch):
    fchmod = os.fchmod

    def interrupt(*_):
        raise KeyboardInterrupt

    write({"rules/a.yaml": "a\n"}, tmp_path)
    before = tree(tmp_path)
    monkeypatch.setattr(os, "fchmod", interrupt)
    with pytest.raises(KeyboardInterrupt):
        write({"dashboards/n.json": "n\n", "rules/a.yaml": "b\n"}, tmp_path)
    monkeypatch.setattr(os, "fchmod", fchmod)
    assert tree(tmp_path) == before
    assert not (tmp_path / "dashboards").exists()


def test_all_is_staged_when_it_is_called_settled(tmp_path):
    write({"rules/a.yaml": "a\n"}, tmp_path)
    calls = []

    def settled():
        calls.append((tmp_path / "rules/a.yaml").read_text())
        assert len(list(tmp_path.rglob(".watchkeeper-*.tmp"))) == 3

    apply(plan({"rules/a.yaml": "b\n"}, tmp_path), settled)
    assert calls == ["a\n"]


def test_names_as_long_as_they_may_be(tmp_path):
    name = f"rules/{'n' * 250}.yaml"
    write({name: "a\n"}, tmp_path)
    assert write({name: "b\n"}, tmp_path).writes[name] == "b\n"


def test_a_full_disk_changes_nothing(tmp_path):
    """The kernel refuses the write in the middle: a file size limit fails as a full disk does, without needing root."""
    write({"rules/a.yaml": "old\n", "rules/b.yaml": "old\n"}, tmp_path)
    before = tree(tmp_path)
    made = plan({"rules/a.yaml": "new\n", "rules/b.yaml": "n" * 100_000, "dashboards/n.json": "n\n"}, tmp_path)
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
    assert not (tmp_path / "dashboards").exists()


def test_a_full_disk_leaves_no_folder(tmp_path):
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    made = plan({"rules/a.yaml": "a\n", "rules/b.yaml": "n" * 100_000}, tmp_path / "new/out")
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, hard))
    try:
        with pytest.raises(OutputError):
            apply(made)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert list(tmp_path.iterdir()) == []
