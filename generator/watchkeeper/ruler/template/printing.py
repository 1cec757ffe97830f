"""fmt's Sprint, Sprintln and Sprintf over the values of templates."""

from __future__ import annotations

import re

from watchkeeper.ruler.template.errors import LimitError
from watchkeeper.ruler.template.moments import SECOND, SECONDS_BEFORE_1970, Duration, Month, Time, Weekday
from watchkeeper.ruler.template.values import Args, Html, QueryResult, Root, Sample, fields_of, type_name
from watchkeeper.ruler.template.verbs import Verb

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

MAX_LENGTH = 1 << 22  # characters; a message is thousands of times shorter
_MAX_PIECES = 100_000
_MAX_DEPTH = 100
_MAX_COUNT = 1_000_000  # of width and precision, as in Go
_ADDRESS = "0xc000000000"
_STRINGER_VERBS = "vsxXq"


def sprint(values: tuple[object, ...], one: Callable[[object], str] | None = None) -> str:
    """Values one after the other as `one` shows them, a space between two of which neither is a string."""
    one = one or show
    pieces: list[str] = []
    previous_is_text = True
    for value in values:
        is_text = type(value) is str or type(value) is Html
        if not is_text and not previous_is_text:
            pieces.append(" ")
        pieces.append(one(value))
        previous_is_text = is_text
    return "".join(pieces)


def sprintln(values: tuple[object, ...]) -> str:
    return " ".join(map(show, values)) + "\n"


def show(value: object) -> str:
    """A value by %v."""
    kind = type(value)
    if kind is str:
        return value  # type: ignore[return-value]
    return _Printer(Verb()).argument(value, "v")


