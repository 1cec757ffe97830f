"""Every public name resolves, and says what it is."""

import inspect

import pytest

import watchkeeper

# What can't carry a docstring.
VALUES = {"__version__", "Rule"}


def test_names_are_listed_once_in_order():
    # Capitals first, as ruff sorts __all__.
    assert len(set(watchkeeper.__all__)) == len(watchkeeper.__all__)
    assert dir(watchkeeper) == sorted(watchkeeper.__all__)


@pytest.mark.parametrize("name", sorted(set(watchkeeper.__all__) - VALUES))
def test_it_has_a_docstring(name):
    public = getattr(watchkeeper, name)
    assert inspect.isclass(public) or inspect.isfunction(public)
    assert told(public), f"{name} has no docstring"
    if inspect.isclass(public):
        silent = [
            member
            for member, value in vars(public).items()
            if not member.startswith("_") and is_callable_or_property(value) and not told(value)
        ]
        assert silent == [], f"{name}: these have no docstring"


@pytest.mark.parametrize("name", sorted(VALUES))
def test_values_resolve(name):
    assert getattr(watchkeeper, name)


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="module 'watchkeeper' has no attribute 'Alarm'"):
        watchkeeper.Alarm  # noqa: B018 - the access is what is tested


def told(value: object) -> bool:
    """Tell whether value has a docstring of its own; a dataclass without one is given its signature."""
    own = vars(value).get("__doc__") if inspect.isclass(value) else value.__doc__
    return bool(own and own.strip() and not own.startswith(f"{getattr(value, '__name__', '')}("))


def is_callable_or_property(value: object) -> bool:
    return isinstance(value, (property, classmethod, staticmethod)) or inspect.isfunction(value)
