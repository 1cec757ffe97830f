"""What `--metrics` names: a file, a scrape's address, or a Prometheus server's."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from watchkeeper.findings import Finding, Place

if TYPE_CHECKING:
    from watchkeeper.read.scrape import Published

_SECONDS = 30
_MOST = 256 << 20  # bytes of an answer


class Unreachable(Exception):  # noqa: N818 - it is what happened
    """A server that can't be asked, or does not answer; `finding` says why."""

    def __init__(self, finding: Finding) -> None:
        super().__init__(finding.message)
        self.finding = finding


def published(where: str) -> list[Published]:
    """Return the series that a file or an address tells of.

    Raises:
        Unreachable: an address that does not answer, or not with metrics.
        watchkeeper.read.files.Unreadable: a file that can't be read.
    """
    from watchkeeper.read.scrape import of_scrape

    if not re.match(r"(?i)https?://", where):
        from watchkeeper.read.files import load

        return of_scrape(load(where).text)
    if where.split("?", maxsplit=1)[0].rstrip("/").endswith("/metrics"):
        return of_scrape(_get(where).decode("utf-8", "replace"))
    from watchkeeper.read.scrape import data_of, of_metadata

    base = where.rstrip("/")
    try:
        names = data_of(_get(f"{base}/api/v1/label/__name__/values"))
        return of_metadata(data_of(_get(f"{base}/api/v1/metadata")), names)
    except (ValueError, TypeError) as error:
        fix = "give the address of a Prometheus server, or one that ends in /metrics"
        raise Unreachable(
            Finding("metrics/answer", f"not what Prometheus answers: {error}", Place(where), fix=fix)
        ) from None


def _get(address: str) -> bytes:
    from http.client import HTTPException
    from urllib.request import Request, urlopen

    try:
        request = Request(address, headers={"Accept": "application/json, text/plain;version=0.0.4, */*;q=0.1"})  # noqa: S310 - http(s) alone, see above
        with urlopen(request, timeout=_SECONDS) as answer:  # noqa: S310 - as above
            body: bytes = answer.read(_MOST)
            return body
    except (OSError, HTTPException, ValueError) as error:
        reason = getattr(error, "reason", None) or error
        raise Unreachable(Finding("metrics/answer", f"can't be asked: {reason}", Place(address))) from None
