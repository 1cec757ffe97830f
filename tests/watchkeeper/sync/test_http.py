"""The client against a real server on loopback, and what goes wrong on the way."""

from __future__ import annotations

import contextlib
import http.client
import re
import shutil
import socket
import ssl
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest
from standin_server import Fault, Reply, Server, login_page

from watchkeeper.sync import wire
from watchkeeper.sync.http import REASONS, Client
from watchkeeper.sync.objects import Refused, Unsure

TOKEN = "glsa_a-token-that-must-not-be-seen"


@pytest.fixture
def server():
    server = Server(lambda request: Reply(200, {"method": request.method, "path": request.path}))
    with server.running():
        yield server


@pytest.fixture
def slept() -> list[float]:
    return []


@pytest.fixture
def make(server, slept):
    with contextlib.ExitStack() as stack:

        def make(url: str = "", token: str = TOKEN, **settings) -> Client:
            settings = {"sleep": slept.append, "clock": lambda: 1000.0, "random": lambda: 0.5, **settings}
            client = Client(url or server.url, lambda: token, **settings)
            stack.callback(client.close)
            return client

        yield make


def refused(client: Client, method: str = "GET", path: str = "/x", **asked) -> Refused:
    with pytest.raises(Refused) as caught:
        client.request(method, path, **asked)
    assert caught.value.reason in REASONS
    assert TOKEN not in str(caught.value)
    assert "\n" not in str(caught.value)
    return caught.value


def test_an_answer(make, server):
    answer = make().request("PUT", "/a%2Fb", params={"q": "1 2"}, body={"x": 1}, headers={"X-Scope-OrgID": "us"})
    assert (answer.status, answer.data) == (200, {"method": "PUT", "path": "/a/b"})
    assert answer.headers["content-type"] == "application/json"
    [asked] = server.requests
    assert (asked.raw_path, asked.params, asked.json) == ("/a%2Fb", {"q": "1 2"}, {"x": 1})
    assert asked.headers["authorization"] == f"Bearer {TOKEN}"
    assert asked.headers["x-scope-orgid"] == "us"
    assert asked.headers["content-type"] == "application/json"


def test_a_text_is_sent_as_it_is_and_got_where_it_is_asked_for(make, server):
    server.answer = lambda _request: Reply(200, "a: 1\n", {"Content-Type": "application/yaml"})
    headers = {"Content-Type": "application/yaml"}
    answer = make().request("POST", "/x", body="b: 2\n", headers=headers, accept="application/yaml")
    assert answer.data == "a: 1\n"
    assert server.requests[0].body == b"b: 2\n"
    assert server.requests[0].headers["content-type"] == "application/yaml"


def test_no_token_is_no_header(make, server):
    client = make(token="")
    assert not client.has_token
    client.request("GET", "/x")
    assert "authorization" not in server.requests[0].headers


def test_nothing_shows_the_token(make):
    client = make()
    assert TOKEN not in repr(client)
    assert TOKEN not in str(vars(client))


def test_connections_are_kept(make, server):
    client = make()
    for _ in range(3):
        client.request("GET", "/x")
    assert server.connections == 1
    meet = Barrier(4, timeout=60)

    def answer(_request) -> Reply:
        meet.wait()  # all four are asked for at a time
        return Reply(200, {})

    server.answer = answer
    for _ in range(2):
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(lambda _number: client.request("GET", "/x"), range(4)))
    assert server.connections == 4


def test_an_empty_answer_is_none(make, server):
    server.answer = lambda _request: Reply(204)
    assert make().request("DELETE", "/x").data is None


AGAIN = {
    "429": Fault(reply=Reply(429, {"message": "slow down"})),
    "502": Fault(reply=Reply(502, {"message": "bad gateway"})),
    "503": Fault(reply=login_page(503)),
    "504": Fault(reply=Reply(504, {})),
    "cut-before": Fault("cut-before"),
    "cut-after": Fault("cut-after"),
    "truncated": Fault("truncated"),
}


@pytest.mark.parametrize("name", AGAIN)
@pytest.mark.parametrize(
    "asked", [{"method": "GET"}, {"method": "POST", "body": {}, "idempotent": True}], ids=["read", "write"]
)
def test_what_may_be_repeated_is(make, server, slept, name, asked):
    fault = AGAIN[name]
    server.faults = [Fault(fault.kind, fault.reply, times=2)]
    assert make().request(path="/x", **asked).status == 200
    assert len(server.requests) == 3
    assert slept == [0.5, 1.0]


@pytest.mark.parametrize("name", AGAIN)
def test_a_write_that_may_have_been_made_is_not_repeated(make, server, name):
    fault = AGAIN[name]
    server.faults = [Fault(fault.kind, fault.reply)]
    if name == "429":  # it was not even looked at
        assert make().request("POST", "/x", body={}).status == 200
        return
    error = refused(make(), "POST", body={})
    assert isinstance(error, Unsure)
    assert "whether it was written is not known" in str(error)
    assert len(server.requests) == 1


