"""Values of definitions in their proper types: what is obviously meant is put right, the rest is one clear error.

A form is a function that returns the value as a field keeps it, or raises Unfit. Texts become exact `str`s, so that
nothing of the user's runs once the definitions are loaded. Standard library only, as the contract.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    Form = Callable[[Any], Any]


class FieldError(TypeError):
    """A value of a type that can't be. The message names the definition and the field."""


class Unfit(Exception):  # noqa: N818 - never leaves this module but through `fit`
    """What is wrong with a value, to be put behind the field's name."""


def fit(owner: str, field: str, value: object, form: Form) -> Any:
    """Return the value in the form.

    Raises:
        FieldError: it can't be.
    """
    try:
        return form(value)
    except Unfit as error:
        raise FieldError(f"{owner}: {field} {error}") from None


def hold(definition: object, **forms: Form) -> None:
    """Put fields of a frozen definition into their forms, its name first, which the messages tell.

    Raises:
        FieldError: a field has a wrong type.
    """
    for field, form in forms.items():
        value = getattr(definition, field)
        try:
            held = form(value)
        except Unfit as error:
            raise FieldError(f"{_owner(definition, field)}: {field} {error}") from None
        if held is not value:
            object.__setattr__(definition, field, held)


def _owner(definition: object, field: str) -> str:
    kind = {"Recording": "recording rule", "TimeInterval": "time interval"}.get(
        type(definition).__name__, type(definition).__name__.lower()
    )
    name = "" if field == "name" else getattr(definition, "name", "")
    return f"{kind} {name}" if name else kind


def text(value: object) -> str:
    """A string; `str.__str__` and not `str()`, since a subclass's own may say or do anything."""
    if type(value) is str:
        return value
    if isinstance(value, str):
        return str.__str__(value)
    raise Unfit(f"must be a string, not {_kind(value)}{_quoted(value)}")


def duration(value: object) -> str:
    """A string, of which a check says whether it is a duration."""
    if isinstance(value, str):
        return text(value)
    raise Unfit(f"must be a string, not {_kind(value)}{_quoted(value, 's')}")


def flag(value: object) -> bool:
    """True or False."""
    if isinstance(value, bool):
        return value
    raise Unfit(f"must be True or False, not {_kind(value)}")


def whole(value: object) -> int:
    """A whole number that 64 bits hold: Prometheus reads no other."""
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise Unfit(f"must be a whole number, not {_kind(value)}")
    number = operator.index(value)
    if abs(number) >= 2**63:
        raise Unfit(f"must be below {2**63}")
    return number


def numbers(value: object) -> tuple[float, ...]:
    """Numbers, in an order."""
    items = _ordered(value, "numbers", ())
    for item in items:
        if isinstance(item, (str, bytes, bool)) or not hasattr(item, "__float__"):
            raise Unfit(f"must hold numbers only, not {_kind(item)}")
    try:
        return tuple(map(float, items))
    except OverflowError:
        raise Unfit("must hold numbers that a float can hold") from None


def names(value: object) -> tuple[str, ...]:
    """Names, in an order; a string would be one name for each of its letters."""
    if isinstance(value, str):
        raise Unfit(f'must be a tuple of names, such as ("{text(value)}",)')
    try:
        return tuple(map(text, _ordered(value, "names", ())))
    except Unfit as error:
        raise Unfit(str(error).replace("must be a string", "must hold strings only", 1)) from None


_EMPTY: Mapping[str, str] = MappingProxyType({})


def texts_by_name(value: object) -> Mapping[str, str]:
    """Strings by strings, not to be changed."""
    if type(value) is MappingProxyType and all(type(k) is str and type(v) is str for k, v in value.items()):
        return value
    if not isinstance(value, Mapping):
        raise Unfit(f'must be a dict of strings, such as {{"tier": "gold"}}, not {_kind(value)}')
    if not value:
        return _EMPTY
    held: dict[str, str] = {}
    for key, member in value.items():
        if not isinstance(key, str):
            raise Unfit(f"must have strings as keys, not {_kind(key)}{_quoted(key)}")
        if not isinstance(member, str):
            raise Unfit(f'must hold strings only, not {_kind(member)} for "{text(key)}"{_quoted(member)}')
        held[text(key)] = text(member)
    return MappingProxyType(held)


def several(*classes: type, what: str = "") -> Form:
    """Return the form of a tuple of objects of these classes; `what` says it in words, else their names do."""
    kinds = what or " or ".join(cls.__name__ for cls in classes).replace(" or ", ", ", len(classes) - 2)

    def form(value: object) -> tuple[Any, ...]:
        items = _ordered(value, kinds, classes)
        for item in items:
            if not isinstance(item, classes):
                raise Unfit(f"must hold {kinds} only, not {_kind(item)}")
        return items

    return form


def one(cls: type) -> Form:
    """Return the form of an object of this class."""

    def form(value: object) -> object:
        if isinstance(value, cls):
            return value
        raise Unfit(f"must be a {cls.__name__}, not {_kind(value)}")

    return form


def optional(form: Form) -> Form:
    """Return the form that takes None too."""
    return lambda value: None if value is None else form(value)


def _ordered(value: object, kinds: str, classes: tuple[type, ...]) -> tuple[Any, ...]:
    if isinstance(value, tuple):
        return value
    if isinstance(value, (str, bytes, Mapping, AbstractSet)) or not isinstance(value, Iterable):
        hint = ": write (x,), the comma makes the tuple" if classes != (object,) and isinstance(value, classes) else ""
        hint = ": a set has no order" if isinstance(value, AbstractSet) else hint
        raise Unfit(f"must be a list or tuple of {kinds}, not {_kind(value)}{hint}")
    return tuple(value)


def _kind(value: object) -> str:
    return type(value).__name__


def _quoted(value: object, unit: str = "") -> str:
    return f': write "{value}{unit}"' if type(value) in (int, float) else ""
