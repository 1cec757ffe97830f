"""What a configuration means, where each part stands, and what is said of faults."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from watchkeeper.findings import to_text
from watchkeeper.proof.routing import Config
from watchkeeper.read.alertmanager import config
from watchkeeper.read.alertmanager.matchers import MatcherError, matchers
from watchkeeper.read.documents import Unreadable, documents
from watchkeeper.read.source import File, Span
from watchkeeper.subject import Text


def read(text):
    file = File("alertmanager.yml", text)
    (node,) = documents(file) or [None]
    return config(node, file)


def told(text):
    return [to_text(finding) for finding in read(text)[1]]


def parsed(text):
    found = matchers(Text(text, Span(File("x", text), 0, len(text))))
    for matcher in found:  # it stands where it says
        assert matcher.name in text[matcher.start : matcher.end]
        assert text[matcher.start : matcher.end] == text[matcher.start : matcher.end].strip()
    return [(matcher.name, matcher.op, matcher.value) for matcher in found]


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        ("", []),
        ("{}", []),
        ("a=b", [("a", "=", "b")]),
        (' a = "b c" ', [("a", "=", "b c")]),
        ("{a=b, c!=d,}", [("a", "=", "b"), ("c", "!=", "d")]),
        ('a=~"x|y",b!~z', [("a", "=~", "x|y"), ("b", "!~", "z")]),
        ('a="x, y",b=c', [("a", "=", "x, y"), ("b", "=", "c")]),
        ('a="she said: \\"hi\\""', [("a", "=", 'she said: "hi"')]),
        ('a="line\\nbreak"', [("a", "=", "line\nbreak")]),
        ("a=", [("a", "=", "")]),
        # Only the UTF-8 syntax takes these.
        ("a-b=c", [("a-b", "=", "c")]),
        ('"a b"="c"', [("a b", "=", "c")]),
        ('a="\\U0001F600"', [("a", "=", "\\U0001F600")]),  # both take it, and the classic one holds
        ('é="\\u00e9"', [("é", "=", "é")]),
        # Only the classic syntax takes these.
        ("a=b c", [("a", "=", "b c")]),
        ("a=b=c", [("a", "=", "b=c")]),
        ("a=~\\d+", [("a", "=~", "\\d+")]),
        ('a="\\d"', [("a", "=", "\\d")]),
        ("a=it's", [("a", "=", "it's")]),
        # Both take it, and differ.
        ('a="\\t"', [("a", "=", "\\t")]),
        ('a="x\\\\"', [("a", "=", "x\\")]),
    ],
)
def test_matchers(text, meaning):
    assert parsed(text) == meaning


@pytest.mark.parametrize(
    ("text", "message", "marked"),
    [
        ("severity", "expected =, !=, =~ or !~, not the end", ""),
        ('severity="a" team="b"', "expected a comma, not team", "team"),
        ('severity=~"("', "not a regular expression: missing ): (", 'severity=~"("'),
        ('"a\\q"=b', "unknown escape", '"a\\q"'),
        ("=x", "expected a label name, not =", "="),
        ('{"a b"="c"', "expected }, not the end", ""),
    ],
)
def test_a_matcher_that_cannot_be_read_is_told_at_its_place(text, message, marked):
    with pytest.raises(MatcherError) as error:
        parsed(text)
    assert str(error.value).startswith(message) or message in str(error.value)
    assert text[error.value.start : error.value.end] == marked


def test_the_dot_matches_no_line_break():
    (matcher,) = matchers(Text('a=~"x.y"', Span(File("x", ""), 0, 0)))
    assert [matcher.matches(value) for value in ("xzy", "x\ny", "xzyz")] == [True, False, False]
    assert matcher.negated.matches("x\ny")
    assert matcher.negated.negated is matcher


WHOLE = """\
# Who is told.
global:
  resolve_timeout: 5m
route:
  receiver: tickets
  group_by: [alertname, cluster]
  routes:
    - receiver: pager
      continue: true
      matchers:
        - severity = "critical"
        - "team=~\\"gpu|web\\""
      routes:
        - match: {team: gpu}
          mute_time_intervals: [night]
    - matchers: []
      group_by: ['...']
receivers:
  - name: tickets
  - name: pager
    pagerduty_configs:
      - routing_key_file: /key
    slack_configs: [{api_url_file: /slack}, {api_url_file: /slack}]
inhibit_rules:
  - source_matchers: [severity="critical"]
    target_match_re: {severity: warning|info}
    equal: [cluster, instance]
time_intervals:
  - name: night
    time_intervals: [{times: [{start_time: '00:00', end_time: '06:00'}]}]
