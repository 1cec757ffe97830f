"""A worker in the style of vLLM's, watched by a class derived from it. On the CPU, in some seconds.

    install -d /tmp/spool
    WATCHKEEPER_SPOOL=/tmp/spool python examples/worker.py
    watchkeeper spool last --all --spool /tmp/spool

`Worker` stands for the engine's own; its methods have the names of vLLM's. With vLLM itself, derive `WatchedWorker`
from `vllm.v1.worker.gpu_worker.Worker` and name it by `--worker-cls my_module.WatchedWorker`.
"""

from __future__ import annotations

import time
from typing import Any

import torch
from torch import nn

from watchkeeper_fleet import agent

REQUESTS = 50


class Worker:
    def load_model(self) -> None:
        self.model = nn.Sequential(nn.Embedding(100, 64), nn.Linear(64, 100)).to(torch.bfloat16)

    def get_model(self) -> nn.Module:
        return self.model

    def compile_or_warm_up_model(self) -> None:
        self.execute_model([0])

    def execute_model(self, tokens: list[int]) -> torch.Tensor:
        with torch.inference_mode():
            return self.model(torch.tensor(tokens)).argmax(-1)


class WatchedWorker(Worker):
    def load_model(self, *args: Any, **options: Any) -> None:
        agent.start()
        super().load_model(*args, **options)
        agent.watch_weights(self.get_model())

    def compile_or_warm_up_model(self, *args: Any, **options: Any) -> Any:
        result = super().compile_or_warm_up_model(*args, **options)
        agent.ready()
        return result

    def execute_model(self, *args: Any, **options: Any) -> Any:
        with agent.step():
            return super().execute_model(*args, **options)


def main() -> None:
    worker = WatchedWorker()
    worker.load_model()
    worker.compile_or_warm_up_model()
    for number in range(REQUESTS):
        worker.execute_model([number])
        time.sleep(0.02)  # no requests: that is no work, and no stall
    print(f"{REQUESTS} requests: look at gpu_step_wall_seconds_total, a small part of the second that passed,")
    print("torch_parameter_bytes, torch_process_ready, torch_progress_timestamp_seconds")


if __name__ == "__main__":
    main()
