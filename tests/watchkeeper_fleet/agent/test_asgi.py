"""The ASGI middleware on a client of a few lines: when a request is work, and what is passed on."""

# ruff: noqa: ARG001 - an ASGI application takes all three of its arguments
from __future__ import annotations

import asyncio

import pytest

from watchkeeper_fleet.agent import steps
from watchkeeper_fleet.agent.integrations.asgi import WatchkeeperMiddleware
from watchkeeper_fleet.agent.integrations.open_step import OpenStep
from watchkeeper_fleet.agent.registry import REGISTRY, Registry
from watchkeeper_fleet.agent.steps import Meter

BODY = [(b"content-length", b"6")]
PARTS = [{"type": "http.request", "body": b"abc", "more_body": True}, {"type": "http.request", "body": b"def"}]


@pytest.fixture
def meter(monkeypatch):
    """A meter of its own under the steps of this test, with the agent off."""
    monkeypatch.setenv("WATCHKEEPER_AGENT", "0")
    meter = Meter(Registry())
    monkeypatch.setattr(steps, "METER", meter)
    before = REGISTRY.faults
    yield meter
    assert REGISTRY.faults == before


def serve(app, scope, messages=()):
    """Serve one connection; return what the application sent."""
    coming, sent = list(messages), []

    async def receive():
        return coming.pop(0)

    async def send(message):
        sent.append(message)

    asyncio.run(app(scope, receive, send))
    return sent


def http(headers=()):
    return {"type": "http", "headers": list(headers)}


def recording(meter, seen):
    """An application that notes whether it is at work: at its begin, after each part of the body, and at its answer."""

    def note():
        seen.append(meter.progress()[0])

    async def app(scope, receive, send):
        note()
        more = any(name == b"content-length" for name, _ in scope["headers"])
        while more:
            more = (await receive()).get("more_body", False)
            note()
        await send({"type": "http.response.start", "status": 200})
        note()

    return app


def test_work_begins_when_the_request_is_there(meter):
    seen = []
    sent = serve(WatchkeeperMiddleware(recording(meter, seen)), http(BODY), PARTS)
    assert seen == [False, False, True, True]
    assert sent == [{"type": "http.response.start", "status": 200}]
    at_work, ended = meter.progress()
    assert not at_work
    assert ended > 0


@pytest.mark.parametrize("headers", [(), [(b"content-length", b"0")]], ids=["none", "of length 0"])
def test_a_request_without_a_body_is_work_at_once(meter, headers):
    seen = []

    async def app(scope, receive, send):
        seen.append(meter.progress()[0])

    serve(WatchkeeperMiddleware(app), http(headers))
    assert seen == [True]
    assert not meter.progress()[0]


def test_an_answer_before_the_body_is_read(meter):
    seen = []

    async def app(scope, receive, send):
        await send({"type": "http.response.start", "status": 413})
        seen.append(meter.progress()[0])

    serve(WatchkeeperMiddleware(app), http(BODY))
    assert seen == [True]
    assert not meter.progress()[0]


def test_a_client_that_goes_away_while_the_answer_streams(meter):
    """The application listens for that meanwhile: the step goes on."""
    seen = []

    async def app(scope, receive, send):
        await receive()
        await receive()
        seen.append(meter.progress()[0])

    serve(WatchkeeperMiddleware(app), http(BODY), [PARTS[1], {"type": "http.disconnect"}])
    assert seen == [True]


def test_an_error_is_the_applications_own_and_ends_the_step(meter):
    async def app(scope, receive, send):
        raise LookupError("theirs")

    with pytest.raises(LookupError, match="theirs"):
        serve(WatchkeeperMiddleware(app), http())
    assert not meter.progress()[0]


def test_requests_overlap(meter):
    """Two at once on one thread count the time once, and the second goes on when the first has ended."""

    async def both():
        inside, go = asyncio.Event(), asyncio.Event()

        async def slow(scope, receive, send):
            inside.set()
            await go.wait()

        async def quick(scope, receive, send):
            pass

        first = asyncio.create_task(WatchkeeperMiddleware(slow)(http(), None, None))
        await inside.wait()
        await WatchkeeperMiddleware(quick)(http(), None, None)
        assert meter.progress()[0]
        go.set()
        await first

    asyncio.run(both())
    assert not meter.progress()[0]


def test_websockets_are_left_alone(meter):
    seen = []

    async def app(scope, receive, send):
        seen.append((scope["type"], await receive(), meter.progress()[0]))

    serve(WatchkeeperMiddleware(app), {"type": "websocket", "headers": []}, ["hello"])
    assert seen == [("websocket", "hello", False)]


def test_ready_once_the_application_has_come_up(monkeypatch):
    told = []
    monkeypatch.setenv("WATCHKEEPER_AGENT", "0")
    monkeypatch.setattr("watchkeeper_fleet.agent.ready", lambda: told.append("ready"), raising=False)

    async def app(scope, receive, send):
        for kind in ("lifespan.startup.complete", "lifespan.shutdown.complete"):
            told.append(kind)
            await send({"type": kind})

    sent = serve(WatchkeeperMiddleware(app), {"type": "lifespan"})
    assert told == ["lifespan.startup.complete", "ready", "lifespan.shutdown.complete"]
    assert [message["type"] for message in sent] == ["lifespan.startup.complete", "lifespan.shutdown.complete"]


def test_the_device_is_the_one_that_is_named(meter):
    async def app(scope, receive, send):
        pass

    serve(WatchkeeperMiddleware(app, gpu=3), http())
    meter.compute()
    assert [lane.gpu for lane in meter._lanes.values()] == ["3"]


def test_a_step_that_hooks_open_and_close(meter):
    """Frameworks leave out hooks: after a batch that raised, or that was skipped."""
    step = OpenStep()
    step.end()
    assert meter.progress() == (False, 0.0)
    step.begin()
    step.begin()
    assert meter.progress()[0]
    step.end()
    assert not meter.progress()[0]
    step.end()