def test_attempts_end(make, server, slept):
    server.faults = [Fault(reply=Reply(503, {"message": "no"}), times=99)]
    error = refused(make(attempts=3))
    assert (error.reason, len(server.requests), len(slept)) == ("server", 3, 2)
    assert f"GET {server.url}/x: 503: no" in str(error)


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_what_could_not_be_sent_is_repeated(make, slept, method):
    with socket.socket() as nobody:  # bound and not listening: refused for as long as it is held
        nobody.bind(("127.0.0.1", 0))
        client = make(f"http://127.0.0.1:{nobody.getsockname()[1]}", attempts=3)
        error = refused(client, method)
    assert (type(error), error.reason, len(slept)) == (Refused, "network", 2)


def test_a_slow_server(make, server):
    server.faults = [Fault("slow")]
    error = refused(make(timeout=0.3, attempts=1))
    assert (error.reason, "no answer in time" in str(error)) == ("timeout", True)


def test_a_slow_server_that_is_asked_to_write(make, server):
    server.faults = [Fault("slow")]
    assert isinstance(refused(make(timeout=0.3), "PUT", body={}), Unsure)


@pytest.mark.parametrize(
    ("given", "waited"),
    [
        ("7", 7.25),
        ("Thu, 01 Jan 1970 00:17:00 GMT", 20.25),
        ("Thu, 01 Jan 1970 00:00:01 GMT", 0.25),
        ("soon", 0.5),
        ("-1", 0.5),
    ],
)
def test_a_server_that_says_when(make, server, slept, given, waited):
    server.faults = [Fault(reply=Reply(503, {}, {"Retry-After": given}))]
    make().request("GET", "/x")
    assert slept == [waited]


def test_all_threads_wait_for_a_limit(make, server, slept):
    server.faults = [Fault(reply=Reply(429, {}, {"Retry-After": "9"}))]
    now = [1000.0]

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        now[0] += seconds

    client = make(clock=lambda: now[0], sleep=sleep)
    client._held = 1004.0  # another thread was told so
    client.request("GET", "/x")
    assert slept == [4.0, 9.25]
    assert client._held == 1013.0


def test_a_limit_of_hours_is_no_wait(make, server, slept):
    server.faults = [Fault(reply=Reply(429, {}, {"Retry-After": "7200"}))]
    error = refused(make())
    assert (error.reason, slept) == ("limit", [])
    assert "wants no request for 7200 s" in str(error)


def test_a_connection_that_was_closed_is_not_written_to(make, server):
    server.faults = [Fault("bye")]
    client = make()
    client.request("GET", "/x")
    end = time.monotonic() + 60
    while not wire._is_over(client._wire._idle[0]):  # the news is under way
        assert time.monotonic() < end
        time.sleep(0.01)
    assert client.request("POST", "/x", body={}).status == 200
    assert server.connections == 2


def test_a_redirect_within_the_server_is_followed(make, server):
    server.faults = [Fault(reply=Reply(302, {}, {"Location": "/y?z=1"}))]
    assert make().request("GET", "/x").data["path"] == "/y"
    assert server.requests[1].params == {"z": "1"}


@pytest.mark.parametrize(
    "location",
    [
        "https://elsewhere.example/login?token=secret",
        "//user:secret@elsewhere.example/",
        "",
        "http://[",
        "https://127.0.0.1/",
    ],
)
def test_a_redirect_to_another_server_is_not_followed(make, server, location):
    server.faults = [Fault(reply=Reply(302, {}, {"Location": location}))]
    error = refused(make())
    assert (error.reason, "secret" in str(error), len(server.requests)) == ("redirect", False, 1)


def test_a_write_is_not_redirected(make, server):
    server.faults = [Fault(reply=Reply(307, {}, {"Location": "/y"}))]
    assert refused(make(), "POST", body={}).reason == "redirect"


def test_redirects_end(make, server):
    server.faults = [Fault(reply=Reply(302, {}, {"Location": "/x"}), times=99)]
    assert "more than 3 times" in str(refused(make()))
    assert len(server.requests) == 4


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (login_page(), "html"),
        (Reply(200, "  <HTML><body>Sign in", {"Content-Type": "text/plain"}), "html"),
        (Reply(200, "all fine", {"Content-Type": "text/plain"}), "malformed"),
        (Reply(200, "{", {}), "malformed"),
        (Reply(200, "[" * 100_000, {}), "malformed"),
        (Reply(401, {"message": f"no such key {TOKEN}"}), "unauthorized"),
        (Reply(403, {"message": "Access\ndenied"}), "forbidden"),
        (Reply(404, {}), "not-found"),
        (Reply(413, login_page().data, {"Content-Type": "text/html"}), "refused"),
        (Reply(422, {"error": "bad \x1b[31mspec"}), "refused"),
        (Reply(500, "oops", {"Content-Type": "text/plain"}), "server"),
    ],
    ids=["login page", "page", "text", "half", "deep", "401", "403", "404", "413", "422", "500"],
)
def test_what_is_refused(make, server, reply, reason):
    server.answer = lambda _request: reply
    error = refused(make())
    assert error.reason == reason
    assert "\x1b" not in str(error)
    assert len(server.requests) == 1


