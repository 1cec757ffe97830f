"""[tool.watchkeeper.sync]."""

import pytest

from watchkeeper.settings import SettingsError, load_settings
from watchkeeper.sync.settings import Options


def read(folder, text):
    (folder / "pyproject.toml").write_text(f"[tool.watchkeeper]\n{text}\n")
    return load_settings(folder).sync


def test_none_and_some(tmp_path):
    assert read(tmp_path, "") is None
    found = read(tmp_path, 'sync = {owner = "acme", ruler_url = "https://mimir/rules", ruler_tenant = "team"}')
    assert found == Options("acme", "", "https://mimir/rules", "watchkeeper", "team")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("sync = 3", "sync must be a table"),
        ("sync = {}", "sync has no owner"),
        ('sync = {owner = "a b"}', 'sync.owner can\'t be "a b"'),
        ('sync = {owner = "a", grafana = "x"}', 'unknown key "sync.grafana"; did you mean "grafana_url"'),
        ('sync = {owner = "a", grafana_url = "grafana"}', 'sync.grafana_url is not an address: "grafana"'),
        ('sync = {owner = "a", ruler_url = 3}', "sync.ruler_url must be a text, not 3"),
        ('sync = {owner = "a", ruler_tenant = "a b"}', "sync.ruler_tenant can't be"),
    ],
)
def test_what_can_not_be(tmp_path, text, words):
    with pytest.raises(SettingsError) as caught:
        read(tmp_path, text)
    assert words in str(caught.value)
