"""The client of GitHub's API, on real connections to a stand-in."""

import contextlib
import http.client
import json
import random
import shutil
import socket
import ssl
import subprocess
import sys
import threading
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from github_standin import TOKEN, Fault, cut_short, dripping, hang_up, html, serving, silent
from github_world import World

from watchkeeper_fleet.github import REASONS, STATUSES, GitHub, Trouble, token_from
from watchkeeper_fleet.github.wire import LARGEST, Broken, Wire

PATH = "/repos/pytorch/pytorch/commits"
PARAMS = {"sha": "main", "per_page": 10, "page": 1}


class Client:
    """A client with the clock of the stand-in's world; waits pass at once, and are noted."""

    def __init__(self, standin, token=TOKEN, url="", **options):
        self.waits = []
        self.standin = standin
        self.github = GitHub(
            url or standin.url, lambda: token, clock=self.clock, sleep=self.sleep, jitter=lambda: 0.5, **options
        )

    def clock(self):
        return self.standin.world.now

    def sleep(self, seconds):
        self.waits.append(seconds)
        self.standin.world.now += seconds

    def get(self, path=PATH, params=PARAMS, **options):
        return self.github.get(path, params, **options)

    def fails(self, **options) -> Trouble:
        with pytest.raises(Trouble) as caught:
            self.get(**options)
        text = str(caught.value)
        assert "\n" not in text
        assert TOKEN not in text
        assert caught.value.reason in REASONS
        return caught.value


@pytest.fixture
def standin():
    # At a full hour, at which the budget is new.
    world = World(now=1_764_000_000.0 - 1_764_000_000.0 % 3600)
    for _ in range(3):
        world.push(time=0.0)
    with serving(world) as one:
        yield one


@pytest.fixture
def start():
    """Make clients, which are closed in the end."""
    made = []

    def make(standin, **options):
        made.append(Client(standin, **options))
        return made[-1]

    yield make
    for one in made:
        one.github.close()


@pytest.fixture
def client(standin, start):
    return start(standin)


def test_an_answer_comes_with_its_validator_and_says_if_there_is_more(client, standin):
    answer = client.get(params={"sha": "main", "per_page": 2, "page": 1})
    assert [row["sha"] for row in answer.data] == [commit.sha for commit in standin.world.branches["main"][:2]]
    assert answer.more
    assert not client.get(params={"sha": "main", "per_page": 2, "page": 2}).more
    assert answer.etag.startswith('W/"')
    sent = standin.headers[0]
    assert sent["authorization"] == f"Bearer {TOKEN}"
    assert sent["user-agent"].startswith("watchkeeper/")
    assert sent["x-github-api-version"] == "2022-11-28"


def test_what_is_unchanged_is_304_and_costs_nothing(client, standin):
    etag = client.get().etag
    assert (client.github.limit, client.github.remaining) == (5000, 4999)
    for _ in range(3):
        answer = client.get(etag=etag)
        assert (answer.status, answer.data, answer.etag) == (304, None, etag)
    assert client.github.remaining == 4999
    standin.world.push()
    assert client.get(etag=etag).status == 200
    assert client.github.remaining == 4998
    assert client.github.requests == dict.fromkeys(STATUSES, 0) | {"2xx": 2, "304": 3}


def test_one_connection_is_kept(client, standin):
    for _ in range(5):
        client.get()
    assert standin.connections == 1


def test_a_connection_that_was_closed_meanwhile_is_opened_again(client, standin):
    client.get()
    standin.faults.append(hang_up())
    assert client.get().status == 200
    assert client.waits == []
    assert client.github.requests["none"] == 0


def test_a_server_that_hangs_up_each_time_is_asked_three_times(client, standin):
    # A new connection each time: none is asked twice.
    standin.faults.extend([hang_up()] * 3)
    trouble = client.fails()
    assert (trouble.reason, trouble.retry_at) == ("network", None)
    assert client.waits == [1.0, 4.0]
    assert client.get().status == 200


@pytest.mark.parametrize("status", [500, 502, 503, 504])
def test_a_server_in_trouble_is_asked_again(client, standin, status):
    standin.faults.extend([Fault(status, "Server Error"), html(status)])
    assert client.get().status == 200
    assert client.waits == [1.0, 4.0]
    assert client.github.requests["5xx"] == 2


