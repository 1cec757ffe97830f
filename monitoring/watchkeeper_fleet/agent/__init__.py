"""What runs inside a GPU process: it reports what torch's allocator holds, and never disturbs.

    from watchkeeper_fleet import agent
    agent.start()

Or, with no change of code, WATCHKEEPER_AGENT=1 in the environment, or `python -m watchkeeper_fleet.agent script.py`.
WATCHKEEPER_AGENT=0 turns all of them off. Names are loaded when first asked for: every Python of an installation may
import this.
"""

TYPE_CHECKING = False  # typing itself is slow to import
if TYPE_CHECKING:
    from watchkeeper_fleet.agent import reference
    from watchkeeper_fleet.agent.api import expect, loader, ready, start, step, stop
    from watchkeeper_fleet.agent.collectives import watch_collectives
    from watchkeeper_fleet.agent.embedding_drift import drift
    from watchkeeper_fleet.agent.finite import watch_finite
    from watchkeeper_fleet.agent.inference import monitor_inference
    from watchkeeper_fleet.agent.kernels import sample_kernels
    from watchkeeper_fleet.agent.weights import watch_weights

__all__ = [
    "drift",
    "expect",
    "loader",
    "monitor_inference",
    "ready",
    "reference",
    "sample_kernels",
    "start",
    "step",
    "stop",
    "watch_collectives",
    "watch_finite",
    "watch_weights",
]

# Where each of them is; the rest is in api.
_HOMES = {
    "drift": "embedding_drift",
    "monitor_inference": "inference",
    "reference": "reference",
    "sample_kernels": "kernels",
    "watch_collectives": "collectives",
    "watch_finite": "finite",
    "watch_weights": "weights",
}


def __getattr__(name: str) -> object:
    """Load a public name (PEP 562)."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = __import__(f"{__name__}.{_HOMES.get(name, 'api')}", fromlist=[name])
    value = globals()[name] = home if name == "reference" else getattr(home, name)
    return value


def __dir__() -> list[str]:
    return __all__.copy()
