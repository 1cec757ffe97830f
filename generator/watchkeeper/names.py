"""What Prometheus accepts as a name or a duration, without and with UTF-8 names, and Grafana as a uid."""

from __future__ import annotations

import re

# https://prometheus.io/docs/concepts/data_model/#metric-names-and-labels, the names that need no quotes.
METRIC = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*\Z")
LABEL = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*\Z")

# Units in falling order, each at most once (model.ParseDuration).
DURATION = re.compile(
    r"(?:0|(?:(?P<y>\d+)y)?(?:(?P<w>\d+)w)?(?:(?P<d>\d+)d)?(?:(?P<h>\d+)h)?(?:(?P<m>\d+)m)?(?:(?P<s>\d+)s)?(?:(?P<ms>\d+)ms)?)\Z"
)
# The uid of an object of Grafana's.
GRAFANA_UID = re.compile(r"[A-Za-z0-9_-]{1,40}")
_MILLISECONDS = {
    "y": 31_536_000_000,
    "w": 604_800_000,
    "d": 86_400_000,
    "h": 3_600_000,
    "m": 60_000,
    "s": 1000,
    "ms": 1,
}


def milliseconds(duration: str) -> int | None:
    """Return a Prometheus duration such as `1h30m` in milliseconds, None where it is none."""
    match = DURATION.match(duration)
    if not match or not duration or not duration.isascii():
        return None
    total = sum(int(n) * _MILLISECONDS[unit] for unit, n in match.groupdict(default="0").items())
    return total if total < 2**63 // 1_000_000 else None  # Go counts in nanoseconds
