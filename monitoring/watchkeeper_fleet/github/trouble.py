"""What can go wrong with a request, by a reason out of a small set: it becomes the label of a metric."""

from __future__ import annotations

REASONS = (
    "forbidden",  # the token may not do that
    "malformed",  # no JSON, cut short, too large, or not of the shape it should be
    "network",  # no connection, or one that broke
    "not_found",  # no such repository or branch, or the token may not see it
    "rate_limit",  # the hour's requests are used up
    "redirect",  # to another host, or round and round
    "refused",  # any other 4xx
    "secondary_limit",  # too much at a time
    "server",  # 5xx
    "timeout",
    "token",  # it can't be read
    "unauthorized",  # it is wrong or has expired
)


class Trouble(Exception):  # noqa: N818 - says more than its name with Error
    """A request has failed: why, and before what Unix time none should be made. Its text is a line without secrets."""

    def __init__(self, reason: str, message: str, *, retry_at: float | None = None, status: int | None = None) -> None:
        assert reason in REASONS, reason
        super().__init__(message)
        self.reason = reason
        self.retry_at = retry_at
        self.status = status