class _Printer:
    """Prints one argument; counts the pieces, because a map that holds itself many times over would never end."""

    __slots__ = ("complains", "pieces", "verb")

    def __init__(self, verb: Verb) -> None:
        self.verb = verb
        self.pieces = 0
        self.complains = False  # then fmt asks no value how it wants to be shown

    def argument(self, value: object, letter: str, depth: int = 0) -> str:
        self.pieces += 1
        if self.pieces > _MAX_PIECES or depth > _MAX_DEPTH:
            raise LimitError("the value to print is too large")
        verb = self.verb
        if value is None:
            return verb.pad("<nil>") if letter in "Tv" or depth else self._bad(value, letter)
        if letter == "w":  # only Errorf knows it
            return self._bad(value, letter)
        if letter == "T":
            return verb.text(type_name(value), "s") or ""
        text: str | None
        if letter == "p":
            text = verb.pad(_ADDRESS) if isinstance(value, (dict, QueryResult, Sample)) else None
        elif isinstance(value, bool):
            text = verb.boolean(value, letter)
        elif isinstance(value, str):
            text = verb.text(value, letter)
        elif (
            isinstance(value, (Duration, Month, Weekday))
            and letter in _STRINGER_VERBS
            and not (verb.sharp_v or self.complains)
        ):
            text = verb.text(str(value), letter)
        elif isinstance(value, int):
            text = verb.integer(int(value), letter)
        elif isinstance(value, float):
            text = verb.number(value, letter)
        elif isinstance(value, complex):
            text = verb.complex_(value, letter)
        elif isinstance(value, (dict, list, Sample, Root)):
            text = self._composite(value, letter, depth)
        elif letter in _STRINGER_VERBS and not (self.complains and isinstance(value, Time)):  # a time or a histogram
            text = verb.text(str(value), letter)
        elif isinstance(value, Time):
            text = self._time(value, letter, depth)
        else:
            text = None
        return self._bad(value, letter) if text is None else text

    def _time(self, value: Time, letter: str, depth: int) -> str:
        """A time by a verb that is for none: its three fields, nanoseconds, seconds since the year 1 and no zone."""
        seconds, ns = divmod(value.ns, SECOND)
        pieces = []
        for name, number in (("uint64", ns), ("int64", seconds + SECONDS_BEFORE_1970)):
            text = self.verb.integer(number, letter)
            pieces.append(f"%!{letter}({name}={self.verb.integer(number, 'v')})" if text is None else text)
        zone = self.verb.integer(0, letter) if letter in "bodxX" else "<nil>" if letter == "v" else None
        pieces.append(f"%!{letter}(*time.Location=<nil>)" if zone is None else zone)
        return self._joined("&{" if value.is_pointer and not depth else "{", pieces, "}")

    def _bad(self, value: object, letter: str) -> str:
        if value is None:
            return f"%!{letter}(<nil>)"
        self.complains = True
        shown = self.argument(value, "v")
        self.complains = False
        return f"%!{letter}({type_name(value)}={shown})"

    def _joined(self, start: str, pieces: list[str], end: str) -> str:
        return f"{start}{(', ' if self.verb.sharp_v else ' ').join(pieces)}{end}"

    def _composite(self, value: object, letter: str, depth: int) -> str:
        sharp = self.verb.sharp_v
        below = depth + 1
        if isinstance(value, dict):
            pieces = [
                f"{self.argument(key, letter, below)}:{self.argument(one, letter, below)}"
                for key, one in sorted(value.items())
            ]
            name = "map[string]interface {}" if type(value) is Args else "map[string]string"
            return self._joined(f"{name}{{", pieces, "}") if sharp else self._joined("map[", pieces, "]")
        if isinstance(value, list):
            if sharp:
                return self._joined(
                    "template.queryResult{", ["(*template.sample)(" + _ADDRESS + ")" for _ in value], "}"
                )
            return self._joined("[", [self._address(one, letter) for one in value], "]")
        if isinstance(value, Sample) and depth:
            return f"(*template.sample)({_ADDRESS})" if sharp else self._address(value, letter)
        names = self.verb.plus_v or sharp
        pieces = [(f"{name}:" if names else "") + self.argument(one, letter, below) for name, one in fields_of(value)]
        start = "&" if isinstance(value, Sample) else ""
        if sharp:
            start += "template.sample" if isinstance(value, Sample) else type_name(value)
        return self._joined(start + "{", pieces, "}")

    def _address(self, value: object, letter: str) -> str:
        """A pointer inside of something: where it points to, which is never twice the same in Go."""
        if letter in "vp":
            return self.verb.pad(_ADDRESS)
        shown = self.verb.integer(int(_ADDRESS, 16), letter) if letter in "bodxX" else None
        return self._bad(value, letter) if shown is None else shown


def show_struct(value: object) -> str:
    """A value by %v as an action prints it: what a pointer points at."""
    if isinstance(value, Sample):
        return _Printer(Verb()).argument(value, "v")[1:]
    return show(value)


# One verb with no flag, and what Python's own formatting makes of it for a number of that type.
_SIMPLE = re.compile(r"([^%]*)%(?:\.([0-9]{1,2}))?([sdf])([^%]*)")
_simple: dict[str, tuple[str, str, str, str] | None] = {}


def sprintf(layout: str, values: tuple[object, ...]) -> str:
    """fmt.Sprintf, with its complaints in place of what a format gets wrong."""
    if len(values) == 1:
        parts = _simple.get(layout, ())
        if parts == ():
            if len(_simple) > 500:
                _simple.clear()
            match = _SIMPLE.fullmatch(layout)
            parts = _simple[layout] = None if match is None else (match[1], match[2] or "", match[3], match[4])
        if parts:
            before, precision, letter, after = parts
            value = values[0]
            if letter == "f":
                if type(value) is float and value - value == 0:
                    return f"{before}{value:.{precision or 6}f}{after}"
            elif not precision and type(value) is (str if letter == "s" else int):
                return f"{before}{value}{after}"
    return _sprintf(layout, values)