def test_waits_differ_from_client_to_client(standin, start):
    standin.faults.extend([Fault(502)] * 3)
    one = start(standin)
    one.github._jitter = random.Random(1).random
    assert one.fails().reason == "server"
    assert len(one.waits) == 2
    assert 0.5 <= one.waits[0] < 1.5
    assert 2.0 <= one.waits[1] < 6.0


def test_a_server_that_says_when_to_come_again_is_left_alone_until_then(client, standin):
    standin.faults.append(Fault(503, "Service unavailable", {"Retry-After": "120"}))
    begun = client.clock()
    trouble = client.fails()
    assert (trouble.reason, trouble.retry_at, trouble.status) == ("server", begun + 120, 503)
    assert client.waits == []
    assert client.fails().retry_at == begun + 120
    assert len(standin.seen) == 1
    standin.world.now = begun + 121
    assert client.get().status == 200


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        pytest.param(html(), "no JSON but text/html", id="a page"),
        pytest.param(cut_short(), "cut short", id="cut short"),
        pytest.param(Fault(200, body=b"", headers={"Content-Type": "application/json"}), "no JSON", id="nothing"),
        pytest.param(Fault(200, body=b'{"a": ' * 100_000), "no JSON", id="deep"),
        pytest.param(Fault(200, body=b"[" * 100_000 + b"]" * 100_000), "no JSON", id="deep and closed"),
        pytest.param(Fault(200, body=b'"\xff\xfe"'), "no JSON", id="no UTF-8"),
        pytest.param(
            Fault(200, body=b"[]", headers={"Content-Encoding": "br", "Content-Length": "2"}), "not asked", id="brotli"
        ),
        pytest.param(
            Fault(200, body=b"[]", headers={"Content-Encoding": "gzip", "Content-Length": "2"}), "gzip", id="no gzip"
        ),
        pytest.param(Fault(200, body=b" " * (LARGEST + 1)), "16 MiB", id="large, though small on the way"),
        pytest.param(
            Fault(200, body=b" " * (LARGEST + 1), headers={"Content-Length": str(LARGEST + 1)}), "16 MiB", id="large"
        ),
    ],
)
def test_what_is_no_answer_is_malformed_and_asked_for_again(client, standin, fault, said):
    standin.faults.extend([fault] * 3)
    trouble = client.fails()
    assert trouble.reason == "malformed"
    assert said in str(trouble)
    assert client.waits == [1.0, 4.0]
    assert client.get().status == 200


def test_the_budget_of_the_hour_is_waited_for(client, standin):
    begun = client.clock()
    standin.limit = 2
    client.get()
    assert client.get().status == 200
    # The second has used it up: there is no third.
    trouble = client.fails()
    assert trouble.reason == "rate_limit"
    assert trouble.retry_at == begun + 3601
    assert (client.github.remaining, client.github.reset) == (0, begun + 3600)
    assert len(standin.seen) == 2
    standin.world.now = trouble.retry_at + 1
    assert client.get().status == 200


def test_another_client_may_have_used_it_up(client, standin):
    begun = client.clock()
    standin.limit = 0
    trouble = client.fails()
    assert (trouble.reason, trouble.retry_at, trouble.status) == ("rate_limit", begun + 3601, 403)
    assert "API rate limit exceeded" in str(trouble)


