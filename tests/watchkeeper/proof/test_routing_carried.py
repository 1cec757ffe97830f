"""What is known of an alert's labels holds for the alerts that its expression makes of random data."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from random import Random

sys.path.insert(0, str(Path(__file__).parent))

import soundness
from flow_expressions import Expressions
from flow_worlds import World

from watchkeeper.engine import Engine, EvalError
from watchkeeper.findings import Place
from watchkeeper.promql import ParseError, parse, walk
from watchkeeper.promql.nodes import VectorSelector
from watchkeeper.proof.carried import ABSENT, ANY, PRESENT, carried
from watchkeeper.subject import Expression, Group, Rule, Text, Written

OWN = {"severity": ["page", "info", ""], "team": ["gpu", "{{ $value }}", ""], "alertname": ["other"]}


def text(value):
    return Text(value, Written(Place("x"), value))


def pinned(random, expr):
    """The expression with one matcher more in each of its selectors."""
    try:
        tree = parse(expr)
    except ParseError:
        return expr
    label, values = random.choice([("job", "ab"), ("gpu", "ab"), ("mode", "ab"), ("node", ("a", ""))])
    for node in sorted((n for n in walk(tree) if isinstance(n, VectorSelector)), key=lambda n: -n.start):
        matcher = f'{label}="{random.choice(values)}"'
        if node.name is None or node.name_start > node.start:  # the name is inside the braces, or nowhere
            at = expr.index("{", node.start) + 1
            expr = f"{expr[:at]}{matcher},{expr[at:]}"
        elif expr[node.name_end : node.name_end + 1] == "{":
            expr = f"{expr[: node.name_end + 1]}{matcher},{expr[node.name_end + 1 :]}"
        else:
            expr = f"{expr[: node.name_end]}{{{matcher}}}{expr[node.name_end :]}"
    return expr


def rule_of(random, expr):
    expr = pinned(random, expr) if random.random() < 0.6 else expr
    own = {name: text(random.choice(values)) for name, values in OWN.items() if random.random() < 0.5}
    shared = {name: text("shared") for name in ("severity", "zone") if random.random() < 0.3}
    group = Group(text("g"), "x", labels=shared)
    expression = Expression(expr, "alert X", Written(Place("x"), expr))
    return Rule(group, text("X"), expression, is_alert=True, labels=own, annotations={})


def labels_of(rule, result):
    """The labels of the alert that a result makes, as Prometheus sets them."""
    labels = {name: value for name, value in result if name != "__name__"}
    for name, one in {**rule.group.labels, **rule.labels}.items():
        labels[name] = "7" if "{{" in one.value else one.value  # a template gives some text
    labels["alertname"] = rule.name.value
    return labels


def held(count, seed):
    """Hold what is known of alerts against what fires; return how often what was known."""
    met = Counter()
    engine = Engine(evaluator="steps")
    for case in range(count):
        random = Random(f"{seed}/{case}")
        if case % 40 == 0:
            world = World(random, Expressions)
        rule = rule_of(random, Expressions(random, world.names).any())
        if rule.expression.tree is None:
            continue
        alert = carried(rule, world.catalogue)
        try:
            results = soundness.results(engine, world, rule.expression.tree)
        except EvalError:
            continue
        for result in results:
            labels = labels_of(rule, result)
            for name in {*soundness.ALL, *labels, "severity", "team", "zone", "__name__"}:
                known = alert.label(name)
                value = labels.get(name, "")
                met["known" if known in (ABSENT, ANY, PRESENT) else "listed"] += 1
                if name not in (*OWN, "zone") and known.values not in (None, ABSENT.values):
                    met["pinned"] += 1
                if known.values is None:
                    assert value not in known.excluded, (rule.expression.text, name, labels)
                else:
                    assert value in known.values, (rule.expression.text, name, labels)
    return met


def test_what_is_known_holds():
    met = held(2500, 5)
    assert met["listed"] > 2000, met
    assert met["pinned"] > 100, met
