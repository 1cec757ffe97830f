"""TLS, client certificates, passwords and headers: the file that Prometheus' other exporters read.

https://github.com/prometheus/exporter-toolkit/blob/master/docs/web-configuration.md; what Python's ssl can't do is
refused rather than left out.
"""

from __future__ import annotations

import re
import ssl
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

_TLS = frozenset(
    (
        *("cert", "cert_file", "key", "key_file", "client_ca", "client_ca_file", "client_auth_type"),
        *("client_allowed_sans", "min_version", "max_version", "cipher_suites", "prefer_server_cipher_suites"),
        "curve_preferences",
    )
)
_VERSIONS = {
    "TLS10": ssl.TLSVersion.TLSv1,
    "TLS11": ssl.TLSVersion.TLSv1_1,
    "TLS12": ssl.TLSVersion.TLSv1_2,
    "TLS13": ssl.TLSVersion.TLSv1_3,
}
_CLIENTS = {
    "NoClientCert": ssl.CERT_NONE,
    "VerifyClientCertIfGiven": ssl.CERT_OPTIONAL,
    "RequireAndVerifyClientCert": ssl.CERT_REQUIRED,
}
_CURVES = {"CurveP256": "prime256v1", "CurveP384": "secp384r1", "CurveP521": "secp521r1", "X25519": "X25519"}
# Go's names; its insecure ones are refused.
_SUITE = re.compile(
    r"TLS_(ECDHE_(?:RSA|ECDSA))_WITH_(?:AES_(128|256)_(GCM_SHA(?:256|384)|CBC_SHA)|(CHACHA20_POLY1305).*)"
)
_HEADERS = frozenset(
    (
        *("Content-Security-Policy", "X-Frame-Options", "X-Content-Type-Options", "X-XSS-Protection"),
        "Strict-Transport-Security",
    )
)
_HASH = re.compile(r"\$2[aby]\$(0[4-9]|[12][0-9]|3[01])\$[./A-Za-z0-9]{53}")
_DURATION = re.compile(r"([0-9]+(?:\.[0-9]+)?)(ms|s|m|h)")
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
LARGEST = 1 << 20
_NO_TLS: tuple[ssl.SSLContext | None, frozenset[str], tuple[Path, ...]] = (None, frozenset(), ())


class WebConfigError(Exception):
    """The file can't be used: which one, what is wrong, how to mend it."""


@dataclass(frozen=True)
class WebConfig:
    """What the file says."""

    tls: ssl.SSLContext | None = None
    allowed_sans: frozenset[str] = frozenset()
    users: dict[str, str] = field(default_factory=dict)
    headers: dict[str, str] = field(default_factory=dict)
    interval: float = 0.0  # of rate_limit; 0 is none
    burst: int = 1
    # The files it was made from.
    files: tuple[Path, ...] = ()


def load(path: Path) -> WebConfig:
    """Read the file, and those that it names."""
    try:
        return _load(path)
    except WebConfigError as error:
        raise WebConfigError(f"{path}: {error}") from None


def _load(path: Path) -> WebConfig:
    import yaml

    try:
        with path.open("rb") as file:
            data = file.read(LARGEST + 1)
        if len(data) > LARGEST:
            raise WebConfigError("is no web configuration: it has more than a mebibyte")
        found = yaml.safe_load(data)
    except OSError as error:
        raise WebConfigError(f"can't be read: {error.strerror}") from None
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        where = f" at line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        raise WebConfigError(f"is no YAML{where}") from None
    top = _mapping(
        found, "the file", frozenset({"tls_server_config", "http_server_config", "basic_auth_users", "rate_limit"})
    )
    tls = top.get("tls_server_config")
    http = _mapping(top.get("http_server_config"), "http_server_config", frozenset({"http2", "headers"}))
    interval, burst = _rate(_mapping(top.get("rate_limit"), "rate_limit", frozenset({"interval", "burst"})))
    context, sans, files = _context(_mapping(tls, "tls_server_config", _TLS), path.parent) if tls else _NO_TLS
    return WebConfig(
        tls=context,
        allowed_sans=sans,
        users=_users(_mapping(top.get("basic_auth_users"), "basic_auth_users")),
        headers=_headers(_mapping(http.get("headers"), "http_server_config.headers", _HEADERS)),
        interval=interval,
        burst=burst,
        files=(path, *files),
    )


