"""Tokens: from the environment, or from a file that the environment names."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from watchkeeper.sync.objects import Refused

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["GRAFANA", "RULER", "token_from"]

GRAFANA = "WATCHKEEPER_GRAFANA_TOKEN"
RULER = "WATCHKEEPER_RULER_TOKEN"
LARGEST = 4096


def token_from(
    variable: str, environment: Mapping[str, str] = os.environ, *, required: bool = True
) -> Callable[[], str]:
    """Return what gives the token, empty where there is none and none is required. Refused where it can't be had.

    A file is read each time, so that a token that was renewed is used at once.
    """
    given, name = environment.get(variable, "").strip(), environment.get(f"{variable}_FILE", "")
    if given and name:
        raise Refused("token", f"set {variable} or {variable}_FILE, not both")
    if name:
        where = f"{variable}_FILE: {ascii(name)[1:-1]}"
        _read(Path(name), where)
        return lambda: _read(Path(name), where)
    if required and not given:
        raise Refused("token", f"there is no token: set {variable}, or {variable}_FILE to the name of a file with it")
    token = _checked(given, variable)
    return lambda: token


def _read(path: Path, where: str) -> str:
    try:
        with path.open("rb") as file:
            data = file.read(LARGEST + 1)
    except OSError as error:
        raise Refused("token", f"{where} can't be read: {os.strerror(error.errno or 0)}") from None
    token = data.decode("ascii", "replace").strip() if len(data) <= LARGEST else "\n"
    if not token:
        raise Refused("token", f"{where} is empty: write the token into it")
    return _checked(token, where)


def _checked(token: str, where: str) -> str:
    """Return a token that can stand in a header; what it is instead is not told."""
    if any(not "!" <= character <= "~" for character in token):
        raise Refused("token", f"{where} holds no token: one is a single word of ASCII letters, digits and signs")
    return token
