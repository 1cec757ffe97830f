"""What `--metrics` names: a file, a scrape's address, or a Prometheus server's."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from watchkeeper.findings import Excerpt, Finding, Place

if TYPE_CHECKING:
    from watchkeeper.read.scrape import Published

ID = "metrics/scrape"

_SECONDS = 30
_MOST = 256 << 20  # bytes of an answer
_ADDRESS = re.compile(r"(?i)https?://")
_USER = re.compile(r"(?<=//)[^/?#]*@")
_FIX = "give the address of a Prometheus server, or that of a scrape, which often ends in /metrics"


class Unreachable(Exception):  # noqa: N818 - it is what happened
    """A server that can't be asked, or does not answer with metrics; `finding` says why.

    `answered`: there is a server, which does not have what it was asked for.
    """

    def __init__(self, where: str, message: str, fix: str = "", *, answered: bool = False) -> None:
        super().__init__(message)
        self.answered = answered
        address = _USER.sub("", where)  # a password is not shown
        self.finding = Finding(ID, f"{address}: {message}", fix=fix)


def published(where: str) -> list[Published]:
    """Return the series that a file or an address tells of.

    Raises:
        Unreachable: an address that does not answer, or not with metrics.
        watchkeeper.read.files.Unreadable: a file that can't be read, or that is no scrape.
    """
    from watchkeeper.read.scrape import ScrapeError

    if not _ADDRESS.match(where):
        return _of_file(where)
    if _USER.search(where):
        raise Unreachable(where, "names and passwords in an address are not used", "ask with curl, and give its file")
    try:
        return _of_address(where)
    except ScrapeError as error:
        raise Unreachable(where, f"these are no metrics: {error}", _FIX) from None


def _of_file(name: str) -> list[Published]:
    from watchkeeper.read.files import Unreadable, load
    from watchkeeper.read.scrape import ScrapeError, of_scrape

    try:
        file = load(name)
    except Unreadable as error:
        error.finding = replace(error.finding, check=ID)  # it need be no YAML
        raise
    try:
        return of_scrape(file.text)
    except ScrapeError as error:
        place, excerpt = Place(name, error.line, min(error.line, 1)), None
        if error.line:
            line = file.text.split("\n")[error.line - 1]
            excerpt = Excerpt(line, 0, len(line))
        fix = "write what a scrape returns into it, as curl http://host:port/metrics does"
        unreadable = Unreadable(str(error), place)
        unreadable.finding = Finding(ID, str(error), place, excerpt, fix=fix)
        raise unreadable from None


def _of_address(where: str) -> list[Published]:
    from watchkeeper.read.scrape import ScrapeError, data_of, of_metadata, of_scrape

    base = where.partition("?")[0].rstrip("/")
    if not base.endswith("/metrics"):
        try:
            names = data_of(_get(f"{base}/api/v1/label/__name__/values"))
        except Unreachable as error:
            if not error.answered:
                raise
        except ScrapeError:
            pass  # it is no server, and may be a scrape of another name
        else:
            return of_metadata(data_of(_get(f"{base}/api/v1/metadata")), names)
    return of_scrape(_get(where).decode("utf-8", "replace"))


def _get(address: str) -> bytes:
    from http.client import HTTPException
    from urllib.error import HTTPError
    from urllib.request import Request, urlopen

    try:
        accept = "application/json, text/plain;version=0.0.4, */*;q=0.1"
        request = Request(address, headers={"Accept": accept})  # noqa: S310 - http(s) alone, see above
        with urlopen(request, timeout=_SECONDS) as answer:  # noqa: S310 - as above
            body: bytes = answer.read(_MOST)
            return body
    except (OSError, HTTPException, ValueError) as error:
        answered = isinstance(error, HTTPError)
        reason = error if answered else getattr(error, "reason", None) or error
        raise Unreachable(address, f"can't be asked: {reason}", answered=answered) from None
