"""A fault of a document under a schema."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Fault:
    """What is wrong at `path`, and what is allowed there."""

    path: tuple[str | int, ...]
    message: str
    fix: str = ""


def path_text(path: tuple[str | int, ...]) -> str:
    """Return path as `panels[3].fieldConfig.defaults.unit`."""
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path).removeprefix(".")
