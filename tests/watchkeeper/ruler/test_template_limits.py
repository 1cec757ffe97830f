"""A template that loops ends in a clear error, and soon."""

import time

import pytest

from watchkeeper.ruler.template import Template, TemplateError


def render(text, **more):
    return Template(text, alert="X").render({"a": "b"}, 1.0, **more)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            '{{ define "t" }}{{ template "t" . }}{{ end }}{{ template "t" . }}',
            "exceeded maximum template depth (100000)",
        ),
        (
            '{{ template "t" . }}{{ define "t" }}{{ if true }}{{ with . }}{{ range 1 }}{{ template "t" $ }}'
            + "{{ end }}" * 4,
            "exceeded maximum template depth (100000)",
        ),
        (
            '{{ define "a" }}{{ template "b" }}{{ template "b" }}{{ end }}{{ block "b" 3 }}{{ template "a" }}{{ end }}',
            "exceeded maximum template depth (100000)",
        ),
        ("{{ range 1000000000 }}{{ end }}", "the template loops"),
        ("{{ range 1000 }}{{ range 1000 }}{{ range 1000 }}x{{ end }}{{ end }}{{ end }}", "the template loops"),
        ("{{ $x := `ab` }}{{ range 100 }}{{ $x = print $x $x }}{{ end }}", "gave up after"),
        ("{{ $x := `ab` }}{{ range 100 }}{{ $x = printf `%s%s` $x $x }}{{ end }}{{ $x }}", "gave up after"),
        ("{{ $x := `<` }}{{ range 100 }}{{ $x = html $x $x }}{{ end }}", "gave up after"),
        ("{{ $x := args 1 }}{{ range 100 }}{{ $x = args $x $x }}{{ end }}{{ $x }}", "too large"),
        ("{{ $x := args 1 }}{{ range 5000 }}{{ $x = args $x }}{{ end }}{{ $x }}", ""),
        ("{{ range 90000 }}{{ printf `%999s` `a` }}{{ end }}", "gave up after"),
        ("{{ printf `%1000000d%1000000d%1000000d%1000000d%1000000d` 1 1 1 1 1 }}", "too long"),
        ("{{ range 100000 }}{{ query `up` }}{{ end }}", "the template loops"),
    ],
)
def test_a_loop_ends(text, words):
    started = time.monotonic()
    with pytest.raises(TemplateError) as caught:
        render(text, query=lambda _: [])
    assert words in str(caught.value)
    assert time.monotonic() - started < 5


@pytest.mark.parametrize(
    "text",
    [
        "{{ " + "(" * 5000 + "1" + ")" * 5000 + " }}",
        "{{ if true }}" * 5000 + "{{ end }}" * 5000,
        "{{ if false }}" + "{{ else if true }}" * 5000 + "{{ end }}",
        '{{ define "a" }}' * 5000,
    ],
)
def test_nesting_is_refused(text):
    with pytest.raises(TemplateError) as caught:
        render(text)
    assert caught.value.parsing


def test_flat_texts_of_any_length_are_fine():
    assert render("{{ $labels.a }}" * 1500) == "b" * 1500
    assert render("{{ print " + "`a` " * 1500 + "}}") == "a" * 1500
    assert render("{{ `a`" + " | print" * 1500 + " }}") == "a"


def test_a_slow_pattern_is_not_slow():
    started = time.monotonic()
    assert render("{{ match `^(a+)+$` (printf `%s!` `" + "a" * 60 + "`) }}") == "false"
    assert time.monotonic() - started < 2