def _mapping(found: object, what: str, known: frozenset[str] | None = None) -> dict[str, Any]:
    if found is None:
        return {}
    if not isinstance(found, dict) or not all(isinstance(key, str) for key in found):
        raise WebConfigError(f"{what} must be a mapping of names to values")
    for key in found:
        if known is not None and key not in known:
            raise WebConfigError(f"{what} has no {key!r}: there are {', '.join(sorted(known))}")
    return found


def _context(tls: dict[str, Any], folder: Path) -> tuple[ssl.SSLContext, frozenset[str], tuple[Path, ...]]:
    for inline in ("cert", "key"):
        if tls.get(inline):
            raise WebConfigError(
                f"tls_server_config.{inline} can't be given inline, as Python reads it from a file: write {inline}_file"
            )
    names = {key: tls.get(key) for key in ("cert_file", "key_file", "client_ca_file")}
    for key, name in names.items():
        if not isinstance(name, str) and (name is not None or key != "client_ca_file"):
            raise WebConfigError(f"tls_server_config.{key} must name a file")
    files = {key: folder / name for key, name in names.items() if name}
    for key, file in files.items():
        _try(key, file)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        context.load_cert_chain(files["cert_file"], files["key_file"], password="")
    except (ssl.SSLError, ValueError) as error:
        if getattr(error, "reason", "") == "KEY_VALUES_MISMATCH":
            raise WebConfigError(
                f"tls_server_config: {files['key_file']} is the key of another certificate than {files['cert_file']}"
            ) from None
        raise WebConfigError(
            "tls_server_config: cert_file and key_file are no certificate and its key, in PEM, without a password"
        ) from None
    context.minimum_version = _one_of(tls, "min_version", _VERSIONS, "TLS12")
    context.maximum_version = _one_of(tls, "max_version", _VERSIONS, "TLS13")
    _choices(context, tls)
    sans = _clients(context, tls, files.get("client_ca_file"))
    return context, sans, tuple(files.values())


def _try(key: str, file: Path) -> None:
    try:
        with file.open("rb"):
            pass
    except OSError as error:
        raise WebConfigError(f"tls_server_config.{key}: {file} can't be read: {error.strerror}") from None


def _choices(context: ssl.SSLContext, tls: dict[str, Any]) -> None:
    suites = [_suite(name) for name in _strings(tls, "cipher_suites")]
    # TLS 1.3 chooses among its own, here as in Go.
    suites = [name for name in suites if name]
    if suites:
        try:
            context.set_ciphers(":".join(suites))
        except ssl.SSLError:
            raise WebConfigError("tls_server_config.cipher_suites: this machine's OpenSSL has none of them") from None
    if tls.get("prefer_server_cipher_suites", True):
        context.options |= ssl.OP_CIPHER_SERVER_PREFERENCE
    curves = _strings(tls, "curve_preferences")
    if len(curves) > 1:
        raise WebConfigError("tls_server_config.curve_preferences: Python's ssl takes one curve; name one, or none")
    for curve in curves:
        if curve not in _CURVES:
            raise WebConfigError(f"tls_server_config.curve_preferences: {curve!r} is none of {', '.join(_CURVES)}")
        context.set_ecdh_curve(_CURVES[curve])


