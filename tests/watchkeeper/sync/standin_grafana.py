"""A Grafana on loopback that answers as its documentation and source say, each answer citing which.

It has what a sync needs of both APIs, over one set of dashboards and folders: /api as until 11, and /apis as since 12.
The places are those of https://github.com/grafana/grafana unless they say otherwise. No Grafana was there to ask.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from standin_grafana_api import LegacyApi
from standin_grafana_apis import ResourceApi
from standin_grafana_store import ACTIONS, TOKEN, Stored, status
from standin_server import Fault, Reply, login_page

if TYPE_CHECKING:
    from collections.abc import Callable

    from standin_server import Request

__all__ = ["ACTIONS", "TOKEN", "Fault", "Grafana", "Reply", "Stored", "login_page"]

UNKNOWN = Reply(404, {"message": "Not found"})


class Grafana(LegacyApi, ResourceApi):
    """A Grafana of one organization; tests may add to `routes`: method, pattern of the path, what answers."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.routes: list[tuple[str, str, Callable[[Request], Reply]]] = [
            ("GET", "/api/health", self._health),
            ("GET", "/api/frontend/settings", self._settings),
            ("GET", "/api/access-control/user/permissions", self._permissions),
            *self.legacy_routes(),
            *self.resource_routes(),
        ]

    def answer(self, request: Request) -> Reply:
        """Answer a request."""
        with self.lock:
            if request.path != "/api/health" and request.headers.get("authorization") != f"Bearer {self.token}":
                # pkg/services/authn/clients/api_key.go: errAPIKeyInvalid
                return Reply(401, {"message": "Invalid API key", "messageId": "api-key.invalid", "statusCode": 401})
            if request.path.startswith("/apis") and not self.has_apis:
                return UNKNOWN
            if (named := re.search("/namespaces/([^/]+)/", request.path)) and named[1] != self.namespace:
                # pkg/services/apiserver/auth/authorizer: the namespace is that of another organization
                return status(403, "Forbidden", "invalid namespace")
            for method, pattern, handler in self.routes:
                if method == request.method and (match := re.fullmatch(pattern, request.path)):
                    request.parts = match.groups()
                    return handler(request)
            return UNKNOWN

    def _health(self, _request: Request) -> Reply:
        # docs: http-api/other.md "Health API"; the version is left out where it is hidden from the anonymous
        return Reply(200, {"commit": "4a3b2c1", "database": "ok", "version": self.version})

    def _settings(self, _request: Request) -> Reply:
        # pkg/api/dtos/frontend_settings.go: FrontendSettingsDTO; the namespace since 10.4
        return Reply(
            200, {"buildInfo": {"version": self.version, "edition": "Open Source"}, "namespace": self.namespace}
        )

    def _permissions(self, _request: Request) -> Reply:
        # pkg/services/accesscontrol/api/api.go: getUserPermissions, GroupScopesByAction
        return Reply(200, {right: [f"{right.split(':')[0]}:*"] for right in sorted(self.rights)})
