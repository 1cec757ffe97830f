"""The history of dashboards: our mark is the message of each version that we wrote."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING
from urllib.parse import quote

from watchkeeper.sync import marks
from watchkeeper.sync.objects import Refused

if TYPE_CHECKING:
    from collections.abc import Collection

    from watchkeeper.sync.http import Client
    from watchkeeper.sync.objects import Mark

__all__ = ["WORKERS", "mark_in_history", "marks_in_history"]

WORKERS = 8  # requests at a time
_NEWEST = 50  # versions that are looked at; Grafana keeps 20 by default


def marks_in_history(client: Client, uids: Collection[str]) -> dict[str, Mark]:
    """Return the mark of each dashboard, by uid."""
    if not uids:
        return {}
    with ThreadPoolExecutor(max_workers=WORKERS) as pool:
        return dict(zip(uids, pool.map(lambda uid: mark_in_history(client, uid), uids), strict=True))


def mark_in_history(client: Client, uid: str) -> Mark:
    """Return the mark of the newest version that we wrote, however many of others' came after it."""
    path = f"/api/dashboards/uid/{quote(uid, safe='')}/versions"
    answer = client.request("GET", path, params={"limit": _NEWEST}, expect=(403, 404))
    if answer.status == 403:
        message = "what was applied is in the history of dashboards, which it shows to those who may write them"
        raise Refused("rights", f"{client.url}: {message}: give the token dashboards:write")
    # A list until Grafana 11.5, then an object around it.
    found = answer.data.get("versions") if isinstance(answer.data, dict) else answer.data
    versions = [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []
    mark = marks.from_message(one.get("message") for one in versions)
    if mark.owner or not versions or versions[-1].get("parentVersion"):
        return mark
    # The list says "Initial save" of the first version, whatever its message is: GetDashboardVersions in
    # pkg/api/dashboard.go; asked for alone, it has its own.
    first = versions[-1].get("version")
    if not isinstance(first, int):
        return mark
    answer = client.request("GET", f"{path}/{first}", expect=(404, 500))
    return marks.from_message([answer.data.get("message")]) if isinstance(answer.data, dict) else mark
