"""Label sets: sorted tuples of (name, value), `__name__` among them, no empty values.

Compared as tuples they sort as Prometheus sorts series.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping
    from typing import TypeAlias

    Labels: TypeAlias = tuple[tuple[str, str], ...]

NAME = "__name__"
# What goes whenever the metric's name goes: the labels that say what kind of metric it was (Prometheus 3.14).
METADATA = frozenset({NAME, "__type__", "__unit__"})
EMPTY: Labels = ()

_ESCAPED = str.maketrans(
    {
        "\\": "\\\\",
        '"': '\\"',
        "\n": "\\n",
        "\t": "\\t",
        "\r": "\\r",
        "\a": "\\a",
        "\b": "\\b",
        "\f": "\\f",
        "\v": "\\v",
    }
)


def make(mapping: Mapping[str, str] | Iterable[tuple[str, str]]) -> Labels:
    """The label set of a mapping or of pairs; of two values for one name the last is taken."""
    return tuple(sorted((name, value) for name, value in dict(mapping).items() if value))


def get(labels: Labels, name: str) -> str:
    """The value of a label, "" where it is absent."""
    for key, value in labels:
        if key == name:
            return value
    return ""


def without(labels: Labels, names: Collection[str]) -> Labels:
    """The labels not in `names`."""
    return tuple([pair for pair in labels if pair[0] not in names])


def only(labels: Labels, names: Collection[str]) -> Labels:
    """The labels in `names`."""
    return tuple([pair for pair in labels if pair[0] in names])


def set_(labels: Labels, name: str, value: str) -> Labels:
    """The labels with one more, or with another value for one; "" takes it away."""
    kept = [pair for pair in labels if pair[0] != name]
    if value:
        kept.append((name, value))
        kept.sort()
    return tuple(kept)


def quote(text: str) -> str:
    """Text in double quotes as Go's strconv.Quote writes it."""
    if text.isascii() and text.isprintable():
        return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
    pieces = []
    for char in text.translate(_ESCAPED):
        code = ord(char)
        if char.isprintable():
            pieces.append(char)
        elif 0xDC80 <= code <= 0xDCFF:  # a byte that is not UTF-8
            pieces.append(f"\\x{code - 0xDC00:02x}")
        elif code < 0x80:
            pieces.append(f"\\x{code:02x}")
        else:
            pieces.append(f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}")
    return '"' + "".join(pieces) + '"'


def is_legacy_name(name: str) -> bool:
    """Whether a label name needs no quotes: letters, digits and underscores, no digit first."""
    return name.isascii() and name.isidentifier()


def format_(labels: Labels) -> str:
    """A label set as Prometheus prints it in messages: `{__name__="up", job="a"}`."""
    return "{" + ", ".join(_pair(name, value) for name, value in labels) + "}"


def format_series(labels: Labels) -> str:
    """A label set in series notation: `up{job="a"}`."""
    name = get(labels, NAME)
    if not name or not name.isascii() or not name.replace(":", "_").isidentifier():
        return format_(labels)
    rest = without(labels, (NAME,))
    return name + format_(rest) if rest else name


def _pair(name: str, value: str) -> str:
    return f"{name if is_legacy_name(name) else quote(name)}={quote(value)}"


def hash64(labels: Labels) -> int:
    """Prometheus' hash of a label set: xxHash64 of its strings, each behind its length (labels_stringlabels.go)."""
    pieces = []
    for pair in labels:
        for text in pair:
            data = text.encode(errors="surrogateescape")
            size = len(data)
            pieces.append(bytes((size,)) if size < 255 else b"\xff" + size.to_bytes(3, "little"))
            pieces.append(data)
    return xxhash64(b"".join(pieces))


_MASK = (1 << 64) - 1
_PRIME1 = 11400714785074694791
_PRIME2 = 14029467366897019727
_PRIME3 = 1609587929392839161
_PRIME4 = 9650029242287828579
_PRIME5 = 2870177450012600261


def _round(accumulator: int, lane: int) -> int:
    accumulator = (accumulator + lane * _PRIME2) & _MASK
    return ((accumulator << 31 | accumulator >> 33) & _MASK) * _PRIME1 & _MASK


def xxhash64(data: bytes) -> int:
    """XXH64 with seed 0 (xxHash's specification). In Python, as one function of PromQL needs it for a few labels."""
    size = len(data)
    at = 0
    if size >= 32:
        lanes = [(_PRIME1 + _PRIME2) & _MASK, _PRIME2, 0, -_PRIME1 & _MASK]
        while at <= size - 32:
            for index in range(4):
                lanes[index] = _round(lanes[index], int.from_bytes(data[at : at + 8], "little"))
                at += 8
        shifts = (1, 7, 12, 18)
        result = sum((lane << n | lane >> 64 - n) & _MASK for lane, n in zip(lanes, shifts, strict=True)) & _MASK
        for lane in lanes:
            result = ((result ^ _round(0, lane)) * _PRIME1 + _PRIME4) & _MASK
    else:
        result = _PRIME5
    result = (result + size) & _MASK
    while at <= size - 8:
        result ^= _round(0, int.from_bytes(data[at : at + 8], "little"))
        result = ((result << 27 | result >> 37) & _MASK) * _PRIME1 + _PRIME4 & _MASK
        at += 8
    if at <= size - 4:
        result ^= int.from_bytes(data[at : at + 4], "little") * _PRIME1 & _MASK
        result = ((result << 23 | result >> 41) & _MASK) * _PRIME2 + _PRIME3 & _MASK
        at += 4
    for byte in data[at:]:
        result ^= byte * _PRIME5 & _MASK
        result = ((result << 11 | result >> 53) & _MASK) * _PRIME1 & _MASK
    result = (result ^ result >> 33) * _PRIME2 & _MASK
    result = (result ^ result >> 29) * _PRIME3 & _MASK
    return result ^ result >> 32
