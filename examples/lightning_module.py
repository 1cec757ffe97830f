"""Lightning, watched: one callback, and a loader that is wrapped. On the CPU, in some seconds.

pip install lightning                       # or pytorch_lightning
install -d /tmp/spool
WATCHKEEPER_SPOOL=/tmp/spool python examples/lightning_module.py
watchkeeper spool last --all --spool /tmp/spool
"""

from __future__ import annotations

import importlib.util
import tempfile
import time
from typing import Any

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

if importlib.util.find_spec("lightning"):
    import lightning.pytorch as pl
else:
    import pytorch_lightning as pl

from watchkeeper_fleet import agent
from watchkeeper_fleet.agent.integrations.lightning import WatchkeeperCallback

BATCHES = 30


class SlowNumbers(Dataset):
    """Samples that take their time, as from a disk."""

    def __len__(self) -> int:
        return 8 * BATCHES

    def __getitem__(self, index: int) -> torch.Tensor:
        time.sleep(0.001)
        return torch.full((64,), float(index % 7))


class Model(pl.LightningModule):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 64))

    def train_dataloader(self) -> Any:
        return agent.loader(DataLoader(SlowNumbers(), batch_size=8))

    def training_step(self, batch: torch.Tensor) -> torch.Tensor:
        return agent.watch_finite(nn.functional.mse_loss(self.layers(batch), batch), name="loss")

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.SGD(self.parameters(), lr=1e-3)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        trainer = pl.Trainer(
            accelerator="cpu",
            callbacks=[WatchkeeperCallback()],
            default_root_dir=folder,
            enable_checkpointing=False,
            enable_model_summary=False,
            enable_progress_bar=False,
            logger=False,
            max_epochs=2,
        )
        trainer.fit(Model())
    print(f"2 epochs of {BATCHES} batches: look at gpu_step_wall_seconds_total, gpu_data_wait_seconds_total,")
    print("torch_nonfinite_tensors_total, torch_progress_timestamp_seconds")


if __name__ == "__main__":
    main()
