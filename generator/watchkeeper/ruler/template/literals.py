"""Constants as Go writes them: quoted strings, characters, numbers."""

from __future__ import annotations

import math
import re

from watchkeeper.ruler.template.lexer import CHAR_CONSTANT, COMPLEX, quote
from watchkeeper.ruler.template.nodes import Number

_ESCAPES = {
    "a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "\\": "\\", "'": "'", '"': '"',
}  # fmt: skip
# As text: compiled when first needed, because most templates have no constants that need them.
_ESCAPE = r"x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-7]{3})|([abfnrtv\\'\"])"
_MAX_INT = 2**63 - 1
_MAX_UINT = 2**64 - 1
_MAX_RUNE = 0x10FFFF
_INTEGER = (
    r"([+-]?)(?:(0[xX])((?:_?[0-9a-fA-F])+)|(0[bB])((?:_?[01])+)|(0[oO])((?:_?[0-7])+)|(0)((?:_?[0-7])*)"
    r"|([1-9](?:_?[0-9])*))"
)
_DIGITS = "[0-9]+(?:_[0-9]+)*"
_DECIMAL = rf"[+-]?(?:{_DIGITS}\.?(?:{_DIGITS})?|\.{_DIGITS})(?:[eE][+-]?{_DIGITS})?"
_HEX_DIGITS = "[0-9a-fA-F]+(?:_[0-9a-fA-F]+)*"
_HEX = rf"[+-]?0[xX](?=_?\.?[0-9a-fA-F])(?:_?{_HEX_DIGITS})?\.?(?:{_HEX_DIGITS})?[pP][+-]?{_DIGITS}"
_SPECIAL = r"(?i:[+-]?inf(?:inity)?|nan)"


class LiteralError(ValueError):
    """A constant is malformed; the text is Go's."""


def unquote(text: str) -> str:
    """The value of a string constant. Raises LiteralError."""
    if text[0] == "`":
        return text[1:-1].replace("\r", "")
    body = text[1:-1]
    if "\\" not in body:
        return body
    return _unescaped(body, '"')


def _unescaped(body: str, delimiter: str) -> str:
    """A text without its escapes. Bytes that are no UTF-8 stay as surrogate escapes until the end."""
    out = bytearray()
    position = 0
    while position < len(body):
        start = body.find("\\", position)
        if start < 0:
            start = len(body)
        out += body[position:start].encode("utf-8", "surrogateescape")
        if start == len(body):
            break
        match = re.compile(_ESCAPE).match(body, start + 1)
        if match is None:
            raise LiteralError("invalid syntax")
        byte, short, long, octal, letter = match.groups()
        if letter:
            if letter in "'\"" and letter != delimiter:
                raise LiteralError("invalid syntax")
            out += _ESCAPES[letter].encode()
        elif byte or octal:
            code = int(byte, 16) if byte else int(octal, 8)
            if code > 0xFF:
                raise LiteralError("invalid syntax")
            out.append(code)
        else:
            code = int(short or long, 16)
            if code > _MAX_RUNE or 0xD800 <= code <= 0xDFFF:
                raise LiteralError("invalid syntax")
            out += chr(code).encode()
        position = match.end()
    return out.decode("utf-8", "surrogateescape")


def number(position: int, text: str, kind: str) -> Number:
    """A constant of kind NUMBER, CHAR_CONSTANT or COMPLEX. Raises LiteralError."""
    node = Number(position, text)
    if text.isdecimal() and text.isascii() and text[0] != "0" and len(text) < 18:
        node.as_int = node.as_uint = int(text)
        node.as_float = float(node.as_int)
        return node
    whole_part, _, fraction = text.partition(".")
    if whole_part.isdecimal() and fraction.isdecimal() and text.isascii() and len(text) < 18:
        node.as_float = float(text)
        if node.as_float == int(node.as_float):
            node.as_int = node.as_uint = int(node.as_float)
        return node
    if kind is CHAR_CONSTANT:
        try:
            char = _unescaped(text[1:-1], "'")
        except LiteralError:
            raise LiteralError("invalid syntax") from None
        if len(char) != 1:
            if not char:
                raise LiteralError("invalid syntax")
            raise LiteralError(f"malformed character constant: {text}")
        node.as_int = node.as_uint = ord(char)
        node.as_float = float(ord(char))
        return node
    if kind is COMPLEX:
        split = max(text.rfind("+"), text.rfind("-"))
        if text[split - 1] in "eEpP":
            split = max(text.rfind("+", 0, split), text.rfind("-", 0, split))
        node.as_complex = complex(_part(text[:split], text), _part(text[split:-1], text))
        _simplify(node)
        return node
    if text[-1] == "i":
        imaginary = parse_float(text[:-1])
        if imaginary is not None:
            node.as_complex = complex(0, imaginary)
            _simplify(node)
            return node
    whole = parse_int(text)
    if whole is not None:
        if 0 <= whole <= _MAX_UINT and text[0] not in "+-":
            node.as_uint = whole
        if -_MAX_INT - 1 <= whole <= _MAX_INT:
            node.as_int = whole
            if whole == 0:
                node.as_uint = 0
    if node.as_int is not None or node.as_uint is not None:
        assert whole is not None
        node.as_float = float(whole)
        return node
    value = parse_float(text)
    if value is not None and not math.isinf(value):
        if not any(char in ".eEpP" for char in text):
            raise LiteralError(f"integer overflow: {quote(text)}")
        node.as_float = value
        if value == int(value):
            if -_MAX_INT - 1 <= value <= _MAX_INT:
                node.as_int = int(value)
            if 0 <= value <= _MAX_UINT:
                node.as_uint = int(value)
        return node
    raise LiteralError(f"illegal number syntax: {quote(text)}")


def _part(text: str, whole: str) -> float:
    value = parse_float(text)
    if value is None:
        raise LiteralError(f"illegal number syntax: {quote(whole)}")
    return value


def _simplify(node: Number) -> None:
    """A complex number without an imaginary part is a float too, and perhaps an integer."""
    value = node.as_complex
    if value is None or value.imag != 0:
        return
    node.as_float = value.real
    if value.real == int(value.real):
        if -_MAX_INT - 1 <= value.real <= _MAX_INT:
            node.as_int = int(value.real)
        if 0 <= value.real <= _MAX_UINT:
            node.as_uint = int(value.real)


def parse_int(text: str) -> int | None:
    """strconv.ParseInt with base 0: a prefix names the base, underscores separate. None for anything else."""
    match = re.fullmatch(_INTEGER, text)
    if match is None or len(text) > 100:
        return None
    sign, hexa, digits_hex, binary, digits_2, octal, digits_8, zero, old_octal, decimal = match.groups()
    if hexa:
        value = int(digits_hex.replace("_", ""), 16)
    elif binary:
        value = int(digits_2.replace("_", ""), 2)
    elif octal:
        value = int(digits_8.replace("_", ""), 8)
    elif zero:
        value = int(old_octal.replace("_", "") or "0", 8)
    else:
        value = int(decimal.replace("_", ""))
    return -value if sign == "-" else value


def parse_float(text: str) -> float | None:
    """strconv.ParseFloat; infinite where it is out of range, None where it is no number."""
    if re.fullmatch(_DECIMAL, text):
        return float(text.replace("_", ""))
    if re.fullmatch(_HEX, text):
        try:
            return float.fromhex(text.replace("_", ""))
        except OverflowError:
            return -math.inf if text[0] == "-" else math.inf
    if re.fullmatch(_SPECIAL, text):
        return float(text)
    return None