def _clients(context: ssl.SSLContext, tls: dict[str, Any], authority: Path | None) -> frozenset[str]:
    """Say which clients may come; return the names of which their certificates must have one."""
    kind = tls.get("client_auth_type") or "NoClientCert"
    if kind in ("RequestClientCert", "RequireAnyClientCert"):
        raise WebConfigError(
            f"tls_server_config.client_auth_type: {kind} takes a certificate that nobody has verified, which Python's"
            " ssl can't; write RequireAndVerifyClientCert"
        )
    mode = _one_of(tls, "client_auth_type", _CLIENTS, "NoClientCert")
    inline = tls.get("client_ca")
    if mode is ssl.CERT_NONE and (authority or inline):
        # The toolkit refuses it too: who names an authority means clients to be verified.
        raise WebConfigError("tls_server_config: a client CA is of no use without client_auth_type")
    if mode is not ssl.CERT_NONE:
        if bool(authority) == bool(inline):
            raise WebConfigError(f"tls_server_config: {kind} wants one of client_ca_file and client_ca")
        try:
            context.load_verify_locations(cafile=authority, cadata=str(inline) if inline else None)
        except ssl.SSLError:
            raise WebConfigError("tls_server_config: the client CA is no certificate in PEM") from None
        context.verify_mode = mode
    sans = frozenset(_strings(tls, "client_allowed_sans"))
    if sans and mode is not ssl.CERT_REQUIRED:
        raise WebConfigError("tls_server_config.client_allowed_sans wants client_auth_type: RequireAndVerifyClientCert")
    return sans


def _one_of(tls: dict[str, Any], key: str, choices: dict[str, Any], default: str) -> Any:
    name = tls.get(key) or default
    if not isinstance(name, str) or name not in choices:
        raise WebConfigError(f"tls_server_config.{key}: {name!r} is none of {', '.join(choices)}")
    return choices[name]


def _strings(tls: dict[str, Any], key: str) -> list[str]:
    found = tls.get(key) or []
    if not isinstance(found, list) or not all(isinstance(one, str) for one in found):
        raise WebConfigError(f"tls_server_config.{key} must be a list of names")
    return found


def _suite(name: str) -> str:
    """Return OpenSSL's name of a cipher suite; nothing for those of TLS 1.3."""
    if name in ("TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256"):
        return ""
    found = _SUITE.fullmatch(name)
    if not found:
        raise WebConfigError(f"tls_server_config.cipher_suites: {name!r} is no suite that Go calls secure")
    exchange, bits, mode, chacha = found.groups()
    rest = "CHACHA20-POLY1305" if chacha else f"AES{bits}-{mode.replace('_', '-').removeprefix('CBC-')}"
    return f"{exchange.replace('_', '-')}-{rest}"


def _users(found: dict[str, Any]) -> dict[str, str]:
    if found:
        try:
            import bcrypt  # noqa: F401 - only asked whether it is there
        except ImportError:
            raise WebConfigError("basic_auth_users needs bcrypt: pip install 'watchkeeper[exporter]'") from None
    for user, secret in found.items():
        if not isinstance(secret, str) or not _HASH.fullmatch(secret):
            raise WebConfigError(
                f"basic_auth_users: that of {user!r} is no bcrypt hash: make one by `htpasswd -nBC 10 {user}`"
            )
        if ":" in user:
            raise WebConfigError(f"basic_auth_users: {user!r} has a colon, which no client can send")
    return found


def _headers(found: dict[str, Any]) -> dict[str, str]:
    for name, value in found.items():
        if not isinstance(value, str) or not value.isprintable():
            raise WebConfigError(f"http_server_config.headers.{name} must be one line of text")
    return {name: value for name, value in found.items() if value}


def _rate(found: dict[str, Any]) -> tuple[float, int]:
    interval = found.get("interval", 0)
    match = _DURATION.fullmatch(str(interval))
    if interval not in (0, "0") and not match:
        raise WebConfigError(f"rate_limit.interval: {interval!r} is no duration such as 1s or 100ms")
    burst = found.get("burst", 1)
    if not isinstance(burst, int) or burst < 1:
        raise WebConfigError(f"rate_limit.burst: {burst!r} is no whole number from 1 on")
    return (float(match[1]) * _SECONDS[match[2]] if match else 0.0), burst
