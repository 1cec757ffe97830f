"""fmt's verbs for numbers and texts: width, precision and flags as Go applies them."""

from __future__ import annotations

import math

from watchkeeper.engine.gofloat import format_g
from watchkeeper.engine.labels import quote


class Verb:
    """One verb of a format: its flags, width and precision, None where there is none."""

    __slots__ = ("minus", "plus", "plus_v", "precision", "sharp", "sharp_v", "space", "width", "zero")

    def __init__(self) -> None:
        self.minus = self.plus = self.sharp = self.space = self.zero = self.plus_v = self.sharp_v = False
        self.width: int | None = None
        self.precision: int | None = None

    def pad(self, text: str, *, zero: bool | None = None) -> str:
        """Text brought to the width; with zeroes where the flag says so, even before letters."""
        if self.width is None:
            return text
        missing = self.width - len(text)
        if missing <= 0:
            return text
        if self.minus:
            return text + " " * missing
        return ("0" if (self.zero if zero is None else zero) else " ") * missing + text

    # Texts

    def text(self, value: str, verb: str) -> str | None:
        """A string by s, v, q, x or X; None for another verb."""
        if verb == "s" or (verb == "v" and not self.sharp_v):
            return self.pad(value if self.precision is None else value[: self.precision])
        if verb in "qv":
            shown = value if self.precision is None else value[: self.precision]
            if (self.sharp or self.sharp_v) and verb == "q" and "`" not in shown and shown.isprintable():
                return self.pad(f"`{shown}`")
            quoted = quote(shown)
            return self.pad(_ascii(quoted) if self.plus else quoted)
        if verb in "xX":
            data = value.encode("utf-8", "surrogateescape")
            if self.precision is not None:
                data = data[: self.precision]
            prefix = "0x" if self.sharp else ""
            if not data:
                return self.pad("")
            digits = " ".join(f"{prefix}{byte:02x}" for byte in data) if self.space else prefix + data.hex()
            return self.pad(digits.upper() if verb == "X" else digits)
        return None

    # Numbers

    def integer(self, value: int, verb: str) -> str | None:
        """An integer by v, d, b, o, O, x, X, c, q or U; None for another verb."""
        if verb in "vd":
            return self._digits(value, str(abs(value)), "")
        if verb == "x":
            return self._digits(value, f"{abs(value):x}", "0x" if self.sharp else "")
        if verb == "X":
            return self._digits(value, f"{abs(value):X}", "0X" if self.sharp else "")
        if verb == "b":
            return self._digits(value, f"{abs(value):b}", "0b" if self.sharp else "")
        if verb in "oO":
            return self._digits(value, f"{abs(value):o}", "0o" if verb == "O" else "0" if self.sharp and value else "")
        if verb in "cqU":
            valid = 0 <= value <= 0x10FFFF and not 0xD800 <= value <= 0xDFFF
            char = chr(value) if valid else "\ufffd"
            if verb == "c":
                return self.pad(char)
            if verb == "q":
                quoted = "'" + {"'": "\\'", '"': '"'}.get(char, quote(char)[1:-1]) + "'"
                return self.pad(_ascii(quoted) if self.plus else quoted)
            digits = f"{value & (2**64 - 1):X}".rjust(max(4, self.precision or 0), "0")
            shown = f" '{char}'" if self.sharp and valid and char.isprintable() else ""
            return self.pad(f"U+{digits}{shown}", zero=False)
        return None

    def _digits(self, value: int, digits: str, prefix: str) -> str:
        sign = "-" if value < 0 else "+" if self.plus else " " if self.space else ""
        if self.precision is not None:
            if self.precision == 0 and value == 0:
                return " " * (self.width or 0)
            digits = digits.rjust(self.precision, "0")
        elif self.zero and not self.minus and self.width is not None:
            digits = digits.rjust(self.width - len(sign), "0")
        return self.pad(sign + prefix + digits, zero=False)

    def number(self, value: float, verb: str) -> str | None:
        """A float64 by v, e, E, f, F, g, G, x, X or b; None for another verb."""
        if verb in "vgG":
            text = format_g(value) if self.precision is None else _fixed(value, self.precision or 1, "g")
        elif verb in "fF":
            text = _fixed(value, 6 if self.precision is None else self.precision, "f")
        elif verb in "eE":
            text = _fixed(value, 6 if self.precision is None else self.precision, "e")
        elif verb in "xX":
            text = _hex(value, self.precision)
        elif verb == "b":
            text = _binary(value)
        else:
            return None
        if verb in "EGX":
            text = text.replace("e", "E") if verb in "EG" else text.upper()
        negative = text[0] == "-"
        if text[0] in "+-":
            text = text[1:]
        if not math.isfinite(value):
            text = {"NAN": "NaN", "INF": "Inf"}.get(text.upper(), text)
            nan = value != value  # noqa: PLR0124
            sign = "-" if negative else "+" if self.plus else " " if self.space else "" if nan else "+"
            return self.pad(sign + text, zero=False)
        if self.sharp and verb != "b":
            text = self._with_point(text, verb)
        sign = "-" if negative else "+" if self.plus else " " if self.space else ""
        if sign and self.zero and not self.minus and self.width is not None:
            return sign + text.rjust(self.width - 1, "0")
        return self.pad(sign + text)

    def _with_point(self, text: str, verb: str) -> str:
        """What the sharp flag asks of a float: a point always, and trailing zeroes with %g."""
        mantissa, mark, exponent = _split(text, verb)
        if "." not in mantissa:
            mantissa += "."
        if verb in "gGvxX":
            wanted = 6 if self.precision is None else self.precision
            digits = len(mantissa.replace(".", "").lstrip("0"))  # the x of 0x counts too, in Go
            mantissa += "0" * (wanted - digits)
        return mantissa + mark + exponent

    def complex_(self, value: complex, verb: str) -> str | None:
        if self.number(0.0, verb) is None:
            return None
        real = self.number(value.real, verb)
        plus, self.plus = self.plus, True
        imaginary = self.number(value.imag, verb)
        self.plus = plus
        return f"({real}{imaginary}i)"

    def boolean(self, value: bool, verb: str) -> str | None:
        return self.pad("true" if value else "false") if verb in "tv" else None


