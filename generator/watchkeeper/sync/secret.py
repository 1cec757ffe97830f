"""Tokens: from the environment, or from a file that the environment names."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from watchkeeper.sync.objects import Refused
from watchkeeper.tokens import TokenError, checked, read

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["GRAFANA", "RULER", "token_from"]

GRAFANA = "WATCHKEEPER_GRAFANA_TOKEN"
RULER = "WATCHKEEPER_RULER_TOKEN"


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
        from_file = partial(_told, partial(read, Path(name), where))
        from_file()
        return from_file
    if required and not given:
        raise Refused("token", f"there is no token: set {variable}, or {variable}_FILE to the name of a file with it")
    token = _told(partial(checked, given, variable))
    return lambda: token


def _told(token: Callable[[], str]) -> str:
    try:
        return token()
    except TokenError as error:
        raise Refused("token", str(error)) from None
