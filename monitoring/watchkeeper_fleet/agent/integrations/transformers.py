"""Hugging Face: a callback that makes each step of a Trainer one of the agent.

    from watchkeeper_fleet.agent.integrations.transformers import WatchkeeperCallback

    trainer = Trainer(..., callbacks=[WatchkeeperCallback()])

A step is from its first forward pass to the optimizer, over all batches whose gradients are accumulated.
"""

from __future__ import annotations

import importlib

from watchkeeper_fleet import agent
from watchkeeper_fleet.agent.integrations.open_step import OpenStep

# By name: a type checker would go through all of it.
TrainerCallback = importlib.import_module("transformers").TrainerCallback


class WatchkeeperCallback(TrainerCallback):  # type: ignore[misc, valid-type]  # not known to mypy
    """Starts the agent, and tells it of the steps."""

    def __init__(self) -> None:
        self._step = OpenStep()

    def on_train_begin(self, *_: object, **__: object) -> None:
        """Start the agent. A step of a training that ended by an exception ends here."""
        self._step.end()
        agent.start()
        agent.ready()

    def on_step_begin(self, *_: object, **__: object) -> None:
        """Begin a step: its batches are there."""
        self._step.begin()

    def on_step_end(self, *_: object, **__: object) -> None:
        """End the step; logs, evaluations and checkpoints come after it."""
        self._step.end()

    # Where an epoch ends in the middle of a step.
    on_epoch_end = on_train_end = on_step_end