def test_a_reset_that_is_far_away_is_not_believed(client, standin):
    begun = client.clock()
    far = {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": str(int(begun) + 10 * 24 * 3600)}
    standin.faults.append(Fault(403, "API rate limit exceeded", far))
    trouble = client.fails()
    assert (trouble.reason, trouble.retry_at) == ("rate_limit", begun + 3601)
    standin.world.now = begun + 3602
    assert client.get().status == 200


@pytest.mark.parametrize("skew", [-5400.0, 5400.0])
def test_a_clock_that_is_wrong_makes_the_wait_no_longer(start, skew):
    world = World(now=1_764_000_000.0 - 1_764_000_000.0 % 3600 + 1800.0)
    world.push()
    with serving(world, limit=1, skew=skew) as standin:
        client = start(standin)
        client.get()
        assert client.github.skew == skew
        # Half an hour and an hour and a half later GitHub's hour is full.
        trouble = client.fails()
        assert (trouble.reason, trouble.retry_at) == ("rate_limit", world.now + 3601)


@pytest.mark.parametrize("status", [403, 429])
def test_a_secondary_limit_says_how_long(client, standin, status):
    begun = client.clock()
    standin.faults.append(Fault(status, "You have exceeded a secondary rate limit", {"Retry-After": "37"}))
    trouble = client.fails()
    assert (trouble.reason, trouble.retry_at, trouble.status) == ("secondary_limit", begun + 37, status)
    assert client.fails().reason == "secondary_limit"
    assert len(standin.seen) == 1
    standin.world.now = begun + 38
    assert client.get().status == 200


def test_a_secondary_limit_that_does_not_say_is_waited_for_longer_each_time(client, standin):
    waits = []
    for _ in range(9):
        standin.faults.append(Fault(403, "You have exceeded a secondary rate limit. Please wait a few minutes."))
        begun = client.clock()
        waits.append(client.fails().retry_at - begun)
        standin.world.now += waits[-1] + 1
    assert waits == [60, 120, 240, 480, 960, 1920, 3600, 3600, 3600]
    assert client.get().status == 200
    standin.faults.append(Fault(429, "Slow down"))
    assert client.fails().retry_at - client.clock() == 60


def test_retry_after_may_be_a_date_of_their_clock(client, standin):
    standin.skew = 600.0
    standin.world.now = 1_764_000_000.0
    standin.faults.append(Fault(429, "Slow down", {"Retry-After": "Mon, 24 Nov 2025 16:11:40 GMT"}))
    assert client.fails().retry_at == 1_764_000_000.0 + 100.0


@pytest.mark.parametrize("value", ["soon", "-5", "", "1e9", "9" * 40])
def test_what_is_no_time_counts_as_not_said(client, standin, value):
    begun = client.clock()
    standin.faults.append(Fault(429, "Slow down", {"Retry-After": value}))
    assert client.fails().retry_at == begun + 60


def test_a_clock_that_was_set_back_holds_nobody_for_long(client, standin):
    standin.faults.append(Fault(429, "Slow down", {"Retry-After": "60"}))
    client.fails()
    standin.world.now -= 10 * 24 * 3600
    assert client.get().status == 200


@pytest.mark.parametrize(
    ("status", "message", "reason", "said"),
    [
        (403, "Resource not accessible by personal access token", "forbidden", "the token may not do this"),
        (404, "Not Found", "not_found", "the token may not see it"),
        (410, "Gone", "not_found", "Gone"),
        (422, "No commit found for SHA: x", "refused", "No commit found"),
        (409, "Git Repository is empty.", "refused", "empty"),
        (451, "Repository access blocked", "refused", "blocked"),
    ],
)
def test_a_refusal_is_told_and_not_tried_again(client, standin, status, message, reason, said):
    standin.faults.append(Fault(status, message))
    trouble = client.fails()
    assert (trouble.reason, trouble.status, trouble.retry_at) == (reason, status, None)
    assert said in str(trouble)
    assert client.waits == []
    assert client.get().status == 200


def test_a_token_that_has_expired(standin, start):
    client = start(standin, token="ghp_expired")
    trouble = client.fails()
    assert (trouble.reason, trouble.status) == ("unauthorized", 401)
    assert "Bad credentials; the token: is it right, and has it not expired?" in str(trouble)
    assert "ghp_expired" not in str(trouble)


def test_a_server_that_echoes_the_token_does_not_bring_it_into_the_log(client, standin):
    standin.faults.append(Fault(403, f"no good:\n{TOKEN}\x1b[2J", {}))
    assert "no good: ***\\x1b[2J" in str(client.fails())


def test_a_page_for_an_error_is_not_quoted(client, standin):
    standin.faults.append(html(403))
    assert str(client.fails()).endswith(": 403; the token may not do this")


def test_without_a_token_none_is_sent(standin, start):
    client = start(standin, token="")
    assert client.get().status == 200
    assert "authorization" not in standin.headers[0]


def test_a_redirect_on_the_same_server_is_followed(client, standin):
    standin.faults.append(Fault(301, "Moved Permanently", {"Location": f"{standin.url}{PATH}?sha=main"}))
    standin.faults.append(Fault(307, "Temporary Redirect", {"Location": f"{PATH}?sha=main"}))
    assert client.get(path="/repos/old/name/commits").status == 200
    assert standin.seen[-1] == (f"{PATH}?sha=main", 200)


@pytest.mark.parametrize(
    "location",
    [
        *("http://example.com/repos", "https://127.0.0.1/repos", "http://127.0.0.1:1/repos", "//example.com/"),
        *("http://[::1/", "ftp://127.0.0.1/", "http://user@example.com:99999/"),
    ],
)
def test_a_redirect_to_another_server_is_not(client, standin, location):
    standin.faults.append(Fault(302, "Found", {"Location": location}))
    trouble = client.fails()
    assert trouble.reason == "redirect"
    assert "another server" in str(trouble)
    assert len(standin.seen) == 1


def test_redirects_that_go_round_end(client, standin):
    standin.faults.extend([Fault(302, "Found", {"Location": PATH})] * 10)
    assert client.fails().reason == "redirect"
    assert len(standin.seen) == 4


def test_what_changes_something_is_not_redirected(client, standin):
    standin.faults.append(Fault(301, "Moved Permanently", {"Location": "/repositories/1/issues"}))
    with pytest.raises(Trouble, match="another name now") as caught:
        client.github.post("/repos/old/name/issues", {"title": "x"})
    assert caught.value.reason == "redirect"


def test_issues_are_opened_and_changed(client, standin):
    answer = client.github.post("/repos/pytorch/pytorch/issues", {"title": "[P1] tr\u00fcnk", "labels": ["a"]})
    assert (answer.status, answer.data["number"]) == (201, 1)
    assert client.github.patch("/repos/pytorch/pytorch/issues/1", {"state": "closed"}).status == 200
    assert standin.world.issues == [{"number": 1, "state": "closed", "title": "[P1] tr\u00fcnk", "labels": ["a"]}]


@pytest.mark.parametrize("fault", [hang_up(), Fault(502), cut_short(), html()], ids=["closed", "502", "cut", "html"])
def test_what_changes_something_is_tried_once(client, standin, fault):
    client.get()
    before = len(standin.seen)
    standin.faults.append(fault)
    with pytest.raises(Trouble):
        client.github.post("/repos/pytorch/pytorch/issues", {"title": "x"})
    assert len(standin.seen) == before + 1
    assert client.waits == []


def test_nobody_listens(standin, start):
    with socket.socket() as taken:  # the port is nobody else's, and nobody listens
        taken.bind(("127.0.0.1", 0))
        client = start(standin, url=f"http://127.0.0.1:{taken.getsockname()[1]}")
        trouble = client.fails()
    assert trouble.reason == "network"
    assert "Connection refused" in str(trouble)
    assert client.github.requests["none"] == 3


def test_what_is_no_http_is_no_crash(standin, start):
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def speak():
            with contextlib.suppress(OSError):
                while True:
                    one, _ = listening.accept()
                    with one:
                        one.recv(65_536)
                        one.sendall(b"SSH-2.0-OpenSSH_9.6\r\n")

        threading.Thread(target=speak, daemon=True).start()
        trouble = start(standin, url=f"http://127.0.0.1:{listening.getsockname()[1]}").fails()
        listening.shutdown(socket.SHUT_RDWR)
    assert trouble.reason == "network"
    assert "SSH" not in str(trouble)


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    if not shutil.which("openssl"):
        pytest.skip("openssl is not here")
    folder = tmp_path_factory.mktemp("certificate")
    new = ("-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj", "/CN=api")
    named = ("-addext", "subjectAltName=IP:127.0.0.1", "-addext", "keyUsage=critical,keyCertSign,digitalSignature")
    out = ("-keyout", "key.pem", "-out", "cert.pem")
    subprocess.run(["openssl", "req", *new, *named, *out], cwd=folder, check=True, capture_output=True)
    return folder


@pytest.fixture
def secure(certificate):
    world = World(now=1_764_000_000.0)
    world.push(time=0.0)
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(certificate / "cert.pem", certificate / "key.pem")
    with serving(world, tls=tls) as one:
        yield one


def test_a_server_whose_certificate_is_trusted(secure, start, certificate):
    trust = ssl.create_default_context(cafile=certificate / "cert.pem")
    client = start(
        secure, connect=lambda _, host, port: http.client.HTTPSConnection(host, port, timeout=30, context=trust)
    )
    assert client.get().status == 200
    assert client.get().status == 200
    assert secure.connections == 1


def test_a_server_that_nobody_vouches_for_gets_no_token(secure, start):
    trouble = start(secure).fails()
    assert trouble.reason == "network"
    assert "certificate verify failed" in str(trouble)
    assert secure.headers == []


def test_a_server_that_says_nothing_ends_in_time(standin, start):
    released = threading.Event()
    standin.faults.extend([silent(released)] * 3)
    client = start(standin, connect=lambda _, host, port: http.client.HTTPConnection(host, port, timeout=0.1))
    try:
        assert client.fails().reason == "timeout"
    finally:
        released.set()


def test_an_answer_that_never_ends_ends_in_time(standin):
    released = threading.Event()
    standin.faults.append(dripping(released))
    wire = Wire(standin.url, most_seconds=0.5)
    try:
        with pytest.raises(TimeoutError):
            wire.exchange("GET", PATH, {})
    finally:
        released.set()
    # The next one is on another connection, and whole.
    wire._most_seconds = 60.0
    assert wire.exchange("GET", f"{PATH}?sha=main", {}).status == 200
    wire.close()


def test_half_an_answer_is_not_taken_for_the_next(standin):
    standin.faults.append(Fault(200, body=b" " * (LARGEST + 100), headers={"Content-Length": str(LARGEST + 100)}))
    wire = Wire(standin.url)
    with pytest.raises(Broken):
        wire.exchange("GET", PATH, {})
    assert json.loads(wire.exchange("GET", f"{PATH}?sha=main", {}).body)
    wire.close()


def test_clients_in_several_threads_wait_for_each_other(client, standin):
    failed = []

    def ask():
        try:
            for _ in range(20):
                assert client.get().status == 200
        except Exception as error:  # noqa: BLE001 - told below
            failed.append(error)

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert failed == []
    assert client.github.requests["2xx"] == 80
    assert standin.connections == 1


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("http://api.github.com", "by https alone"),
        ("https://user:secret@api.github.com", "would end in logs"),
        ("api.github.com", "is no address"),
        ("ftp://api.github.com", "is no address"),
        ("https://", "is no address"),
        ("https://api.github.com/?a=b", "is no address"),
        ("https://api.github.com:port", "is no address"),
        ("https://[::1", "is no address"),
    ],
)
def test_addresses_that_will_not_do(url, said):
    with pytest.raises(ValueError, match=said) as caught:
        GitHub(url, lambda: "")
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("url", "is_"),
    [
        ("https://api.github.com", "https://api.github.com:443"),
        ("https://github.example.com/api/v3/", "https://github.example.com:443/api/v3"),
        ("http://[::1]:8080", "http://::1:8080"),
    ],
)
def test_addresses_that_do(url, is_):
    assert GitHub(url, lambda: "").url == is_


