"""Any text is a Template or a TemplateError, and any Template renders a text or raises TemplateError."""

from hypothesis import given, settings
from hypothesis import strategies as st

from watchkeeper.ruler.template import Template, TemplateError, expand, fields
from watchkeeper.ruler.template.versions import FUNCTIONS

LABELS = {"__name__": "m", "instance": "n1:9100", "job": "é", "empty": ""}
WORDS = [
    "{{", "}}", "{{-", "-}}", " ", "\n", "|", "(", ")", "$labels", "$value", "$x", ":=", "=", ",", ".", ".Labels",
    ".instance", ".Value", "$", "if", "else", "end", "range", "with", "define", "template", "block", "break",
    "continue",
    '"t"', '"%d %s %[1]v %*d"', "`r`", "1", "-2", "1.5", "0x1p4", "1i", "'a'", "nil", "true", "/*", "*/", "é", "²",
    '"up"', "a", "%", "\\", '"', *FUNCTIONS,
]  # fmt: skip
OPERANDS = st.sampled_from(
    [
        "$labels", "$labels.instance", ".", ".Value", "$value", '"n1:9100"', '"a b"', "1", "-1", "2.5", "1e300", "nil",
        "true",
        "'a'", '"%5.2f|%v"', "(query `up` | first)", "(query `up`)", "(args 1 `x` nil)", "(toTime 1.5)", "`^a+$`", '""',
        "((toTime 2).Sub (toTime 1))", "(safeHtml `<`)", "(index `abc` 1)", "`[`", "`(a)*b`", "`$1${x}$$`", "1+2i",
        "`\xff`", '"\\xff"',
    ]
)  # fmt: skip


def query(_):
    return [({"instance": "b", "job": "x"}, 1.0), ({"instance": "a"}, float("nan"))]


def attempt(function):
    """What a function gives, or the one kind of error that it may raise."""
    try:
        return function(), None
    except TemplateError as error:
        found = error
    assert found.detail.startswith("template: __alert_X:")
    return None, found


def render(text, value=1.0):
    template, error = attempt(lambda: Template(text, alert="X"))
    if error:
        assert error.parsing
        return
    uses = fields(template)
    assert all(0 <= use.position <= use.end <= len(text) for use in uses)
    rendered, error = attempt(
        lambda: template.render(LABELS, value, query=query, now=60.0, external_url="http://x/y"),
    )
    if error:
        assert not error.parsing
    else:
        assert type(rendered) is str
        rendered.encode()


@given(st.text(max_size=60))
def test_any_text(text):
    render(text)
    render("{{" + text + "}}")


@given(st.lists(st.sampled_from(WORDS), max_size=25).map("".join))
@settings(max_examples=150)
def test_any_words(text):
    render(text)
    render("{{ range $x := 3 }}{{ " + text + " }}{{ end }}")


@given(
    st.sampled_from(sorted(FUNCTIONS)),
    st.lists(OPERANDS, max_size=4),
    st.sampled_from(["", *(f" | {name}" for name in FUNCTIONS), " | printf `%q %T`", " | eq 1"]),
    st.floats(),
)
@settings(max_examples=200)
def test_any_call(name, operands, then, value):
    render(f"{{{{ {name} {' '.join(operands)}{then} }}}}", value)


@given(st.text(alphabet="%#+- 0*.[]123vTtbcdoOqxXUeEfFgGspéw", max_size=12), st.lists(OPERANDS, max_size=3))
@settings(max_examples=120)
def test_any_format(layout, operands):
    render(f"{{{{ printf `{layout}` {' '.join(operands)} }}}}")


@given(st.text(alphabet="0123456789abcdefxXoOpPeE+-._i", min_size=1, max_size=10))
def test_any_number(text):
    render(f"{{{{ {text} }}}}")
    render(f'{{{{ humanize "{text}" }}}}')


@given(st.text(alphabet="0123456JanMonMST_ Z:-.,dayuryPpm", max_size=20), st.floats(-1e9, 1e10))
def test_any_layout(layout, value):
    render(f"{{{{ (toTime $value).Format `{layout}` }}}}", value)


@given(st.text(max_size=30), st.text(max_size=20))
def test_any_label(label, pattern):
    text = "{{ match $labels.p $labels.l }}{{ reReplaceAll $labels.p `[$1]` $labels.l }}"
    text += "{{ title $labels.l | html | js | urlquery }}"
    text += (
        "{{ stripPort $labels.l }}{{ stripDomain $labels.l }}{{ printf `%q %x %.3s` $labels.l $labels.l $labels.l }}"
    )
    assert type(expand(text, {"l": label, "p": pattern}, 1.0)) is str
