"""Files from the disk and their YAML: what can't be read is one line with its place."""

from __future__ import annotations

import gc
import os
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from watchkeeper.findings import to_text
from watchkeeper.read.documents import Unreadable, documents, load
from watchkeeper.read.files import LARGEST
from watchkeeper.read.loader import is_merge, is_null
from watchkeeper.read.source import File


def refused(text):
    with pytest.raises(Unreadable) as caught:
        documents(File("f.yaml", text))
    return caught.value.finding


@pytest.mark.parametrize(
    ("text", "line", "column", "message", "fix"),
    [
        ("a:\n\t- b\n", 2, 1, "a tab in the indentation", "spaces"),
        ("a: |\n\tx\n", 2, 1, "a tab in the indentation", "spaces"),
        ("a: b: c\n", 1, 5, 'a ": " where no key can be', "quote"),
        ("a: 1\n b: 2\n", 2, 3, 'a ": " where no key can be', "indentation"),
        ("é: @x\n", 1, 4, 'can\'t begin with "@"', "quote"),
        ('é: "\\q"\n', 1, 5, "an escape that YAML does not have", "single quotes"),
        ("a: *x\n", 1, 4, "an alias without an anchor", "quote"),
        ('b: 1\na: "x\nc: 1\n', 2, 4, "never closed", "close"),
        ("- a\nb: c\n", 2, 1, "no item of it", '"- "'),
        ('a: "x" y\n', 1, 8, "no key of it", "quotes"),
        ("[1]\na: b", 2, 1, "after the end of the document", "---"),
        ("{{ if .Values.x }}\na: b", 1, 1, "a template, which makes YAML", "helm template"),
        ("a:\n  - b\n  {{- if .Values.x }}\n  - b: c\n", 3, 3, "a template, which makes YAML", "helm template"),
        ("a:\n  - b\n  {{ toYaml .Values.x | indent 2 }}\n", 3, 3, "a template, which makes YAML", "helm template"),
        ("a: |\n  {{ with $labels }}\n  {{ end }}\nb: c: d\n", 4, 5, 'a ": " where no key can be', "quote"),
        ("x: [\n", 1, 5, "a bracket is never closed", "quote"),
        ("x: [a\n\n", 1, 6, "a missing comma, or brackets", "quote"),
        ("x: {a: b\nc: d\n", 2, 2, "a missing comma, or brackets", "quote"),
        ("x: }\n", 1, 4, "a value is missing", "quote"),
        ("x: !foo!y z\n", 1, 4, "found undefined tag handle", ""),
        ("a: &x 1\nb: &x 2\n", 2, 4, "the anchor is already there", "name"),
        ("[" * 100_000, 1, 1001, "1,000 levels", ""),
        ("- " * 100_000, 1, 1999, "1,000 levels", ""),
        ('é: 1\nb: "\x07"\n', 2, 5, "U+0007", "escape"),
        ("a: \ud800\n", 1, 4, "U+D800", "escape"),
        ("a: &a [*a]\n", 1, 4, "holds itself", "write out"),
        ("a: &a {b: {c: *a}}\n", 1, 4, "holds itself", "write out"),
    ],
)  # fmt: skip
def test_what_is_no_yaml(text, line, column, message, fix):
    finding = refused(text)
    assert finding.check == "yaml/parse"
    assert (finding.place.line, finding.place.column) == (line, column)
    assert message in finding.message
    assert fix in finding.fix
    assert bool(fix) == bool(finding.fix)
    assert finding.why
    assert "\n" not in finding.message


def test_a_bomb_is_refused_at_once():
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 30)]
    assert "unfold to more than" in refused("\n".join(lines)).message  # else it would never be done
    long = "x" * 1_000_000
    assert "unfold to more than" in refused(f"a: &a {long}\nb: [{', '.join(['*a'] * 1000)}]\n").message
    assert len(documents(File("f", f"a: &a {long}\nb: [*a, *a]\n"))) == 1


