"""What Alertmanager's webhook says (version 4), checked before anything is done with it."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any

from watchkeeper.findings import printable

if TYPE_CHECKING:
    from collections.abc import Mapping

_FINGERPRINT = re.compile(r"[0-9a-f]{16}")
_TIME = re.compile(r"(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?(?:Z|([+-])(\d\d):(\d\d))", re.ASCII)


class Malformed(ValueError):  # noqa: N818 - says more than its name with Error
    """The body is no notification of Alertmanager: what is wrong with it, in one line."""


@dataclass(frozen=True)
class Alert:
    """One alert of a notification. `since` is when it began to fire, as a Unix time."""

    fingerprint: str
    is_firing: bool
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    since: float

    @property
    def status(self) -> str:
        """The value of the label `status` of a metric."""
        return "firing" if self.is_firing else "resolved"


@dataclass(frozen=True)
class Notification:
    """The alerts of a group, and where the Alertmanager is that tells of them."""

    alerts: tuple[Alert, ...]
    external_url: str


def read(body: bytes) -> Notification:
    """Return what a request says. Malformed where it is none of Alertmanager's."""
    try:
        data = json.loads(body)
    except (ValueError, RecursionError):
        raise Malformed("the body is no JSON: does Alertmanager's webhook send here?") from None
    alerts = _of(data, "alerts", list, "the body")
    told: dict[str, Alert] = {}
    for number, one in enumerate(alerts):
        alert = _alert(one, f"alerts[{number}]")
        told[alert.fingerprint] = alert
    return Notification(tuple(told.values()), _of(data, "externalURL", str, "the body"))


def _alert(data: object, where: str) -> Alert:
    fingerprint = _of(data, "fingerprint", str, where)
    status = _of(data, "status", str, where)
    if not _FINGERPRINT.fullmatch(fingerprint):
        raise Malformed(f"{where}: fingerprint is not 16 hexadecimal digits")
    if status not in ("firing", "resolved"):
        raise Malformed(f"{where}: status is {printable(status)[:40]}, not firing or resolved")
    return Alert(
        fingerprint=fingerprint,
        is_firing=status == "firing",
        labels=_texts(data, "labels", where),
        annotations=_texts(data, "annotations", where),
        since=_time(_of(data, "startsAt", str, where), where),
    )


def _of(data: Any, name: str, kind: type, where: str) -> Any:
    value = data.get(name) if isinstance(data, dict) else None
    if not isinstance(value, kind):
        raise Malformed(f"{where}: there is no {name}: is it a webhook of Alertmanager, version 4?")
    return value


def _texts(data: Any, name: str, where: str) -> dict[str, str]:
    found = _of(data, name, dict, where)
    if not all(isinstance(value, str) for value in found.values()):
        raise Malformed(f"{where}: {name} has a value that is no string")
    return {key: value for key, value in sorted(found.items()) if value}


def _time(text: str, where: str) -> float:
    """Return the Unix time of RFC 3339, to the microsecond: Python before 3.11 reads neither Z nor nanoseconds."""
    match = _TIME.fullmatch(text)
    if match is None:
        raise Malformed(f"{where}: startsAt is no time")
    *whole, fraction, sign, hours, minutes = match.groups()
    try:
        year, month, day, hour, minute, second = map(int, whole)
        at = datetime(year, month, day, hour, minute, second, int((fraction or "0")[:6].ljust(6, "0")), timezone.utc)
        ahead = timedelta(hours=int(hours or 0), minutes=int(minutes or 0))
        return max((at + ahead if sign == "-" else at - ahead).timestamp(), 0.0)
    except (ValueError, OverflowError):
        raise Malformed(f"{where}: startsAt is no time") from None