def test_the_token_is_from_the_environment():
    assert token_from({})() == ""
    assert token_from({"WATCHKEEPER_GITHUB_TOKEN": " abc \n"})() == "abc"


def test_the_token_is_from_a_file_and_is_read_again(tmp_path):
    path = tmp_path / "token"
    token = token_from({"WATCHKEEPER_GITHUB_TOKEN_FILE": str(path)})
    with pytest.raises(Trouble, match="No such file") as caught:
        token()
    assert caught.value.reason == "token"
    path.write_text("first\n")
    assert token() == "first"
    path.write_text("second\n")
    assert token() == "second"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "is empty"),
        ("\n \n", "is empty"),
        ("abc\nX-Injected: 1\n", "holds no token"),
        ("two words", "holds no token"),
        ("schl\u00fcssel", "holds no token"),
        ("x" * 5000, "holds no token"),
        ("secret\0", "holds no token"),
    ],
    ids=["empty", "blank", "lines", "words", "umlaut", "long", "null"],
)
def test_what_is_no_token_is_not_sent_and_not_shown(tmp_path, content, said):
    path = tmp_path / "token"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(Trouble, match=said) as caught:
        token_from({"WATCHKEEPER_GITHUB_TOKEN_FILE": str(path)})()
    for word in content.split():
        assert word not in str(caught.value).replace(str(path), "").replace("WATCHKEEPER_GITHUB_TOKEN", "")


def test_two_tokens_are_one_too_many():
    with pytest.raises(ValueError, match="not both"):
        token_from({"WATCHKEEPER_GITHUB_TOKEN": "a", "WATCHKEEPER_GITHUB_TOKEN_FILE": "b"})


def test_a_token_that_is_not_to_be_had_makes_no_request(standin, tmp_path):
    token = token_from({"WATCHKEEPER_GITHUB_TOKEN_FILE": str(tmp_path / "gone")})
    github = GitHub(standin.url, token)
    with pytest.raises(Trouble, match="can't be read"):
        github.get(PATH, PARAMS)
    assert standin.seen == []
