"""PromQL evaluated in process, with the answers of Prometheus.

    from watchkeeper.engine import Data, Engine, Series
    data = Data([Series({"__name__": "up", "job": "a"}, [0, 15_000], [1.0, 0.0])])
    Engine().instant(data, "min_over_time(up[1m])", at=15.0)

Names are loaded when first asked for, and NumPy only where there is much data: a small test must start fast.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from watchkeeper.engine.data import Data, Series
    from watchkeeper.engine.engine import Engine
    from watchkeeper.engine.results import EvalError, Matrix, Sample, Scalar, String, Vector

__all__ = ["Data", "Engine", "EvalError", "Matrix", "Sample", "Scalar", "Series", "String", "Vector"]

_HOMES = {
    "data": ("Data", "Series"),
    "engine": ("Engine",),
    "results": ("EvalError", "Matrix", "Sample", "Scalar", "String", "Vector"),
}


def __getattr__(name: str) -> object:
    """Load a public name from the module that has it (PEP 562)."""
    for module, names in _HOMES.items():
        if name in names:
            import importlib

            value = getattr(importlib.import_module(f"watchkeeper.engine.{module}"), name)
            globals()[name] = value
            return value
    raise AttributeError(f"module 'watchkeeper.engine' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
