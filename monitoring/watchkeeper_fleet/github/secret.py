"""The token: from the environment, or from a file that the environment names."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from watchkeeper_fleet.github.trouble import Trouble

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

VARIABLE = "WATCHKEEPER_GITHUB_TOKEN"
LARGEST = 4096


def token_from(environment: Mapping[str, str] = os.environ) -> Callable[[], str]:
    """Return what gives the token: empty where there is none, which GitHub allows 60 requests an hour.

    A file is read each time, so that a token that was renewed is used at once. ValueError where both are set.
    """
    given, name = environment.get(VARIABLE, ""), environment.get(f"{VARIABLE}_FILE", "")
    if given and name:
        raise ValueError(f"set {VARIABLE} or {VARIABLE}_FILE, not both")
    if name:
        return lambda: _read(Path(name))
    return lambda: _checked(given.strip(), VARIABLE)


def _read(path: Path) -> str:
    try:
        with path.open("rb") as file:
            data = file.read(LARGEST + 1)
    except OSError as error:
        reason = os.strerror(error.errno or 0)
        raise Trouble("token", f"{VARIABLE}_FILE: {path} can't be read: {reason}") from None
    token = data.decode("ascii", "replace").strip() if len(data) <= LARGEST else "\n"
    if not token:
        raise Trouble("token", f"{VARIABLE}_FILE: {path} is empty: write the token into it")
    return _checked(token, f"{VARIABLE}_FILE: {path}")


def _checked(token: str, where: str) -> str:
    """Return a token that can stand in a header; what it is instead is not told."""
    if any(not "!" <= character <= "~" for character in token):
        raise Trouble("token", f"{where} holds no token: one is a single word of ASCII letters, digits and signs")
    return token
