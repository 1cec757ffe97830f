"""Lightning: a callback that makes each batch a step of the agent.

    from watchkeeper_fleet.agent.integrations.lightning import WatchkeeperCallback

    trainer = Trainer(callbacks=[WatchkeeperCallback()])

For `lightning` and `pytorch_lightning`: the one that is imported already. Wrap the loader in `agent.loader` yourself.
"""

from __future__ import annotations

import importlib.util
import sys

from watchkeeper_fleet import agent
from watchkeeper_fleet.agent.integrations.open_step import OpenStep

# Two distributions of one framework, whose classes are not each other's. By name, since either may be missing.
_PACKAGES = ("lightning.pytorch", "pytorch_lightning")


_HERE = next((name for name in _PACKAGES if name in sys.modules), "")
_NAME = _HERE or _PACKAGES[importlib.util.find_spec("lightning") is None]
Callback = importlib.import_module(_NAME).Callback


class WatchkeeperCallback(Callback):  # type: ignore[misc, valid-type]  # of whichever is here
    """Starts the agent, and tells it of batches: of training, validation, tests and predictions."""

    def __init__(self) -> None:
        super().__init__()
        self._step = OpenStep()

    def _begin(self, *_: object, **__: object) -> None:
        self._step.begin()

    def _end(self, *_: object, **__: object) -> None:
        self._step.end()

    def setup(self, *_: object, **__: object) -> None:
        """Start the agent in each process that works."""
        agent.start()

    def _ready(self, *_: object, **__: object) -> None:
        agent.ready()

    on_train_start = on_validation_start = on_test_start = on_predict_start = _ready
    on_train_batch_start = on_validation_batch_start = on_test_batch_start = on_predict_batch_start = _begin
    on_train_batch_end = on_validation_batch_end = on_test_batch_end = on_predict_batch_end = _end
    # A batch that is skipped, or that raises, has no end of its own.
    on_train_epoch_end = on_exception = teardown = _end
