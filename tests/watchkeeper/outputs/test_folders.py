"""Folders that dashboards name, and that the settings know or not."""


def test_a_folder_that_is_not_declared_is_told_once_any_is(generated):
    assert generated("", boards={"a": "gpus"}).findings == []
    assert generated('folders = {gpu = "GPU"}', boards={"a": "gpu", "b": ""}).findings == []
    (finding,) = generated('folders = {gpu = "GPU"}', boards={"a": "gpus"}).findings
    assert finding.check == "dashboard/folder"
    assert 'dashboard "Title of a": there is no folder "gpus"; did you mean "gpu"?' in finding.message
    assert finding.place.line


def test_or_once_an_output_needs_its_title(generated):
    for kind in ("grafana-provisioning", "git-sync", "kubernetes"):
        made = generated(f"outputs = {{{kind} = {{}}}}", boards={"a": "gpus"})
        assert [finding.check for finding in made.findings] == ["dashboard/folder"], kind
    assert generated("outputs = {mimir = {}}", boards={"a": "gpus"}).findings == []
