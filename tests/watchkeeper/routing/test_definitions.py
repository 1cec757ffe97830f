"""Routing as values: frozen, equal by value, with the place of their calls, and without secrets."""

import dataclasses
import sys
import textwrap
from pathlib import Path

import pytest

from watchkeeper import DefinitionError, Group, Pack, Recording, Severity, not_, re
from watchkeeper.fields import FieldError
from watchkeeper.routing import (
    Email,
    Global,
    Inhibition,
    LabelMatcher,
    PagerDuty,
    Period,
    Receiver,
    Route,
    Routing,
    Slack,
    TimeInterval,
    Webhook,
)
from watchkeeper.routing.definitions import walk

A = Receiver("a", [Webhook("http://127.0.0.1/x")])


def test_matchers_are_held_by_value():
    route = Route(match={"a": "1", "b": re("x.*"), "c": not_("y"), "d": not_(re("z")), "e": Severity.CRITICAL})
    assert route.match == (
        LabelMatcher("a", "=", "1"),
        LabelMatcher("b", "=~", "x.*"),
        LabelMatcher("c", "!=", "y"),
        LabelMatcher("d", "!~", "z"),
        LabelMatcher("e", "=", "critical"),
    )
    assert all(type(part) is str for matcher in route.match for part in matcher)
    assert Route(match={"a": re("x")}) != Route(match={"a": "x"})
    assert dataclasses.replace(route, group_wait="1s").match == route.match


def test_receivers_and_time_intervals_stand_for_their_names():
    hours = TimeInterval("hours", [Period(weekdays=("monday",))])
    route = Route(A, mute_during=[hours], active_during=("night",))
    assert (route.receiver, route.mute_during, route.active_during) == ("a", ("hours",), ("night",))
    assert f"{A} {hours}" == "a hours"


def test_values_are_frozen_equal_by_value():
    def made():
        receiver = Receiver("x", [PagerDuty("/k", details={"a": "b"}), Slack("#x"), Email("a@b"), Webhook("http://h")])
        return Routing(
            Route(receiver, routes=[Route(match={"a": "b"})]),
            receivers=[receiver],
            inhibitions=[Inhibition({"a": "b"}, {"a": "c"}, ["n"])],
            time_intervals=[TimeInterval("t", [Period(times=["09:00-17:00"])])],
            global_=Global(smtp_from="a@b"),
        )

    one = made()
    assert one == made()
    assert hash(one) == hash(made())
    with pytest.raises(dataclasses.FrozenInstanceError):
        one.route.receiver = "y"
    assert dataclasses.replace(one, inhibitions=()) != one


def test_each_remembers_the_line_of_its_call():
    route = Route(A)
    inner = Route(
        A,
        routes=[route],
    )
    assert route.place.file == __file__
    assert inner.place.line == route.place.line + 1
    routing = Routing(inner, receivers=[A])
    assert routing.place.line == inner.place.line + 6
    assert set(routing.places) == {A.place, A.integrations[0].place, route.place, inner.place, routing.place}


def test_routes_are_walked_parents_first():
    tree = Route("r", routes=[Route("a", routes=[Route("b")]), Route("c")])
    assert [(depth, route.receiver) for depth, route in walk(tree)] == [(0, "r"), (1, "a"), (2, "b"), (1, "c")]


@pytest.mark.parametrize(
    "url",
    [
        "https://user:secret@hooks.example.com/x",
        "https://secret@hooks.example.com",
        "https://hooks.example.com/x?token=abc",
        "https://hooks.example.com/x?a=b&API_KEY=abc",
        "https://hooks.example.com/x?sig=abc",
    ],
)
@pytest.mark.parametrize("make", [Webhook, lambda url: PagerDuty("/k", url=url)], ids=["webhook", "pd"])
def test_an_address_with_a_secret_in_it_can_not_be_written(url, make):
    with pytest.raises(DefinitionError, match="which would be committed") as caught:
        make(url)
    assert "secret@" not in str(caught.value)
    assert "abc" not in str(caught.value)
    assert caught.value.place.file == __file__
    assert "_file" in caught.value.fix


@pytest.mark.parametrize("url", ["https://hooks.example.com/a@b?monkey=1", "http://127.0.0.1:80/x", "http://h/?keys=2"])
def test_an_address_without_one_can(url):
    assert Webhook(url).url == url


@pytest.mark.parametrize(
    ("make", "secret"),
    [
        (PagerDuty, "0123456789abcdef0123456789abcdef"),
        (lambda key: Slack("#x", api_url_file=key), "https://hooks.slack.example.com/services/T0/B0/x"),
        (lambda key: Webhook(url_file=key), "https://hooks.example.com/x"),
        (lambda key: Webhook("https://h/x", credentials_file=key), "ghp_0123456789abcdefghijABCDEFGHIJ012345"),
        (lambda key: Webhook("https://h/x", credentials_file=key), "Bearer 0123456789abcdefghijABCD"),
        (lambda key: Global(slack_api_url_file=key), "https://hooks.slack.example.com/services/T0/B0/x"),
    ],
    ids=["PagerDuty", "Slack", "Webhook", "token", "Bearer", "Global"],
)
def test_a_secret_in_place_of_its_file_can_not_be_written(make, secret):
    with pytest.raises(DefinitionError, match="is the secret itself, as it seems") as caught:
        make(secret)
    assert secret not in str(caught.value)
    assert caught.value.place.file == __file__
    assert "that file's path" in caught.value.fix


