"""The web configuration: TLS, client certificates, passwords, rate limit, headers. Certificates are made by openssl."""

import base64
import http.client
import os
import shutil
import ssl
import subprocess
import sys
from pathlib import Path

import bcrypt
import pytest

from watchkeeper_fleet.exporter.web import Web
from watchkeeper_fleet.exporter.webconfig import WebConfigError, load

sys.path.insert(0, str(Path(__file__).parent))

from http_site import ask, ask_once, connection, serving

HASH = bcrypt.hashpw(b"sesame", bcrypt.gensalt(4)).decode()


def openssl(folder: Path, *arguments: str) -> None:
    subprocess.run(["openssl", *arguments], cwd=folder, check=True, capture_output=True)


def sign(folder: Path, name: str, alternative: str, authority: str = "ca") -> None:
    new = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")
    openssl(folder, "req", *new, "-keyout", f"{name}.key", "-out", f"{name}.csr", "-subj", f"/CN={name}")
    # Python 3.13 wants the identifiers.
    identifiers = "subjectKeyIdentifier=hash\nauthorityKeyIdentifier=keyid\n"
    (folder / f"{name}.ext").write_text(f"subjectAltName={alternative}\n{identifiers}")
    ca = ("-CA", f"{authority}.crt", "-CAkey", f"{authority}.key", "-CAcreateserial")
    openssl(
        folder, "x509", "-req", "-in", f"{name}.csr", *ca, "-out", f"{name}.crt", "-days", "2",
        "-extfile", f"{name}.ext",
    )  # fmt: skip


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Certificates; each test takes a copy of its own."""
    if not shutil.which("openssl"):
        pytest.skip("openssl is not here")
    folder = tmp_path_factory.mktemp("certificates")
    new = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2")
    uses = ("-addext", "keyUsage=critical,keyCertSign,cRLSign")
    for name in ("ca", "other"):
        out = ("-keyout", f"{name}.key", "-out", f"{name}.crt", "-subj", f"/CN={name}")
        openssl(folder, "req", "-x509", *new, *uses, *out)
    sign(folder, "server", "DNS:localhost")
    sign(folder, "next", "DNS:localhost")
    sign(folder, "prometheus", "DNS:prometheus.example")
    sign(folder, "stranger", "DNS:stranger.example")
    sign(folder, "impostor", "DNS:prometheus.example", "other")
    return folder


@pytest.fixture
def folder(made, tmp_path):
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    return tmp_path


def web(folder: Path, text: str) -> Web:
    (folder / "web.yml").write_text(text)
    return Web(folder / "web.yml")


def client_context(folder: Path, name: str = "") -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=folder / "ca.crt")
    if name:
        context.load_cert_chain(folder / f"{name}.crt", folder / f"{name}.key")
    return context


TLS = "tls_server_config:\n  cert_file: server.crt\n  key_file: server.key\n"
MUTUAL = f"{TLS}  client_ca_file: ca.crt\n  client_auth_type: RequireAndVerifyClientCert\n"
USERS = f"basic_auth_users:\n  alice: {HASH}\n"


def test_tls(folder):
    with serving(web=web(folder, TLS)) as server:
        context = client_context(folder)
        client = connection(server, context=context)
        assert ask(client).status == 200
        assert ask(client, Accept_Encoding="gzip").status == 200
        assert client.sock.version() == "TLSv1.3"
        client.close()
        with pytest.raises((http.client.HTTPException, OSError)):
            ask_once(server)  # in plain text
        assert ask_once(server, context=context).status == 200


def test_a_client_that_goes_silent_in_the_handshake_holds_up_nobody(folder):
    with serving(web=web(folder, TLS)) as server:
        silent = connection(server)
        silent.connect()
        assert ask_once(server, context=client_context(folder)).status == 200
        silent.close()


def test_client_certificates(folder):
    with serving(web=web(folder, MUTUAL)) as server:
        assert ask_once(server, context=client_context(folder, "prometheus")).status == 200
        for name in ("", "impostor"):
            with pytest.raises((ssl.SSLError, ConnectionError, http.client.HTTPException)):
                ask_once(server, context=client_context(folder, name))


def test_names_of_client_certificates(folder):
    config = web(folder, f"{MUTUAL}  client_allowed_sans: [prometheus.example]\n")
    with serving(web=config) as server:
        assert ask_once(server, context=client_context(folder, "prometheus")).status == 200
        with pytest.raises((ssl.SSLError, ConnectionError, http.client.HTTPException)):
            ask_once(server, context=client_context(folder, "stranger"))


def test_versions_and_suites(folder):
    limits = "  max_version: TLS12\n  cipher_suites: [TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384]\n"
    with serving(web=web(folder, f"{TLS}{limits}  curve_preferences: [CurveP256]\n")) as server:
        client = connection(server, context=client_context(folder))
        assert ask(client).status == 200
        assert client.sock.version() == "TLSv1.2"
        assert client.sock.cipher()[0] == "ECDHE-ECDSA-AES256-GCM-SHA384"
        client.close()


def serial(server, context) -> str:
    client = connection(server, context=context)
    client.connect()
    try:
        return client.sock.getpeercert()["serialNumber"]
    finally:
        client.close()


def test_a_renewed_certificate_is_taken_up(folder):
    with serving(web=web(folder, TLS)) as server:
        context = client_context(folder)
        before = serial(server, context)
        for kind in ("crt", "key"):
            (folder / f"next.{kind}").replace(folder / f"server.{kind}")
        assert serial(server, context) != before


def test_a_slip_changes_nothing(folder, caplog):
    config = web(folder, TLS + USERS)
    with serving(web=config) as server:
        (folder / "web.yml").write_text("tls_server_config: [")
        context = client_context(folder)
        assert ask_once(server, context=context).status == 401
        assert "the web configuration stays as it was: " in caplog.text
        assert "is no YAML at line 1, column 21" in caplog.text
        assert not config.reload(force=True)
        (folder / "web.yml").write_text(TLS)
        assert config.reload()
        assert ask_once(server, context=context).status == 200


def basic(user: str, password: str) -> str:
    return "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()


def test_passwords(folder):
    with serving(web=web(folder, USERS)) as server:
        refused = ask_once(server)
        assert (refused.status, refused.headers["WWW-Authenticate"]) == (401, 'Basic realm="watchkeeper"')
        assert ask_once(server, Authorization=basic("alice", "sesame")).status == 200
        for wrong in (
            basic("alice", "Sesame"),
            basic("alice", ""),
            basic("bob", "sesame"),
            basic("alice", "sesame" + "x" * 100),
            basic("alice", "\0"),
            "Basic",
            "Basic !",
            "Basic " + base64.b64encode(b"alice").decode(),
            "Basic " + base64.b64encode(b"\xff:\xff").decode(),
            "Bearer sesame",
        ):
            assert ask_once(server, "/-/healthy", Authorization=wrong).status == 401


def test_a_right_password_is_hashed_once(tmp_path, monkeypatch):
    slow = bcrypt.hashpw(b"sesame", bcrypt.gensalt(4)).decode()
    config = web(tmp_path, f"basic_auth_users:\n  alice: {slow}\n")
    hashed = []
    check = bcrypt.checkpw
    monkeypatch.setattr(bcrypt, "checkpw", lambda *given: hashed.append(given) or check(*given))
    assert config.refuse(basic("alice", "sesame")) is None
    for number in range(3):
        assert config.refuse(basic("alice", f"guess {number}")) is not None
    assert len(hashed) == 4
    assert config.refuse(basic("alice", "sesame")) is None
    assert len(hashed) == 4


def test_a_user_who_is_taken_out_stays_out(tmp_path):
    config = web(tmp_path, USERS)
    assert config.refuse(basic("alice", "sesame")) is None
    (tmp_path / "web.yml").write_text(USERS.replace("alice", "bob"))
    assert config.reload()
    assert config.refuse(basic("alice", "sesame")) is not None
    assert config.refuse(basic("bob", "sesame")) is None


def test_rate_limit(tmp_path):
    now = [100.0]
    (tmp_path / "web.yml").write_text("rate_limit:\n  interval: 1s\n  burst: 2\n")
    config = Web(tmp_path / "web.yml", clock=lambda: now[0])
    assert [config.refuse("") is None for _ in range(3)] == [True, True, False]
    now[0] += 1.0
    assert [config.refuse("") is None for _ in range(2)] == [True, False]
    now[0] += 100.0
    assert [config.refuse("") is None for _ in range(3)] == [True, True, False]


def test_headers(tmp_path):
    text = "http_server_config:\n  http2: false\n  headers:\n    X-Frame-Options: deny\n    X-XSS-Protection: ''\n"
    with serving(web=web(tmp_path, text)) as server:
        answered = ask_once(server, "/")
        assert answered.headers["X-Frame-Options"] == "deny"
        assert "X-XSS-Protection" not in answered.headers


def test_an_empty_file_asks_for_nothing(tmp_path):
    with serving(web=web(tmp_path, "")) as server:
        assert ask_once(server).status == 200


WRONG = {
    "[]": "the file must be a mapping of names to values",
    "tls: {}": "the file has no 'tls': there are basic_auth_users,",
    "a: [": "is no YAML at line 1, column",
    "- " * 3000: "is no YAML",
    "tls_server_config: {cert_file: server.crt}": "tls_server_config.key_file must name a file",
    "tls_server_config: {cert: x, key_file: y}": "can't be given inline, as Python reads it from a file: write cert_",
    "tls_server_config: {cert_file: none.crt, key_file: server.key}": "none.crt can't be read: No such file",
    "tls_server_config: {cert_file: server.crt, key_file: next.key}": "next.key is the key of another certificate than",
    TLS + "  min_version: SSL3": "min_version: 'SSL3' is none of TLS10, TLS11, TLS12, TLS13",
    TLS + "  client_auth_type: RequireAnyClientCert": "write RequireAndVerifyClientCert",
    TLS + "  client_auth_type: Maybe": "client_auth_type: 'Maybe' is none of",
    TLS + "  client_auth_type: RequireAndVerifyClientCert": "wants one of client_ca_file and client_ca",
    TLS + "  client_ca_file: ca.crt": "a client CA is of no use without client_auth_type",
    TLS + "  client_ca: x\n  client_auth_type: RequireAndVerifyClientCert": "is no certificate in PEM",
    TLS + "  client_allowed_sans: [a]": "client_allowed_sans wants client_auth_type",
    TLS + "  cipher_suites: [TLS_RSA_WITH_RC4_128_SHA]": "is no suite that Go calls secure",
    TLS + "  cipher_suites: TLS": "cipher_suites must be a list of names",
    TLS + "  curve_preferences: [X25519, CurveP256]": "Python's ssl takes one curve",
    TLS + "  curve_preferences: [P1]": "'P1' is none of CurveP256",
    "basic_auth_users: {alice: sesame}": "that of 'alice' is no bcrypt hash: make one by `htpasswd -nBC 10 alice`",
    f'basic_auth_users: {{"a:b": {HASH}}}': "has a colon",
    "basic_auth_users: {1: x}": "basic_auth_users must be a mapping of names to values",
    "http_server_config: {headers: {X-Evil: y}}": "http_server_config.headers has no 'X-Evil'",
    'http_server_config: {headers: {X-Frame-Options: "a\\r\\nb"}}': "must be one line of text",
    "rate_limit: {interval: soon}": "rate_limit.interval: 'soon' is no duration such as 1s",
    "rate_limit: {interval: 1s, burst: 0}": "rate_limit.burst: 0 is no whole number from 1 on",
}


@pytest.mark.parametrize("text", WRONG, ids=[message[:40] for message in WRONG.values()])
def test_what_is_wrong_is_told(folder, text):
    (folder / "web.yml").write_text(text)
    with pytest.raises(WebConfigError) as raised:
        load(folder / "web.yml")
    assert str(raised.value).startswith(f"{folder / 'web.yml'}: ")
    assert WRONG[text] in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(WebConfigError, match=r"web\.yml: can't be read: No such file"):
        Web(tmp_path / "web.yml")


def test_a_file_that_is_too_large(tmp_path):
    (tmp_path / "web.yml").touch()
    os.truncate(tmp_path / "web.yml", 1 << 30)
    with pytest.raises(WebConfigError, match="more than a mebibyte"):
        Web(tmp_path / "web.yml")
