"""The start with no change of code: watchkeeper_agent.pth calls it, from Python 3.15 on watchkeeper_agent.start."""

import os


def start() -> None:
    """Start the agent if WATCHKEEPER_AGENT=1. Every Python process of the installation comes by here from 3.15 on."""
    if os.environ.get("WATCHKEEPER_AGENT") != "1":
        return
    try:
        from watchkeeper_fleet.agent import lifecycle

        lifecycle.start()
    except Exception:  # noqa: BLE001, S110 - half an installation is no reason for a Python not to start
        pass
