"""Dashboards in a folder that the settings do not name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from watchkeeper.findings import Finding, nearest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from watchkeeper.project import Project

ID = "dashboard/folder"

_NEED_TITLES = {"grafana-provisioning", "git-sync", "kubernetes"}  # the outputs that write folders


def check(project: Project) -> Iterator[Finding]:
    """Yield a finding for each dashboard whose folder is unknown, once folders are declared or written."""
    folders = project.settings.folders
    if not folders and not _NEED_TITLES & project.settings.outputs.keys():
        return
    for dashboard in project.dashboards:
        if dashboard.folder and dashboard.folder not in folders:
            what = f'dashboard "{dashboard.title}": there is no folder "{dashboard.folder}"'
            yield Finding(
                ID,
                f"{what}{nearest(dashboard.folder, list(folders))}",
                dashboard.place,
                why="what its title is, and what it is in, only the settings know",
                fix=f'add it to [tool.watchkeeper.folders]: {dashboard.folder} = "Its title"',
            )
