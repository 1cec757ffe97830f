"""Receivers, and the integrations by which they tell somebody.

A text that is left empty is the page's (`watchkeeper.render.page`). Texts are templates of Alertmanager.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Union

from watchkeeper.fields import duration, flag, hold, several, text, texts_by_name, whole
from watchkeeper.findings import Place, caller
from watchkeeper.model import DefinitionError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


@dataclass(frozen=True)
class PagerDuty:
    """PagerDuty's Events API, version 2. `routing_key_file` holds the integration key of a service.

    `severity` is PagerDuty's, by default that of the alerts. `details` are custom details, by default the page's
    fields. `url` is the API's address, empty for the global one: PagerDuty's European region has another.
    """

    routing_key_file: str
    description: str = field(default="", kw_only=True)
    severity: str = field(default="", kw_only=True)
    details: Mapping[str, str] = field(default_factory=dict, kw_only=True, hash=False)
    url: str = field(default="", kw_only=True)
    send_resolved: bool = field(default=True, kw_only=True)
    place: Place = field(default_factory=caller, kw_only=True, compare=False, repr=False)

    def __post_init__(self) -> None:
        hold(self, routing_key_file=text, description=text, severity=text, details=texts_by_name, url=text)
        hold(self, send_resolved=flag)
        _no_secret("PagerDuty", self.url, self.place)
        paths("PagerDuty", self.place, routing_key_file=self.routing_key_file)


@dataclass(frozen=True)
class Slack:
    """An incoming webhook of Slack, whose address is a secret: it is in `api_url_file`, empty for the global one."""

    channel: str
    api_url_file: str = field(default="", kw_only=True)
    title: str = field(default="", kw_only=True)
    text: str = field(default="", kw_only=True)
    username: str = field(default="", kw_only=True)
    send_resolved: bool = field(default=True, kw_only=True)
    place: Place = field(default_factory=caller, kw_only=True, compare=False, repr=False)

    def __post_init__(self) -> None:
        hold(self, channel=text, api_url_file=text, title=text, text=text, username=text, send_resolved=flag)
        paths("Slack", self.place, api_url_file=self.api_url_file)


@dataclass(frozen=True)
class Email:
    """A mail to one address, or to several with commas between. The mail server is the global one."""

    to: str
    subject: str = field(default="", kw_only=True)
    html: str = field(default="", kw_only=True)
    text: str = field(default="", kw_only=True)
    send_resolved: bool = field(default=True, kw_only=True)
    place: Place = field(default_factory=caller, kw_only=True, compare=False, repr=False)

    def __post_init__(self) -> None:
        hold(self, to=text, subject=text, html=text, text=text, send_resolved=flag)


@dataclass(frozen=True)
class Webhook:
    """An HTTP POST of Alertmanager's JSON.

    An address that is itself a secret is in `url_file`, instead of `url`. `credentials_file` holds a bearer token.
    `max_alerts` is the most alerts of a group that one POST tells of, 0 for all. `timeout` is a duration, empty for
    no other limit than the group's.
    """

    url: str = ""
    url_file: str = field(default="", kw_only=True)
    credentials_file: str = field(default="", kw_only=True)
    max_alerts: int = field(default=0, kw_only=True)
    timeout: str = field(default="", kw_only=True)
    send_resolved: bool = field(default=True, kw_only=True)
    place: Place = field(default_factory=caller, kw_only=True, compare=False, repr=False)

    def __post_init__(self) -> None:
        hold(self, url=text, url_file=text, credentials_file=text, max_alerts=whole, timeout=duration)
        hold(self, send_resolved=flag)
        _no_secret("Webhook", self.url, self.place)
        paths("Webhook", self.place, url_file=self.url_file, credentials_file=self.credentials_file)


Integration = Union[PagerDuty, Slack, Email, Webhook]  # noqa: UP007 - evaluated at run time, on 3.10 too


@dataclass(frozen=True)
class Receiver:
    """Who is told, by all of these integrations; by none, and it is nobody."""

    name: str
    integrations: Sequence[Integration] = ()
    place: Place = field(default_factory=caller, kw_only=True, compare=False, repr=False)

    def __post_init__(self) -> None:
        hold(self, name=text, integrations=several(PagerDuty, Slack, Email, Webhook))

    def __str__(self) -> str:
        """Return the name."""
        return self.name


_USER = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*://[^/?#]*@")
_KEY = re.compile(r"[?&]((?:[a-z]+[_-])?(?:token|secret|password|key)|apikey|sig(?:nature)?)=", re.IGNORECASE)

# A key or a token in place of its file: no file in a folder, or with an extension, is called so.
_BARE_KEY = re.compile(r"(?:[Bb]earer )?(?=[\w+=-]*[0-9])[\w+=-]*[A-Za-z0-9]{20}[\w+=-]*", re.ASCII)


def paths(owner: str, place: Place, **files: str) -> None:
    """Refuse, as the name of a file that holds a secret, what is plainly the secret itself."""
    for name, value in files.items():
        if "://" in value or _BARE_KEY.fullmatch(value):
            what = f"{owner}: {name} is the secret itself, as it seems, which would be committed"
            raise DefinitionError(what, place, "put it into a file on Alertmanager's host, and write that file's path")


def _no_secret(owner: str, url: str, place: Place) -> None:
    """Refuse an address with a secret in it that can be told: the file is for a repository."""
    if _USER.match(url):
        what, fix = "a user or a password", "put it into a file on Alertmanager's host: credentials_file"
    elif match := _KEY.search(url):
        what, fix = f'a secret, "{match[1]}"', "put the whole address into a file on Alertmanager's host: url_file"
    else:
        return
    raise DefinitionError(f"{owner}: the address holds {what}, which would be committed", place, fix)
