"""Tokens that stand in a header of HTTP, as they are given or in a file."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["TokenError", "checked", "read"]

LARGEST = 4096


class TokenError(ValueError):
    """There is no token where one should be: where, and what to do. What is there instead is not told."""


def read(path: Path, where: str) -> str:
    """Return the token in a file; `where` is what messages call it. TokenError where there is none."""
    try:
        with path.open("rb") as file:
            data = file.read(LARGEST + 1)
    except OSError as error:
        raise TokenError(f"{where} can't be read: {os.strerror(error.errno or 0)}") from None
    token = data.decode("ascii", "replace").strip() if len(data) <= LARGEST else "\n"
    if not token:
        raise TokenError(f"{where} is empty: write the token into it")
    return checked(token, where)


def checked(token: str, where: str) -> str:
    """Return a token that can stand in a header. TokenError of another."""
    if any(not "!" <= character <= "~" for character in token):
        raise TokenError(f"{where} holds no token: one is a single word of ASCII letters, digits and signs")
    return token
