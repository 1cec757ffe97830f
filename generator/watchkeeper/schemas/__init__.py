"""Our own JSON Schemas (draft 7) for what we write, and faults in words that help.

fastjsonschema, which compiles a schema to Python, accepts what is valid; jsonschema explains what it refused. Their
imports and the compilation wait until something is validated.
"""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from watchkeeper.schemas.fault import Fault, path_text

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Fault", "path_text", "schema", "validate"]

_HERE = Path(__file__).parent


def validate(name: str, value: object, path: tuple[str | int, ...] = ()) -> list[Fault]:
    """Return every fault of a value under the schema of this name, such as `grafana/panel`; none if it is valid.

    `path` leads to the value in its document, for the faults to tell. A value of any depth or size is fine.
    """
    if _accepts(name)(value):
        return []
    from watchkeeper.schemas.explain import explain

    return explain(schema(name), value, path)


@lru_cache(maxsize=None)  # noqa: UP033 - as many as there are files
def schema(name: str) -> dict[str, Any]:
    """Return the schema of this name, with the definitions that its folder shares. Not to be changed.

    Raises:
        FileNotFoundError: there is no such schema.
    """
    file = _HERE / f"{name}.json"
    made: dict[str, Any] = json.loads(file.read_text("utf-8"))
    common = file.with_name("common.json")
    if common.exists():
        shared = json.loads(common.read_text("utf-8"))["definitions"]
        made["definitions"] = {**shared, **made.get("definitions", {})}
    return made


@lru_cache(maxsize=None)  # noqa: UP033 - as many as there are files
def _accepts(name: str) -> Callable[[object], bool]:
    import fastjsonschema

    # Without defaults, or it would write them into the value. Without details: what it says is not shown.
    run = fastjsonschema.compile(schema(name), use_default=False, detailed_exceptions=False)
    refused = fastjsonschema.JsonSchemaValueException

    def accepts(value: object) -> bool:
        try:
            run(value)
        except refused:
            return False
        return True

    return accepts
