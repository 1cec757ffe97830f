"""ASGI: a middleware that makes each HTTP request a step of the agent.

    from watchkeeper_fleet.agent.integrations.asgi import WatchkeeperMiddleware

    app = WatchkeeperMiddleware(app)          # FastAPI, Starlette: app.add_middleware(WatchkeeperMiddleware)

The step begins when the whole request is there, so that a client that uploads slowly is no work, and ends when the
application has answered. WebSockets are left alone: one that waits for its client would seem to work for ever.
"""

from __future__ import annotations

from watchkeeper_fleet import agent
from watchkeeper_fleet.agent.integrations.open_step import OpenStep

TYPE_CHECKING = False  # typing itself is slow to import
if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, MutableMapping
    from typing import Any

    Message = MutableMapping[str, Any]
    Receive = Callable[[], Awaitable[Message]]
    Send = Callable[[Message], Awaitable[None]]
    Application = Callable[[Message, Receive, Send], Awaitable[None]]

_OF_A_BODY = (b"content-length", b"transfer-encoding")


class WatchkeeperMiddleware:
    """Starts the agent, and tells it of requests, and that the application has come up.

    `gpu` is torch's index of the device that the requests are for, by default the current one of the event loop's
    thread: name it where `torch.cuda.set_device` is called in another.
    """

    __slots__ = ("_app", "_gpu")

    def __init__(self, app: Application, gpu: int | None = None) -> None:
        self._app = app
        self._gpu = gpu
        agent.start()

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Serve one connection, as ASGI 3 has it."""
        if scope["type"] == "http":
            request = _Request(scope, receive, send, self._gpu)
            try:
                await self._app(scope, request.receive, request.send)
            finally:
                request.step.end()
        elif scope["type"] == "lifespan":
            await self._app(scope, receive, _ready_after(send))
        else:
            await self._app(scope, receive, send)


class _Request:
    """A request whose step begins once all of it is there."""

    __slots__ = ("_begun", "_receive", "_send", "step")

    def __init__(self, scope: Message, receive: Receive, send: Send, gpu: int | None) -> None:
        self._receive = receive
        self._send = send
        self._begun = False
        self.step = OpenStep(gpu)
        if not any(name in _OF_A_BODY and value != b"0" for name, value in scope["headers"]):
            self._begin()

    def _begin(self) -> None:
        if not self._begun:
            self._begun = True
            self.step.begin()

    async def receive(self) -> Message:
        message = await self._receive()
        if not message.get("more_body"):
            self._begin()
        return message

    async def send(self, message: Message) -> None:
        self._begin()  # an answer that does not depend on the body
        await self._send(message)


def _ready_after(send: Send) -> Send:
    async def tell(message: Message) -> None:
        if message["type"] == "lifespan.startup.complete":
            agent.ready()
        await send(message)

    return tell
