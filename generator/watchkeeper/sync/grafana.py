"""Grafana: what it is, whether it is new enough, what the token may do, and which of its two APIs to use.

Since version 12 it has /apis, where an object is a resource with annotations; before, and deprecated since 13, /api.
https://grafana.com/docs/grafana/latest/developer-resources/api-reference/http-api/apis/
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from watchkeeper.findings import printable
from watchkeeper.sync.grafana_api import Api
from watchkeeper.sync.grafana_apis import DASHBOARDS, FOLDERS, Apis
from watchkeeper.sync.objects import Refused

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from watchkeeper.sync.http import Client

__all__ = ["DELETES", "READS", "WRITES", "connect", "missing", "version"]

# What the token must be allowed to, each an action of Grafana's role-based access control.
READS = ("dashboards:read", "folders:read")
WRITES = (*READS, "dashboards:create", "dashboards:write", "folders:create", "folders:write")
DELETES = (*WRITES, "dashboards:delete", "folders:delete")
# Before /apis, what was applied is in the history of a dashboard, which only those see who may write it.
HISTORY = "dashboards:write"

_VERSIONS = ("v1", "v1beta1")  # of resources in the classic model, the newest first


def connect(client: Client, owner: str, *, target: tuple[int, int], rights: Sequence[str] = READS) -> Api | Apis:
    """Return the adapter for a server. Refused where it is none, is too old, or the token may not do what is needed."""
    if not client.has_token:
        raise Refused("token", f"{client.url}: there is no token: set WATCHKEEPER_GRAFANA_TOKEN")
    _check_health(client)
    settings = _asked(client, "/api/frontend/settings")
    found = version(settings.get("buildInfo"))
    if found is None:
        raise Refused("version", f"{client.url}: it does not say which version of Grafana it is")
    if found < target:
        wanted, is_ = (".".join(str(part) for part in one) for one in (target, found))
        message = f"Grafana {is_} is older than {wanted}, which is generated for: set targets.grafana, or update it"
        raise Refused("version", f"{client.url}: {message}")
    resources = _resources(client)
    if resources is None and HISTORY not in rights:
        rights = (*rights, HISTORY)
    if lacking := missing(client, rights):
        message = f"the token lacks {', '.join(lacking)}: give them to its service account"
        raise Refused("rights", f"{client.url}: {message}")
    if resources is None:
        return Api(client, owner)
    return Apis(client, owner, resources, _namespace(settings))


def version(build: object) -> tuple[int, int] | None:
    """Return a server's version from what it says of its build."""
    text = build.get("version") if isinstance(build, dict) else None
    match = re.match(r"(\d{1,4})\.(\d{1,4})", text) if isinstance(text, str) else None
    return (int(match[1]), int(match[2])) if match else None


def missing(client: Client, rights: Collection[str]) -> list[str]:
    """Return those rights that the token has for no object at all; empty where the server does not tell."""
    answer = client.request("GET", "/api/access-control/user/permissions", expect=(404,))
    if answer.status == 404 or not isinstance(answer.data, dict):
        return []
    return sorted(right for right in set(rights) if not answer.data.get(right))


def _check_health(client: Client) -> None:
    """Ask what Grafana tells everybody, so that a wrong address is not taken for a wrong token."""
    answer = client.request("GET", "/api/health", expect=(401, 403, 404))
    if answer.status in (401, 403):  # by a proxy before it
        raise Refused("unauthorized", f"GET {client.url}/api/health: {answer.status}; is the token right?")
    if not isinstance(answer.data, dict) or "database" not in answer.data:
        raise Refused("malformed", f"{client.url}: that is no Grafana: give the address of its start page")
    if answer.data["database"] != "ok":
        state = printable(str(answer.data["database"]))[:60]
        raise Refused("server", f"{client.url}: Grafana's database is {state}: run it again later")


def _asked(client: Client, path: str) -> Mapping[str, Any]:
    answer = client.request("GET", path)
    if not isinstance(answer.data, dict):
        raise Refused("malformed", f"GET {client.url}{path}: not what Grafana answers: is something in between?")
    return answer.data


def _resources(client: Client) -> dict[str, str] | None:
    """Return the versions of the groups that we need, by the groups' names; None where not both are offered."""
    answer = client.request("GET", "/apis", expect=(403, 404))
    groups = answer.data.get("groups") if answer.status == 200 and isinstance(answer.data, dict) else None
    found: dict[str, str] = {}
    for group in groups if isinstance(groups, list) else []:
        name, versions = (group.get(key) for key in ("name", "versions")) if isinstance(group, dict) else ("", None)
        offered = [one.get("version") for one in versions or [] if isinstance(one, dict)]
        best = next((one for one in _VERSIONS if one in offered), None)
        if name in (DASHBOARDS, FOLDERS) and best:
            found[name] = best
    return found if len(found) == 2 else None


def _namespace(settings: Mapping[str, Any]) -> str:
    """Return the namespace of the token's organization; the first one's is called default."""
    found = settings.get("namespace")
    return found if isinstance(found, str) and re.fullmatch(r"[a-z0-9-]{1,63}", found) else "default"
