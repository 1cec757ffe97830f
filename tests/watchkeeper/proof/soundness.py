"""Random expressions on random data: what flow says of labels is held against what the evaluator gives."""

from collections import Counter
from random import Random

from flow_expressions import ALL, Expressions
from flow_worlds import AT, World

from watchkeeper.engine import Engine, EvalError
from watchkeeper.promql import ParseError, parse, walk
from watchkeeper.promql.nodes import Binary
from watchkeeper.proof.facts import GUARANTEED, IMPOSSIBLE, STATUSES
from watchkeeper.proof.flow import Flow, never_match

ENGINES = (
    Engine(evaluator="steps"),
    Engine(evaluator="steps"),
    Engine(evaluator="steps", delayed_name_removal=True),
    Engine(evaluator="steps", delayed_name_removal=True),
    Engine(evaluator="steps", compat="2"),
    Engine(evaluator="steps", compat="2"),
)
PER_WORLD = 40


def run(cases: int, seed: int, counts: Counter) -> list[str]:
    """Try so many cases. Return what is wrong; `counts` tells what was met."""
    wrong = []
    world = None
    for case in range(cases):
        random = Random(f"{seed}/{case}")
        if case % PER_WORLD == 0:
            world = World(random, Expressions)
        assert world is not None
        text = Expressions(random, world.names).any()
        engine = random.choice(ENGINES)
        wrong += [f"case {case} of seed {seed}: {text}\n  {what}" for what in tried(world, text, engine, counts)]
    return wrong


def tried(world: World, text: str, engine: Engine, counts: Counter) -> list[str]:
    """Return what is wrong with one expression."""
    try:
        tree = parse(text)
    except ParseError:
        counts["no PromQL"] += 1
        return []
    flow = Flow(tuple(walk(tree)), world.catalogue)
    labels = flow.of(tree)
    counts["cases"] += 1
    try:
        found = results(engine, world, tree)
    except EvalError:
        counts["errors"] += 1
        return []
    counts["not empty" if found else "empty"] += 1
    if labels.empty:
        counts["called empty"] += 1
    wrong = [f"called empty ({labels.empty[0]}), but there is {min(found)}"] if labels.empty and found else []
    if any(why is never_match and node is tree and node.op == "unless" for why, node, _ in flow.causes):
        assert isinstance(tree, Binary)
        counts["vain unless"] += 1
        if results(engine, world, tree.lhs) != found:
            wrong.append("called a vain unless, but it takes something away")
    fates = {label: labels.label(label) for label in {*ALL, "value", "q", "metric"}}
    named = labels.names()
    sure = labels.guaranteed()
    for one in found:
        have = dict(one)
        for label, fate in fates.items():
            counts[fate.status] += 1
            if (label in have and fate.status == IMPOSSIBLE) or (label not in have and fate.status == GUARANTEED):
                wrong.append(f"{label} called {fate.status} ({fate.reason}), but there is {one}")
            assert 0 <= fate.start < fate.end <= len(text)
        if not sure <= have.keys() or (named is not None and not have.keys() - {"__name__"} <= named):
            wrong.append(f"guaranteed {sorted(sure)}, possible {named and sorted(named)}, but there is {one}")
        if not any(fits(branch, have) for branch in labels.branches):
            wrong.append(f"no branch has {one}: {[branch.facts for branch in labels.branches]}")
    return wrong


def results(engine: Engine, world: World, tree) -> set:
    """The label sets that an expression gives."""
    answer = engine.instant(world.data, tree, AT)
    return {sample.labels for sample in answer.samples} if answer.type == "vector" else {()}


def fits(branch, have: dict[str, str]) -> bool:
    """Whether a branch allows for these labels."""
    for label in {*have, *branch.facts, "__name__"}:
        status = STATUSES[branch.fact(label)[0]]
        if status == (IMPOSSIBLE if label in have else GUARANTEED):
            return False
    return True
