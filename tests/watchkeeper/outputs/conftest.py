"""A pack of rules and dashboards, and what a project with some settings makes of it."""

from types import SimpleNamespace

import pytest
import yaml

from watchkeeper import Alert, Gauge, Group, Pack, Recording
from watchkeeper import dashboards as d
from watchkeeper.building import build
from watchkeeper.settings import load_settings

UP = Gauge("up", "Whether the last scrape went well.")
DOWN = Alert("TargetDown", expr="up == 0", for_="2m", severity="critical", team="sre", summary="Down", runbook="down")
RECORDED = Recording("instance:up:sum", "sum by (instance) (up)", labels={"own": "rule"})


def board(uid, folder, text):
    return lambda _: d.dashboard(
        uid=uid, title=f"Title of {uid}", folder=folder, panels=[d.stat("Up", f"sum({UP})"), d.text(text, key="text")]
    )


@pytest.fixture
def generated(tmp_path):
    """What the outputs that `[tool.watchkeeper]` with these settings chooses are.

    `boards` gives dashboards by uid their folders. Returned are `files` below deploy/, `documents` of those in YAML,
    the texts of `boards`, and `findings` of outputs and folders.
    """

    def run(settings, *, groups=None, boards=None, text="Yes"):
        (tmp_path / "pyproject.toml").write_text(f"[tool.watchkeeper]\n{settings}\n")
        groups = (Group("targets", [RECORDED, DOWN], interval="30s"),) if groups is None else tuple(groups)
        made = tuple(
            board(uid, folder, text) for uid, folder in ({"targets": ""} if boards is None else boards).items()
        )
        project, findings = build(
            Pack(metrics=(UP,), groups=groups, dashboards=made), load_settings(tmp_path), keep=False
        )
        files = {path: text for path, text in project.files.items() if path.startswith("deploy/")}
        return SimpleNamespace(
            files=files,
            documents={path: yaml.safe_load(text) for path, text in files.items() if path.endswith(".yaml")},
            boards={path: text for path, text in project.files.items() if path.startswith("dashboards/")},
            findings=[one for one in findings if one.check.startswith(("output/", "dashboard/folder"))],
        )

    return run
