"""The token: from the environment, or from a file that the environment names."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from watchkeeper.tokens import TokenError, checked, read
from watchkeeper_fleet.github.trouble import Trouble

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

VARIABLE = "WATCHKEEPER_GITHUB_TOKEN"


def token_from(environment: Mapping[str, str] = os.environ) -> Callable[[], str]:
    """Return what gives the token: empty where there is none, which GitHub allows 60 requests an hour.

    A file is read each time, so that a token that was renewed is used at once. ValueError where both are set.
    """
    given, name = environment.get(VARIABLE, ""), environment.get(f"{VARIABLE}_FILE", "")
    if given and name:
        raise ValueError(f"set {VARIABLE} or {VARIABLE}_FILE, not both")
    if name:
        return partial(_told, partial(read, Path(name), f"{VARIABLE}_FILE: {Path(name)}"))
    return partial(_told, partial(checked, given.strip(), VARIABLE))


def _told(token: Callable[[], str]) -> str:
    try:
        return token()
    except TokenError as error:
        raise Trouble("token", str(error)) from None
