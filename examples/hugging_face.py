"""A Trainer of Hugging Face, watched: one callback, and a loader that is wrapped. On the CPU, in some seconds.

pip install transformers accelerate
install -d /tmp/spool
WATCHKEEPER_SPOOL=/tmp/spool python examples/hugging_face.py
watchkeeper spool last --all --spool /tmp/spool
"""

from __future__ import annotations

import tempfile
import time
from typing import Any

import torch
from torch.utils.data import Dataset
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments

from watchkeeper_fleet import agent
from watchkeeper_fleet.agent.integrations.transformers import WatchkeeperCallback

STEPS = 20


class SlowTokens(Dataset):
    """Samples that take their time, as from a disk."""

    def __len__(self) -> int:
        return 4 * STEPS

    def __getitem__(self, index: int) -> dict[str, torch.Tensor]:
        time.sleep(0.002)
        tokens = (torch.arange(16) + index) % 64
        return {"input_ids": tokens, "labels": tokens}


class WatchedTrainer(Trainer):
    """The loader that a Trainer makes, wrapped."""

    def get_train_dataloader(self) -> Any:
        return agent.loader(super().get_train_dataloader())


def main() -> None:
    model = GPT2LMHeadModel(GPT2Config(vocab_size=64, n_positions=16, n_embd=32, n_layer=2, n_head=2))
    with tempfile.TemporaryDirectory() as folder:
        arguments = TrainingArguments(
            output_dir=folder,
            disable_tqdm=True,
            gradient_accumulation_steps=2,
            num_train_epochs=1,
            per_device_train_batch_size=2,
            report_to=[],
            save_strategy="no",
            use_cpu=True,
        )
        trainer = WatchedTrainer(model, arguments, train_dataset=SlowTokens(), callbacks=[WatchkeeperCallback()])
        agent.watch_weights(model)
        trainer.train()
    print(f"{STEPS} steps of two batches: look at gpu_step_wall_seconds_total, gpu_data_wait_seconds_total,")
    print("torch_parameter_bytes, torch_progress_timestamp_seconds")


if __name__ == "__main__":
    main()