@pytest.mark.parametrize(
    "path", ["/run/secrets/0123456789abcdef0123456789abcdef", "pagerduty-inference-service-key-2", "key.txt", "pd2"]
)
def test_files_may_have_any_name_that_files_have(path):
    assert PagerDuty(path).routing_key_file == path


def test_no_field_takes_a_secret():
    fields = {field.name for cls in (PagerDuty, Slack, Email, Webhook, Global) for field in dataclasses.fields(cls)}
    secret = {name for name in fields if any(word in name for word in ("key", "password", "token", "secret", "cred"))}
    assert all(name.endswith("_file") for name in secret)
    assert secret == {"routing_key_file", "credentials_file", "smtp_auth_password_file"}


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: Route(5), "route: receiver must be a Receiver or the name of one, not int"),
        (lambda: Route(A, match=["a"]), 'match must be a dict of labels, such as {"severity": "critical"}, not list'),
        (lambda: Route(A, match={"a": 5}), "match of 'a' must be a string, not int: write \"5\""),
        (lambda: Route(A, mute_during="x"), "mute_during must be a list or tuple"),
        (lambda: Route(A, group_by="x"), 'group_by must be a tuple of names, such as ("x",)'),
        (lambda: Route(A, group_wait=5), 'group_wait must be a string, not int: write "5s"'),
        (lambda: Receiver("x", Webhook("http://h")), "write (x,), the comma makes the tuple"),
        (lambda: Routing(A, receivers=[A]), "routing: route must be a Route, not Receiver"),
        (lambda: TimeInterval(7, []), 'time interval: name must be a string, not int: write "7"'),
        (lambda: Pack(routing=A), "pack: routing must be a Routing, not Receiver"),
        (lambda: Pack().with_routing(A), "Pack.with_routing: routing must be a Routing, not Receiver"),
    ],
    ids=["receiver", "match", "value", "during", "group by", "wait", "receivers", "route", "name", "pack", "with"],
)
def test_a_wrong_type_is_one_clear_line(make, said):
    with pytest.raises(FieldError) as caught:
        make()
    assert said in str(caught.value)


def test_a_tree_too_deep_to_be_rendered_is_refused():
    def tree(depth):
        route = Route(A)
        for _ in range(depth):
            route = Route(A, match={"a": "b"}, routes=[route])
        return route

    Routing(tree(100), receivers=[A])
    with pytest.raises(DefinitionError, match="nest more than 100 deep"):
        Routing(tree(101), receivers=[A])


# In packs

GROUP = Group("g", [Recording("a:b:c", "sum(up)")])
ROUTING = Routing(Route(A), receivers=[A])


def test_a_pack_keeps_its_routing():
    pack = Pack(groups=(GROUP,), routing=ROUTING)
    assert pack.add({"uid": "x", "panels": []}).routing is ROUTING
    assert pack.without("a:b:c", reason="gone").routing is ROUTING
    assert pack.replace("g", interval="1m").routing is ROUTING
    assert pack.with_routing(None).routing is None


def test_the_routing_of_another_pack_is_taken_where_there_is_none():
    other = Pack(routing=Routing(Route("b"), receivers=[Receiver("b")]))
    assert Pack(routing=ROUTING).add(other).routing is ROUTING
    assert Pack().add(other).routing is other.routing
    assert Pack().routing is None


@pytest.fixture
def discovered(tmp_path, monkeypatch):
    """Return a function that discovers the pack of modules that it writes."""
    monkeypatch.syspath_prepend(str(tmp_path))

    def discover(**modules):
        folder = Path(tmp_path / "routed_acme")
        folder.mkdir()
        (folder / "__init__.py").touch()
        for name, text in modules.items():
            (folder / f"{name}.py").write_text(textwrap.dedent(text))
        return Pack.discover("routed_acme")

    yield discover
    for name in [name for name in sys.modules if name.split(".")[0] == "routed_acme"]:
        del sys.modules[name]


ONE = """
from watchkeeper.routing import Receiver, Route, Routing
A = Receiver("a")
ROUTING = Routing(Route(A), receivers=[A])
"""


def test_discover_takes_the_one_routing_that_a_module_made(discovered):
    pack = discovered(one=ONE, two="from routed_acme.one import ROUTING\nAGAIN = [ROUTING]")
    assert pack.routing == Routing(Route("a"), receivers=[Receiver("a")])
    assert pack.routing.place.module == "routed_acme.one"


def test_two_are_one_too_many(discovered):
    with pytest.raises(DefinitionError, match=r"there is a routing already, made at .*one\.py:4") as caught:
        discovered(one=ONE, two=ONE)
    assert caught.value.place.file.endswith("two.py")
