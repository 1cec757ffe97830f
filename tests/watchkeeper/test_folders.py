"""Grafana's folders in the settings."""

import itertools

import pytest

from watchkeeper.folders import Folder, path
from watchkeeper.settings import SettingsError, load_settings


def folders(tmp_path, table):
    (tmp_path / "pyproject.toml").write_text(f"[tool.watchkeeper.folders]\n{table}\n")
    return load_settings(tmp_path).folders


def test_folders_by_uid(tmp_path):
    found = folders(tmp_path, 'gpu = "GPU"\ngpu-memory = {title = "Memory", parent = "gpu"}')
    assert found == {"gpu": Folder("gpu", "GPU"), "gpu-memory": Folder("gpu-memory", "Memory", "gpu")}
    assert [folder.title for folder in path(found, "gpu-memory")] == ["GPU", "Memory"]
    assert path(found, "gpu") == (Folder("gpu", "GPU"),)
    assert path(found, "other") == ()


def test_blanks_around_a_title_are_none_of_it(tmp_path):
    assert folders(tmp_path, 'gpu = " GPU "') == {"gpu": Folder("gpu", "GPU")}


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ('"a b" = "A"', '"a b" is no uid'),
        (f'{"a" * 41} = "A"', "is no uid"),
        ('general = "A"', "is a folder of Grafana's own"),
        ('gpu = "A"\nGPU = "B"', '"GPU" is there twice, capitals aside'),
        ("a = 1", "must be a title"),
        ("a = {title = 1}", "must be a title"),
        ("a = {}", "folders.a has no title"),
        ('a = " "', "folders.a has no title"),
        ('a = {title = "A", folder = "b"}', 'unknown key "folders.a.folder"'),
        ('gpu = "GPU"\na = {title = "A", parent = "gpus"}', 'there is no folder "gpus"; did you mean "gpu"'),
        ('a = {title = "A", parent = "a"}', "or in itself"),
        ('a = {title = "A", parent = "b"}\nb = {title = "B", parent = "a"}', "or in itself"),
        ("chain", "deeper than 4"),
    ],
)
def test_folders_that_can_not_be(tmp_path, table, words):
    table = chain("abcde") if table == "chain" else table
    with pytest.raises(SettingsError, match=words):
        folders(tmp_path, table)


def test_four_levels_are_fine(tmp_path):
    assert len(folders(tmp_path, chain("abcd"))) == 4


def chain(uids):
    inner = (f'{uid} = {{title = "T", parent = "{above}"}}' for above, uid in itertools.pairwise(uids))
    return "\n".join([f'{uids[0]} = "T"', *inner])
