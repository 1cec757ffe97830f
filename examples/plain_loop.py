"""A plain training loop, watched: on the CPU, in some seconds.

install -d /tmp/spool
WATCHKEEPER_SPOOL=/tmp/spool python examples/plain_loop.py
watchkeeper spool last --all --spool /tmp/spool
"""

from __future__ import annotations

import time

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

from watchkeeper_fleet import agent

BATCHES = 40


class SlowNumbers(Dataset):
    """Samples that take their time, as from a disk."""

    def __len__(self) -> int:
        return 8 * BATCHES

    def __getitem__(self, index: int) -> torch.Tensor:
        time.sleep(0.001)
        return torch.full((64,), float(index % 7))


def main() -> None:
    agent.start()
    model = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 64))
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    agent.watch_weights(model)
    agent.ready()
    for batch in agent.loader(DataLoader(SlowNumbers(), batch_size=8)):
        with agent.step():
            loss = agent.watch_finite(nn.functional.mse_loss(model(batch), batch), name="loss")
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            time.sleep(0.03)  # what a larger model would take
    print(f"{BATCHES} batches, and each waited 8 ms for its data: look at")
    print("  gpu_step_wall_seconds_total and gpu_data_wait_seconds_total: the time, and what of it was waiting")
    print("  torch_parameter_bytes, torch_nonfinite_tensors_total, torch_progress_timestamp_seconds")


if __name__ == "__main__":
    main()
