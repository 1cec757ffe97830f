"""JSON text of a dashboard, the same bytes for the same model everywhere.

Keys are sorted, as Grafana sorts those of what it saves, so that an export shows only real differences. Numbers are
written as JavaScript writes them (`1.0` is `1`), for the same reason.
"""

from __future__ import annotations

import re
from json.encoder import encode_basestring as _string
from typing import Any


def to_text(model: object) -> str:
    """Return model as JSON: keys sorted, two spaces of indentation, not only ASCII, a newline at the end.

    Raises:
        TypeError: there is something in it that JSON does not have.
    """
    parts: list[str] = []
    _write(model, "\n", parts.append)
    parts.append("\n")
    text = "".join(parts)
    try:
        text.encode()
    except UnicodeEncodeError:  # half of a surrogate pair can only be written escaped
        text = _SURROGATE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)
    return text


_SURROGATE = re.compile("[\ud800-\udfff]")


def _write(value: Any, newline: str, put: Any) -> None:
    kind = type(value)
    if kind is str:
        put(_string(value))
    elif kind is dict:
        if not value:
            put("{}")
            return
        inner = newline + "  "
        lead = "{" + inner
        for key in sorted(value):
            member = value[key]
            put(lead + _string(key) + ": ")
            lead = "," + inner
            # The commonest kinds are written here, without the cost of a call.
            kind = type(member)
            if kind is str:
                put(_string(member))
            elif kind is bool:
                put("true" if member else "false")
            elif kind is int:
                put(str(member))
            else:
                _write(member, inner, put)
        put(newline + "}")
    elif kind is list:
        if not value:
            put("[]")
            return
        inner = newline + "  "
        lead = "[" + inner
        for item in value:
            put(lead)
            lead = "," + inner
            _write(item, inner, put)
        put(newline + "]")
    elif value is None:
        put("null")
    elif kind is bool:
        put("true" if value else "false")
    elif kind is int:
        put(str(value))
    elif kind is float:
        put(number(value))
    else:
        raise TypeError(f"{kind.__name__} is not JSON")


def number(value: float) -> str:
    """Return a finite float as JavaScript writes it: `1`, `0.00001`, `1e-7`, `1e+21`."""
    if value.is_integer() and abs(value) < 1e21:
        return str(int(value))
    mantissa, mark, exponent = repr(value).partition("e")
    if not mark:
        return mantissa
    power = int(exponent)
    if -7 < power < 0:
        sign, digits = ("-", mantissa[1:]) if mantissa[0] == "-" else ("", mantissa)
        return f"{sign}0.{'0' * (-power - 1)}{digits.replace('.', '')}"
    return f"{mantissa}e{power:+d}"
