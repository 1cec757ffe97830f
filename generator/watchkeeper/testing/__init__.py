"""Alerts tested in pytest: series in, assertions about what fires, when and with which text.

    from watchkeeper import testing
    run = testing.run(PACK, {ALLOC_RETRIES: "0x20 0+1x20"}, labels={"instance": "n1", "gpu": "3"}, interval="15s")
    run.fires(RETRYING, first="7m30s", labels={"gpu": "3"}, summary="n1 GPU 3")
    run.silent(RETRYING, until="5m")

Under pytest the fixture `pack` is the project's own pack, from `[tool.watchkeeper]`, and `pack.run(...)` does the same.
Running stands here and not on `Pack`, so that definitions, which a training image may import, know no engine.
Names are loaded when first asked for.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from watchkeeper.testing.bench import Bench, run
    from watchkeeper.testing.names import UnknownNameError
    from watchkeeper.testing.observed import observed
    from watchkeeper.testing.runs import AlertFailure, Run

__all__ = ["AlertFailure", "Bench", "Run", "UnknownNameError", "observed", "run"]

_HOMES = {
    "bench": ("Bench", "run"),
    "names": ("UnknownNameError",),
    "observed": ("observed",),
    "runs": ("AlertFailure", "Run"),
}


def __getattr__(name: str) -> object:
    """Load a public name from the module that has it (PEP 562)."""
    for module, names in _HOMES.items():
        if name in names:
            import importlib

            value = getattr(importlib.import_module(f"watchkeeper.testing.{module}"), name)
            globals()[name] = value
            return value
    raise AttributeError(f"module 'watchkeeper.testing' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