def test_a_page_that_says_404_does_not_say_that_it_is_not_there(make, server):
    server.answer = lambda _request: login_page(404)
    assert refused(make(), expect=(404,)).reason == "html"


def test_what_is_expected_is_an_answer(make, server):
    server.answer = lambda _request: Reply(409, {"message": "no"})
    assert make().request("POST", "/x", body={}, expect=(409,)).data == {"message": "no"}


def test_an_answer_without_end(make, monkeypatch):
    monkeypatch.setattr(wire, "LARGEST", 8)
    assert refused(make(attempts=1)).reason == "malformed"


def test_a_host_that_there_is_not(make, slept, monkeypatch):
    def connect(_self) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(http.client.HTTPConnection, "connect", connect)
    error = refused(make())
    assert (error.reason, slept) == ("address", [])


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("grafana.example.org", "is no address"),
        ("ftp://grafana.example.org", "is no address"),
        ("https://", "is no address"),
        ("https://a b", "is no address"),
        ("https://a:port", "no address"),
        ("https://[::1", "no address"),
        ("https://me:secret@a", "leave them out"),
        ("https://a/?token=1", "behind its path"),
        ("https://a/#x", "behind its path"),
    ],
)
def test_an_address_that_is_none(url, said):
    with pytest.raises(Refused, match=re.escape(said)) as caught:
        Client(url, lambda: "")
    assert (caught.value.reason, "secret" in str(caught.value)) == ("address", False)


@pytest.mark.parametrize(
    ("url", "private"),
    [
        ("https://grafana.example.org", True),
        ("http://grafana.example.org", False),
        ("http://8.8.8.8", False),
        ("http://10.1.2.3:3000", True),
        ("http://[::1]:3000", True),
        ("http://[2001:4860:4860::8888]", False),
        ("http://grafana:3000", True),
        ("http://grafana.monitoring.svc", True),
        ("http://grafana.monitoring.svc.cluster.local", True),
    ],
)
def test_where_a_token_is_sent(url, private):
    assert wire.address(url).is_private is private


def test_a_token_is_not_sent_in_clear(make, slept):
    error = refused(make("http://grafana.example.org/sub/"))
    assert (error.reason, slept) == ("address", [])
    assert "http://grafana.example.org/sub: a token is not sent by http" in str(error)


@pytest.mark.parametrize(
    ("given", "shown"),
    [("https://a/", "https://a"), ("http://a:80/g/", "http://a/g"), ("https://[::1]:8443", "https://[::1]:8443")],
)
def test_an_address_as_it_is_shown(given, shown):
    assert str(wire.address(given)) == shown


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    if not shutil.which("openssl"):
        pytest.skip("openssl is not here")
    folder = tmp_path_factory.mktemp("certificate")
    new = ("-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj", "/CN=ca")
    named = ("-addext", "subjectAltName=IP:127.0.0.1", "-addext", "keyUsage=critical,keyCertSign,digitalSignature")
    out = ("-keyout", "key.pem", "-out", "cert.pem")
    subprocess.run(["openssl", "req", *new, *named, *out], cwd=folder, check=True, capture_output=True)
    return folder


@pytest.fixture
def secure(certificate):
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(certificate / "cert.pem", certificate / "key.pem")
    server = Server(lambda _request: Reply(200, {}))
    with server.running(tls):
        yield server


def test_a_ca_of_ones_own(secure, make, certificate):
    client = make(secure.url, ca_file=str(certificate / "cert.pem"))
    for _ in range(3):
        assert client.request("GET", "/x").status == 200
    assert secure.connections == 1


def test_a_certificate_that_nobody_signed(secure, make, slept):
    error = refused(make(secure.url))
    assert (error.reason, slept, secure.requests) == ("tls", [], [])
    assert "name the CA's file" in str(error)


def test_a_server_without_tls(server, make, slept):
    error = refused(make(server.url.replace("http:", "https:"), attempts=2, timeout=5))
    assert error.reason in {"network", "timeout"}
    assert len(slept) == 1


def test_a_ca_file_that_is_none(tmp_path):
    path = tmp_path / "ca.pem"
    with pytest.raises(Refused, match="No such file"):
        Client("https://a", lambda: "", ca_file=str(path))
    path.write_text("no certificate")
    with pytest.raises(Refused, match="it holds no certificate") as caught:
        Client("https://a", lambda: "", ca_file=str(path))
    assert caught.value.reason == "tls"