"""


def test_the_whole_configuration():
    found, findings = read(WHOLE)
    assert isinstance(found, Config)
    # match_re on line 26 is as deprecated as match on line 14.
    assert [(finding.severity, finding.place.line) for finding in findings] == [("note", 14)]
    root, pager, gpu, rest = (found.routes[n] for n in (0, 1, 3, 2))
    assert [str(one) for one in (root, pager, gpu, rest)] == [
        "the root route",
        'route {severity="critical", team=~"gpu|web"}',
        'route {team="gpu"}',
        'the route without matchers to "tickets"',
    ]
    assert (pager.continue_, gpu.continue_) == (True, False)
    assert [one.receiver.value for one in found.routes] == ["tickets", "pager", "tickets", "pager"]
    assert gpu.grouping is root
    assert [label.value for label in root.group_by] == ["alertname", "cluster"]
    assert rest.grouping is rest
    assert {name: one.integrations for name, one in found.receivers.items()} == {
        "tickets": (),
        "pager": ("pagerduty_configs", "slack_configs", "slack_configs"),
    }
    (rule,) = found.inhibit_rules
    assert [str(one) for one in (*rule.source, *rule.target)] == ['severity="critical"', 'severity=~"warning|info"']
    assert [label.value for label in rule.equal] == ["cluster", "instance"]
    assert list(found.time_intervals) == ["night"]


def test_places():
    found, _ = read(WHOLE)
    critical, team = found.routes[1].matchers
    for matcher, line, column in ((critical, 11, 11), (team, 12, 12)):
        finding = matcher.finding("a/b", "x")
        assert (finding.place.line, finding.place.column) == (line, column)
    assert to_text(team.finding("a/b", "x", why="y")).splitlines()[1:3] == [
        '            - "team=~\\"gpu|web\\""',
        "               " + "^" * 17,
    ]
    label = found.inhibit_rules[0].equal[1].finding("a/b", "x")
    assert (label.place.line, label.place.column) == (27, 22)


MESSAGES = """\
alertmanager.yml:3:3: error[yaml/key] unknown key rotues in a route; did you mean "routes"?
      rotues: []
      ^^^^^^
  why: Alertmanager refuses the whole file, and goes on with the configuration it had
  fix: mend or remove it
alertmanager.yml:4:15: error[yaml/value] group_wait of a route must be a duration
      group_wait: 30
                  ^^
  why: Alertmanager refuses the whole file, and goes on with the configuration it had
  fix: write 30s, 5m, 1h30m or 7d
alertmanager.yml:2:13: error[alertmanager/config] there is no receiver "tickts"; did you mean "tickets"?
      receiver: tickts
                ^^^^^^
  why: Alertmanager refuses the whole file, and goes on with the configuration it had
  fix: name one of `receivers:`"""


def test_messages():
    text = "route:\n  receiver: tickts\n  rotues: []\n  group_wait: 30\nreceivers:\n  - name: tickets\n"
    assert "\n".join(told(text)) == MESSAGES


def test_no_secret_is_shown():
    text = (
        "global: {slack_api_url: hooks.slack.com/T0/s3cret, smtp_auth_pasword: s3cret}\nroute: {receiver: a}\n"
        "receivers: [{name: a, webhook_configs: [{ulr: 'https://x/s3cret'}],"
        " pagerduty_configs: [{routing_key: [s3cret]}]}]"
    )
    shown = told(text)
    assert len(shown) >= 4
    assert "s3cret" not in "".join(shown)


def test_an_unknown_key_of_an_integration_is_a_warning_unless_it_is_a_slip():
    text = "route: {{receiver: a}}\nreceivers: [{{name: a, webhook_configs: [{{url: 'https://x/', {}: 1}}]}}]"
    assert [finding.severity for finding in read(text.format("fancy_new_thing"))[1]] == ["warning"]
    assert read(text.format("fancy_new_thing"))[0] is not None
    assert [finding.severity for finding in read(text.format("max_alert"))[1]] == ["error"]
    assert [finding.severity for finding in read(text.format("timoeut"))[1]] == ["error"]


@pytest.mark.parametrize("address", ["${URL}", "<url>", "{{ .url }}", "%URL%", "https://x/{{ .y }}"])
def test_an_address_that_is_filled_in_later_is_no_fault(address):
    text = f"route: {{receiver: a}}\nreceivers: [{{name: a, webhook_configs: [{{url: '{address}'}}]}}]"
    assert read(text)[1] == []


WORDS = (
    "route: receiver: a b name: receivers: [ ] { } , - match: matchers: a=b a=~( '...' group_by: routes: continue: true"
    " null 1 inhibit_rules: equal: time_intervals: global: &x *x <<: ! | > \" '"
)
PIECES = st.sampled_from([*WORDS.split(), "\n", "\n  ", "\n    ", "\n  - ", " "])


@settings(max_examples=300, deadline=None)
@given(st.lists(PIECES, max_size=40).map(" ".join) | st.text(max_size=60))
def test_any_text_gives_a_configuration_or_findings(text):
    try:
        found, findings = read(text)
    except (Unreadable, ValueError):  # ValueError: several documents
        return
    assert found or findings
    for finding in findings:
        assert to_text(finding)


@settings(max_examples=300, deadline=None)
@given(st.integers(0, len(WHOLE)), st.integers(0, 12), st.text(max_size=3) | PIECES)
def test_a_mutated_configuration_gives_a_configuration_or_findings(at, length, put):
    try:
        found, findings = read(WHOLE[:at] + put + WHOLE[at + length :])
    except (Unreadable, ValueError):
        return
    assert found or findings
    for finding in findings:
        assert to_text(finding)


@settings(max_examples=500, deadline=None)
@given(st.text('ab=!~"\\,{}.()| \n\té', max_size=12))
def test_any_text_of_matchers_is_read_or_told(text):
    try:
        parts = [(one.start, one.end) for one in matchers(Text(text, Span(File("x", text), 0, len(text))))]
    except MatcherError as error:
        parts = [(error.start, error.end)]
    assert all(0 <= start <= end <= len(text) for start, end in parts)


def test_a_route_in_itself_is_told():
    text = "route: &r\n  receiver: a\n  routes:\n    - *r\nreceivers: [{name: a}]\n"
    with pytest.raises(Unreadable):  # where YAML is read
        read(text)
