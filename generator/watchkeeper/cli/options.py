"""Options that several verbs have."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from collections.abc import Callable

definitions_option: Callable[..., Any] = click.option(
    "--definitions", metavar="MODULE:PACK", help="The pack to read, instead of the one that pyproject.toml names."
)
