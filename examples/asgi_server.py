"""A model behind ASGI, watched: a middleware around the application, a decorator on the model. On the CPU.

    pip install uvicorn
    install -d /tmp/spool
    WATCHKEEPER_SPOOL=/tmp/spool python examples/asgi_server.py     # PORT=8000
    curl --data '[1, 2, 3]' http://127.0.0.1:8000
    watchkeeper spool last --all --spool /tmp/spool

Look at inference_latency_seconds, inference_nonfinite_outputs_total (after --data '[1e39]'), torch_process_ready,
gpu_step_wall_seconds_total (which stands while there are no requests), torch_work_in_progress.
"""

from __future__ import annotations

import json
import os
from typing import Any

import torch
import uvicorn

from watchkeeper_fleet import agent
from watchkeeper_fleet.agent.integrations.asgi import WatchkeeperMiddleware


@agent.monitor_inference(name="predict")
def predict(numbers: list[float]) -> torch.Tensor:
    with torch.inference_mode():
        return torch.tensor(numbers, dtype=torch.float32) * 2


async def application(scope: Any, receive: Any, send: Any) -> None:
    """As small as ASGI can be; a framework's application is wrapped in the same way."""
    if scope["type"] == "lifespan":
        while True:
            kind = (await receive())["type"]
            await send({"type": f"{kind}.complete"})
            if kind == "lifespan.shutdown":
                return
    body = b""
    more = True
    while more:
        message = await receive()
        body += message.get("body", b"")
        more = message.get("more_body", False)
    answer = json.dumps(predict(json.loads(body)).tolist()).encode()
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"application/json")]})
    await send({"type": "http.response.body", "body": answer})


if __name__ == "__main__":
    uvicorn.run(WatchkeeperMiddleware(application), port=int(os.environ.get("PORT", "8000")))
