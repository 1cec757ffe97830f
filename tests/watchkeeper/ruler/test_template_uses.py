"""What a template uses, and where."""

import pytest

from watchkeeper.ruler.template import CONSOLE_FUNCTIONS, FUNCTIONS, Template, fields
from watchkeeper.ruler.template.functions import SIGNATURES


def uses(text):
    return [(use.kind, use.name) for use in fields(Template(text))]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain", []),
        ("{{ $labels.a }}", [("label", "a")]),
        ("{{ .Labels.a }} {{ $.Labels.b }}", [("label", "a"), ("label", "b")]),
        ("{{ $externalLabels.a }} {{ .ExternalLabels.b }}", [("external label", "a"), ("external label", "b")]),
        ("{{ $value }} {{ .Value }} {{ if $value }}{{ end }}", [("value", "")] * 3),
        ("{{ $value | humanize }}", [("value", ""), ("function", "humanize")]),
        ('{{ printf "%.2f %s" $value $labels.a }}', [("function", "printf"), ("value", ""), ("label", "a")]),
        ("{{ with $labels }}{{ .a }}{{ $.Labels.b }}{{ end }}", [("label", "a"), ("label", "b")]),
        (
            "{{ with .Labels.a }}{{ .b }}{{ else }}{{ .Labels.c }}{{ end }}",
            [("label", "a"), ("field", "b"), ("label", "c")],
        ),
        ("{{ .Foo }} {{ $.Bar.x }} {{ .ExternalURL }}", [("field", "Foo"), ("field", "Bar")]),
        ("{{ $labels.app.io }} {{ $value.x }}", [("label", "app"), ("field", "io"), ("field", "x")]),
        ('{{ index $labels "a" }}', [("function", "index"), ("label", "a")]),
        ('{{ index .Labels "a" | len }}', [("function", "index"), ("label", "a"), ("function", "len")]),
        ("{{ index $labels $value }}", [("function", "index"), ("labels", ""), ("value", "")]),
        ("{{ $l := $labels }}{{ $l.a }}", [("label", "a")]),
        ("{{ $x := .Labels.a }}{{ $x }}", [("label", "a")]),
        ("{{ $labels }}", [("labels", "")]),
        ("{{ range $k, $v := $labels }}{{ $k.x }}{{ $v }}{{ .y }}{{ end }}", [("labels", "")]),
        ("{{ ($labels).a }} {{ (.Labels).b }}", [("label", "a"), ("label", "b")]),
        (
            '{{ query "up" | first | value }}',
            [("function", "query"), ("query", "up"), ("function", "first"), ("function", "value")],
        ),
        (
            "{{ range query `up` }}{{ .Labels.a }}{{ .Value }}{{ $.Labels.b }}{{ end }}",
            [("function", "query"), ("query", "up"), ("label", "b")],
        ),
        (
            "{{ printf \"up{a='%s'}\" $labels.a | query }}",
            [("function", "printf"), ("label", "a"), ("function", "query"), ("query", None)],
        ),
        ('{{ define "t" }}{{ .Labels.a }}{{ end }}{{ template "t" . }}', [("label", "a")]),
        ('{{ define "t" }}{{ .a }}{{ end }}{{ template "t" $labels }}', [("label", "a")]),
        ('{{ define "t" }}{{ template "t" . }}{{ .a }}{{ end }}{{ template "t" .Labels }}', [("label", "a")]),
        ('{{ block "t" $labels }}{{ .a }}{{ end }}', [("label", "a")]),
        (
            "{{ if eq $labels.a `x` }}{{ else if gt $value 1.0 }}{{ end }}",
            [("function", "eq"), ("label", "a"), ("function", "gt"), ("value", "")],
        ),
        ("{{ (or $labels $labels).a }}", [("function", "or"), ("labels", ""), ("label", "a"), ("labels", "")]),
        ("{{ . }}", [("external labels", ""), ("labels", ""), ("value", "")]),
    ],
)
def test_uses(text, expected):
    assert sorted(uses(text), key=str) == sorted(expected, key=str)


@pytest.mark.parametrize(
    "text",
    [
        "é {{ $labels.abc }}", "{{ .Labels.abc }}", "{{ $.Labels.abc.x }}", "{{ with $labels }}{{ .abc }}{{ end }}",
        "{{ ($labels).abc }}", "{{ with . }}{{ .Labels.abc }}{{ end }}", "{{ len .Labels.abc }}",
        "{{ print $labels.abc }}",
    ],
)  # fmt: skip
def test_the_place_is_that_of_the_name(text):
    [use] = [use for use in fields(Template(text)) if use.kind == "label"]
    assert text[use.position : use.end] == "abc" == use.name


def test_places_of_the_rest():
    text = 'a {{ query "up" | len }} {{ index $labels "x" }} {{ $value }}'
    assert [text[use.position : use.end] for use in fields(Template(text))] == [
        "query",
        '"up"',
        "len",
        "index",
        '"x"',
        "$value",
    ]


def test_every_function_has_a_version():
    assert SIGNATURES.keys() | {"and", "or", "call"} == FUNCTIONS.keys()
    assert not CONSOLE_FUNCTIONS & FUNCTIONS.keys()
