"""The exporter's pages over real sockets."""

import contextlib
import socket
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from watchkeeper_fleet.exporter import http_requests
from watchkeeper_fleet.exporter import server as server_module

sys.path.insert(0, str(Path(__file__).parent))

from http_site import ask, ask_once, connection, samples, serving

PROMETHEUS = (
    "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,"
    "application/openmetrics-text;version=0.0.1;q=0.5,text/plain;version=1.0.0;escaping=allow-utf-8;q=0.4,"
    "text/plain;version=0.0.4;q=0.3,*/*;q=0.2"
)


@pytest.fixture
def client():
    with serving() as server:
        client = connection(server)
        yield client
        client.close()


def test_text_is_the_default(client):
    answered = ask(client)
    assert answered.status == 200
    assert answered.headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
    assert 'gpu_xid_errors_total{gpu="0",xid="79"} 2.0\n' in answered.body
    assert "# TYPE gpu_xid_errors_total counter\n" in answered.body


def test_prometheus_gets_openmetrics(client):
    answered = ask(client, Accept=PROMETHEUS, Accept_Encoding="gzip")
    assert answered.headers["Content-Type"] == "application/openmetrics-text; version=1.0.0; charset=utf-8"
    assert answered.headers["Content-Encoding"] == "gzip"
    assert answered.body.endswith("# EOF\n")


def test_a_connection_serves_many_requests(client):
    ask(client)
    before = client.sock
    for path in ("/", "/-/healthy", "/-/ready", "/metrics?name=x"):
        assert ask(client, path).status == 200
    assert client.sock is before is not None


def test_pages(client):
    page = ask(client, "/")
    assert page.headers["Content-Type"] == "text/html; charset=utf-8"
    assert 'href="metrics"' in page.body
    assert ask(client, "/-/healthy").body == "healthy\n"
    assert ask(client, "/-/ready").body == "ready\n"
    assert ask(client, "/metric").status == 404


@pytest.mark.parametrize("start", ["http://host:29400", "HTTP://[::1]"])
def test_the_whole_address_may_be_asked_for(client, start):
    assert ask(client, f"{start}/-/healthy").body == "healthy\n"
    assert "<h1>" in ask(client, start).body


def test_head_has_the_length_and_no_body(client):
    length = ask(client).headers["Content-Length"]
    answered = ask(client, method="HEAD")
    assert (answered.status, answered.headers["Content-Length"], answered.body) == (200, length, "")
    assert ask(client).status == 200


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS"])
def test_other_methods_are_refused(client, method):
    answered = ask(client, method=method)
    assert (answered.status, answered.headers["Allow"]) == (405, "GET, HEAD")


def test_a_body_ends_the_connection(client):
    client.request("GET", "/metrics", body=b"GET /-/healthy HTTP/1.1\r\n\r\n")
    response = client.getresponse()
    response.read()
    assert response.headers["Connection"] == "close"


def test_a_second_length_is_heeded(client):
    host, port = client.host, client.port
    with socket.create_connection((host, port), timeout=20) as raw:
        raw.sendall(b"GET /-/healthy HTTP/1.1\r\nContent-Length: 0\r\nContent-Length: 5\r\n\r\nGET /\r\n")
        answer = b"".join(iter(lambda: raw.recv(65536), b""))
    assert answer.count(b"HTTP/1.1") == 1


@pytest.mark.parametrize(
    ("accept", "wanted"),
    [
        ("", False),
        ("*/*", False),
        ("text/html,application/xhtml+xml,*/*;q=0.8", False),
        ("application/openmetrics-text", True),
        ("application/openmetrics-text ; version=1.0.0", True),
        ("application/openmetrics-text;version=2.0.0,text/plain", False),
        ("application/openmetrics-text;q=0.1,text/plain;q=0.5", False),
        ("application/openmetrics-text;q=0", False),
        ("application/openmetrics-text;q=nonsense,text/plain;q=0.....", True),
        (PROMETHEUS, True),
    ],
)
def test_accept(accept, wanted):
    assert http_requests.wants_openmetrics(accept) is wanted