def _sprintf(layout: str, values: tuple[object, ...]) -> str:
    out: list[str] = []
    position, size, number, total = 0, len(layout), 0, 0
    reordered = False
    while position < size:
        start = layout.find("%", position)
        if start < 0:
            out.append(layout[position:])
            break
        if start > position:
            out.append(layout[position:start])
        position = start + 1
        verb = Verb()
        good = True
        after_index = False
        while position < size and layout[position] in "#0+- ":
            flag = layout[position]
            if flag == "#":
                verb.sharp = True
            elif flag == "0":
                verb.zero = True
            elif flag == "+":
                verb.plus = True
            elif flag == "-":
                verb.minus = True
            else:
                verb.space = True
            position += 1
        number, position, after_index, good, reordered = _index(layout, position, number, len(values), good, reordered)
        if position < size and layout[position] == "*":
            position += 1
            verb.width, number = _star(values, number)
            if verb.width is None:
                out.append("%!(BADWIDTH)")
            elif verb.width < 0:
                verb.width, verb.minus, verb.zero = -verb.width, True, False
            after_index = False
        else:
            verb.width, position = _count(layout, position)
            if after_index and verb.width is not None:
                good = False
        if position + 1 < size and layout[position] == ".":
            position += 1
            if after_index:
                good = False
            number, position, after_index, good, reordered = _index(
                layout, position, number, len(values), good, reordered
            )
            if position < size and layout[position] == "*":
                position += 1
                verb.precision, number = _star(values, number)
                if verb.precision is None:
                    out.append("%!(BADPREC)")
                elif verb.precision < 0:
                    verb.precision = None
                    out.append("%!(BADPREC)")
                after_index = False
            else:
                verb.precision, position = _count(layout, position)
                if verb.precision is None:
                    verb.precision = 0
        if not after_index:
            number, position, after_index, good, reordered = _index(
                layout, position, number, len(values), good, reordered
            )
        if position >= size:
            out.append("%!(NOVERB)")
            break
        letter = layout[position]
        position += 1
        if letter == "%":
            out.append("%")
        elif not good:
            out.append(f"%!{letter}(BADINDEX)")
        elif number >= len(values):
            out.append(f"%!{letter}(MISSING)")
        else:
            if letter == "v":
                verb.sharp_v, verb.sharp, verb.plus_v, verb.plus = verb.sharp, False, verb.plus, False
            out.append(_Printer(verb).argument(values[number], letter))
            total += len(out[-1])
            if total > MAX_LENGTH:
                raise LimitError("the text is too long")
            number += 1
    if not reordered and number < len(values):
        extra = ", ".join("<nil>" if one is None else f"{type_name(one)}={show(one)}" for one in values[number:])
        out.append(f"%!(EXTRA {extra})")
    return "".join(out)


def _count(layout: str, position: int) -> tuple[int | None, int]:
    end = position
    while end < len(layout) and "0" <= layout[end] <= "9":
        end += 1
        if end - position > 7 or int(layout[position:end]) > _MAX_COUNT:
            return None, len(layout)  # Go gives up on the rest: an absurd count
    return (int(layout[position:end]), end) if end > position else (None, position)


def _star(values: tuple[object, ...], number: int) -> tuple[int | None, int]:
    if number >= len(values):
        return None, number
    value = values[number]
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) <= _MAX_COUNT:
        return int(value), number + 1
    return None, number + 1


def _index(  # noqa: PLR0917
    layout: str, position: int, number: int, count: int, good: bool, reordered: bool
) -> tuple[int, int, bool, bool, bool]:
    """An argument index such as [2]: the number of the argument, where the format goes on, and what became of it."""
    if layout[position : position + 1] != "[":
        return number, position, False, good, reordered
    end = layout.find("]", position)
    if end < 0 or len(layout) - position < 3:
        return number, position + 1, False, False, True
    digits = layout[position + 1 : end]
    if not digits.isascii() or not digits.isdigit() or len(digits) > 7:
        return number, end + 1, False, False, True
    if 1 <= int(digits) <= count:
        return int(digits) - 1, end + 1, True, good, True
    return number, end + 1, True, False, True