def test_documents_and_their_nodes():
    assert documents(File("f", "")) == documents(File("f", "# only a comment\n")) == []
    one, two, three = documents(File("f", "a: 1\n---\n---\n- {b: ~}\n"))
    assert one.value[0][1].value == "1"
    assert is_null(two)
    assert is_null(three.value[0].value[0][1])
    (root,) = documents(File("f", "<<: {a: !!str null}\n'<<': 'null'\nb: !!str ~\nc: Null\n"))
    assert [is_merge(key) for key, _ in root.value] == [True, False, False, False]
    assert [is_null(value) for _, value in root.value[1:]] == [False, False, True]


def test_collecting_is_as_it_was():
    assert gc.isenabled()
    refused("a: [")
    documents(File("f", "a: 1"))
    assert gc.isenabled()


@given(st.text(st.sampled_from("ab:-#'\"|>[]{}&*!%@ \n\t\r\0\ud800é<,?\\"), max_size=40))
def test_any_text_is_nodes_or_a_finding(text):
    finding = None
    try:
        documents(File("f.yaml", text))
    except Unreadable as error:
        finding = error.finding
    assert finding is None or (finding.place.line >= 1 and to_text(finding))


def unloadable(path):
    with pytest.raises(Unreadable) as caught:
        load(path)
    return to_text(caught.value.finding)


def test_files_that_are_none(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert unloadable("none.yaml").startswith("none.yaml: error[yaml/parse] can't be read: No such file")
    assert "error[json/parse]" in unloadable("none.json")
    assert "this is a folder" in unloadable(tmp_path)
    os.mkfifo("pipe")
    assert "this is a pipe" in unloadable("pipe")
    assert "this is a device" in unloadable("/dev/zero")
    assert "can't be read" in unloadable("a\0b")
    Path("loop").symlink_to("loop")
    assert "can't be read: Too many levels of symbolic links" in unloadable("loop")


def test_a_large_file_is_not_read(tmp_path):
    path = tmp_path / "f.yaml"
    with path.open("wb") as file:
        file.truncate(LARGEST * 100)  # sparse
    start = time.process_time()
    assert "larger than 64 MiB: 6400 MiB" in unloadable(path)
    assert time.process_time() - start < 1  # to read it takes several


@pytest.mark.parametrize(
    ("raw", "where", "message"),
    [
        (b"a: \xff\n", "1:4", "byte 0xff is not UTF-8"),
        ("é: 1\nü: ".encode() + b"\xc3\n", "2:4", "byte 0xc3 is not UTF-8"),
        (b"\xef\xbb\xbfa: \xff\n", "1:4", "byte 0xff is not UTF-8"),
        (b"\xef\xbb\xbf\xc3\n", "1:1", "byte 0xc3 is not UTF-8"),
        (b"\x7fELF\x02\x01\0\0", "1:7", "this is no text"),
        (b"\x7fELF\xff\x01\0\0", "1:5", "leave out what is no text"),
        (b"\xff\xfea", "", "no UTF-16"),
        (b"\xff\xfe\0\0a\0\0\0", "1:1", "this is no text"),
    ],
)
def test_bytes_that_are_no_text(tmp_path, raw, where, message):
    path = tmp_path / "f.yaml"
    path.write_bytes(raw)
    told = unloadable(path)
    assert told.startswith(f"{path}:{where}: error" if where else f"{path}: error")
    assert message in told


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_texts_and_their_marks(tmp_path, encoding):
    path = tmp_path / "f.yaml"
    path.write_bytes("é: 1\r\nb: 2\r\n".encode(encoding))
    file = load(path)
    assert (file.name, file.text) == (str(path), "é: 1\nb: 2\n")
    (key, value) = documents(file)[0].value[1]
    assert str(file.place(key.start_mark.index)).endswith(":2:1")
    assert str(file.place(value.start_mark.index)).endswith(":2:4")