@pytest.mark.parametrize(
    ("accept", "wanted"), [("", False), ("gzip", True), ("br, *", True), ("gzip;q=0, *", False), ("identity", False)]
)
def test_accept_encoding(accept, wanted):
    assert http_requests.wants_gzip(accept) is wanted


@pytest.mark.parametrize(
    ("header", "seconds"),
    [("10", 9.5), ("1.0", 0.9), ("", 9.5), ("x", 9.5), ("nan", 9.5), ("-1", 9.5), ("inf", 9.5), ("1e9", 119.5)],
)
def test_the_timeout_of_the_scraper(header, seconds):
    assert http_requests.timeout_of(header) == pytest.approx(seconds)


def test_scrapes_share_a_collection():
    begun, go_on, calls = threading.Event(), threading.Event(), []

    def collect():
        calls.append(1)
        begun.set()
        assert go_on.wait(20)
        return samples()

    with serving(collect) as server, ThreadPoolExecutor(20) as pool:
        first = pool.submit(ask_once, server)
        assert begun.wait(20)
        others = [pool.submit(ask_once, server, Accept_Encoding="gzip") for _ in range(19)]
        deadline = time.monotonic() + 20
        while (len(server._open) < 20 or server._idle) and time.monotonic() < deadline:
            time.sleep(0.01)
        go_on.set()
        bodies = {one.result().body for one in [first, *others]}
        assert len(bodies) == 1
        assert len(calls) <= 2  # those that came after it was done had one of their own
        assert ask_once(server).status == 200


def test_who_has_no_time_is_told_so_and_the_rest_is_healthy():
    go_on = threading.Event()

    def collect():
        go_on.wait(20)
        return samples()

    with serving(collect) as server:
        client = connection(server)
        answered = ask(client, X_Prometheus_Scrape_Timeout_Seconds="0.2")
        assert answered.status == 503
        assert answered.body == "the collection took longer than 0.18 s, which is what the scraper has left\n"
        assert ask(client, "/-/healthy").status == 200
        go_on.set()
        assert ask(client).status == 200
        client.close()


def test_a_collection_is_good_for_some_time_that_follows_from_how_long_it_took():
    calls = []

    def collect():
        calls.append(1)
        time.sleep(0.05)
        return samples()

    with serving(collect, reuse=4.0) as server:
        client = connection(server)
        start = time.monotonic()
        while time.monotonic() - start < 1.0:
            assert ask(client).status == 200
        # One in 0.25 s; more would have been collected without that, and fewer on a machine that is busy.
        assert 1 < len(calls) <= 5
        client.close()


def test_a_failed_collection_serves_nothing_old(caplog):
    answers = [samples, lambda: 1 / 0, samples]

    def collect():
        return answers.pop(0)()

    with serving(collect) as server:
        client = connection(server)
        assert ask(client).status == 200
        failed = ask(client)
        assert (failed.status, failed.body) == (503, "the collection failed: ZeroDivisionError\n")
        assert ask(client).status == 200
        client.close()
    assert "the collection failed" in caplog.text


def test_too_many_scrapes_are_refused_and_health_is_not():
    go_on, begun = threading.Event(), threading.Event()

    def collect():
        begun.set()
        go_on.wait(20)
        return samples()

    with serving(collect, most=1) as server, ThreadPoolExecutor(1) as pool:
        first = pool.submit(ask_once, server)
        assert begun.wait(20)
        client = connection(server)
        refused = ask(client)
        assert (refused.status, refused.headers["Retry-After"]) == (503, "1")
        assert ask(client, "/-/healthy").status == 200
        go_on.set()
        assert first.result().status == 200
        client.close()


def read_all(plain):
    plain.settimeout(20)
    found = b""
    while more := plain.recv(65536):
        found += more
    return found


