"""What runs inside a GPU process: it reports what torch's allocator holds, and never disturbs.

    from watchkeeper_fleet import agent
    agent.start()

Or, with no change of code, WATCHKEEPER_AGENT=1 in the environment, or `python -m watchkeeper_fleet.agent script.py`.
WATCHKEEPER_AGENT=0 turns all of them off. Names are loaded when first asked for: every Python of an installation may
import this.
"""

TYPE_CHECKING = False  # typing itself is slow to import
if TYPE_CHECKING:
    from watchkeeper_fleet.agent.api import expect, loader, ready, start, step, stop
    from watchkeeper_fleet.agent.inference import monitor_inference

__all__ = ["expect", "loader", "monitor_inference", "ready", "start", "step", "stop"]


def __getattr__(name: str) -> object:
    """Load a public name (PEP 562)."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name == "monitor_inference":
        from watchkeeper_fleet.agent import inference as home
    else:
        from watchkeeper_fleet.agent import api as home  # type: ignore[no-redef] # one of the two
    value = globals()[name] = getattr(home, name)
    return value


def __dir__() -> list[str]:
    return __all__.copy()