def _fixed(value: float, precision: int, verb: str) -> str:
    if not math.isfinite(value):
        return format_g(value)
    return f"{value:.{precision}{verb}}"


def _split(text: str, verb: str) -> tuple[str, str, str]:
    """Mantissa, mark and exponent."""
    marks = "pP" if verb in "xX" else "eE"
    return text.partition(marks[0] if marks[0] in text else marks[1])


def _ascii(quoted: str) -> str:
    return "".join(
        char if char < "\x80" else f"\\u{ord(char):04x}" if char <= "\uffff" else f"\\U{ord(char):08x}"
        for char in quoted
    )


def _hex(value: float, precision: int | None) -> str:
    """The %x of strconv: one digit before the point, an exponent of two digits or more."""
    if not math.isfinite(value):
        return format_g(value)
    sign = "-" if math.copysign(1, value) < 0 else ""
    if value == 0:
        mantissa, exponent = 0, 0
    else:
        fraction, power = math.frexp(abs(value))
        mantissa, exponent = int(fraction * 2**53), power - 1
    digits = 13
    if precision is not None and precision < 13:
        drop = 4 * (13 - precision)
        half, rest = 1 << (drop - 1), mantissa & ((1 << drop) - 1)
        mantissa >>= drop
        if rest > half or (rest == half and mantissa & 1):
            mantissa += 1
        digits = precision
        if mantissa >> (4 * digits + 1):
            mantissa >>= 1
            exponent += 1
    whole, fraction_digits = mantissa >> (4 * digits), mantissa & ((1 << (4 * digits)) - 1)
    shown = f"{fraction_digits:0{digits}x}" if digits else ""
    shown = shown.rstrip("0") if precision is None else shown.ljust(precision, "0")
    point = f".{shown}" if shown else ""
    return f"{sign}0x{whole}{point}p{'-' if exponent < 0 else '+'}{abs(exponent):02d}"


def _binary(value: float) -> str:
    """The %b of strconv: a decimal mantissa and a power of two."""
    if not math.isfinite(value):
        return format_g(value)
    sign = "-" if math.copysign(1, value) < 0 else ""
    if value == 0:
        return f"{sign}0p-1074"
    fraction, power = math.frexp(abs(value))
    exponent = max(power - 53, -1074)
    mantissa = int(math.ldexp(fraction, power - exponent)) if exponent == -1074 else int(fraction * 2**53)
    return f"{sign}{mantissa}p{exponent:+d}"