@pytest.mark.parametrize("sent", [b"", b"GET /metrics HTTP/1.1\r\nX: "], ids=["nothing", "half a head"])
def test_a_client_that_sends_slowly_is_cut_off(monkeypatch, sent):
    monkeypatch.setattr(server_module, "HEAD_SECONDS", 0.3)
    with serving() as server, socket.create_connection(server.addresses[0], timeout=30) as slow:
        slow.sendall(sent)
        ended = threading.Event()

        def drip():  # a byte now and then must not keep the connection
            with contextlib.suppress(OSError):
                while sent and not ended.wait(0.05):
                    slow.send(b"x")

        thread = threading.Thread(target=drip)
        thread.start()
        with contextlib.suppress(ConnectionError):
            assert read_all(slow) == b""
        ended.set()
        thread.join()


def test_a_client_that_takes_slowly_is_cut_off(monkeypatch):
    monkeypatch.setattr(server_module, "BODY_SECONDS", 0.3)
    large = {"watchkeeper_nvml_up": [("watchkeeper_nvml_up", 1.0)] * 2_000_000}
    with serving(lambda: large) as server:
        with socket.create_connection(server.addresses[0]) as slow:
            slow.sendall(b"GET /metrics HTTP/1.1\r\n\r\n")
            deadline = time.monotonic() + 20
            while server._open and time.monotonic() < deadline:
                time.sleep(0.02)
            assert not server._open
        client = connection(server)
        assert ask(client, "/-/healthy").status == 200
        client.close()


def test_a_head_without_end_is_cut_off():
    with serving() as server, socket.create_connection(server.addresses[0]) as client:
        try:
            client.sendall(b"GET /metrics HTTP/1.1\r\n" + b"X: y\r\n" * 20_000)
            assert b"200 OK" not in read_all(client)
        except ConnectionError:
            pass


@pytest.mark.parametrize(
    "sent",
    [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03 a handshake\r\n\r\n",
        b"GET\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET / HTTP/1.1\r\nno colon\r\n\r\n",
        b"\xff\xfe\r\n\r\n",
        b"BREW /pot HTTP/1.1\r\n\r\n",
        b"\r\n\r\n",
        b"GET /" + b"a" * 70_000 + b" HTTP/1.1\r\n\r\n",
    ],
)
def test_nonsense_hurts_nobody(sent, caplog):
    with serving() as server:
        # It may have answered and gone before all is sent.
        with socket.create_connection(server.addresses[0]) as client, contextlib.suppress(ConnectionError):
            client.sendall(sent)
            with contextlib.suppress(OSError):  # ENOTCONN, which is no ConnectionError
                client.shutdown(socket.SHUT_WR)
            assert b"Traceback" not in read_all(client)
        good = connection(server)
        assert ask(good).status == 200
        good.close()
    assert not [record for record in caplog.records if record.levelname == "ERROR"]


def test_the_longest_idle_makes_room():
    with serving() as server:
        server._most = 3
        clients = [connection(server) for _ in range(3)]
        for number, client in enumerate(clients, 1):
            assert ask(client, "/-/healthy").status == 200
            while len(server._idle) < number:  # its thread may not yet be back at waiting
                time.sleep(0.001)
        newcomer = connection(server)
        assert ask(newcomer, "/-/healthy").status == 200
        ask(clients[1], "/-/healthy")
        assert clients[0].sock.recv(1) == b""
        for client in (*clients, newcomer):
            client.close()


def test_stopping_lets_a_request_end():
    begun, go_on = threading.Event(), threading.Event()

    def collect():
        begun.set()
        go_on.wait(20)
        return samples()

    with serving(collect) as server, ThreadPoolExecutor(2) as pool:
        idle = connection(server)
        assert ask(idle, "/-/ready").status == 200
        asked = pool.submit(ask_once, server)
        assert begun.wait(20)
        stopped = pool.submit(server.stop)
        assert idle.sock.recv(1) == b""  # at once: nothing was under way there
        with pytest.raises(ConnectionError):
            socket.create_connection(server.addresses[0])
        go_on.set()
        assert asked.result().status == 200
        stopped.result()
        assert not server._open
        idle.close()
