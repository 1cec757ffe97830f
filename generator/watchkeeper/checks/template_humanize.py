"""Values in annotations as nobody can read them: raw bytes, seconds and shares, or as what they are not."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from watchkeeper.checks._templates import ANNOTATION, templates
from watchkeeper.promql import nodes
from watchkeeper.proof.shape import COMPARISONS, bare, deciding, number
from watchkeeper.proof.units import units

if TYPE_CHECKING:
    from collections.abc import Iterator

    from watchkeeper.findings import Finding
    from watchkeeper.project import Project
    from watchkeeper.promql.nodes import Expr, Node
    from watchkeeper.proof.catalogue import Catalogue
    from watchkeeper.proof.units import Unit
    from watchkeeper.subject import Rule

    Told = tuple[str, str, str, str]  # what, why, fix, severity

ID = "template/humanize"

# The value as it is, or through one function; and whether a percent sign follows.
_VALUE = re.compile(
    r"\{\{-?\s*(?:(?P<printf>printf\s+\"%[.0-9]*[fge]\")\s+)?(?P<value>\$value|\.Value)"
    r"(?:\s*\|\s*(?P<function>humanize\w*|printf\s+\"%[.0-9]*[fge]\"))?\s*-?\}\}(?:(?P<percent>\s?%)|(?P<seconds>\s?s(?:ec(?:ond)?s?)?\b))?"
)
_RAW = "a style point: it is shown as {example}"
_UNLIKE = {"humanizeDuration": "seconds", "humanizePercentage": ""}


def check(project: Project) -> Iterator[Finding]:
    """Yield a finding for each value that is shown raw though it has a unit, or as something that it isn't."""
    for one in templates(project.groups):
        if one.kind != ANNOTATION or one.rule is None or not any(use.kind == "value" for use in one.uses):
            continue
        for match in _VALUE.finditer(one.text.value):
            told = _of_value(match, one.rule, project.catalogue)
            if told is not None:
                what, why, fix, severity = told
                start, end = match.span("value")
                yield one.finding(ID, what, start, end, why=why, fix=fix, severity=severity)


def _of_value(match: re.Match[str], rule: Rule, catalogue: Catalogue) -> Told | None:
    function, percent = match["function"] or "", match["percent"]
    if function == "humanizePercentage" and percent:
        what = "the percent sign is there twice"
        return what, "humanizePercentage writes one itself: 5%%", "leave out the one behind it", "warning"
    if (match["printf"] or (function and function not in _UNLIKE)) and not percent:
        return None
    tree = rule.expression.tree
    shown = _shown(tree) if tree is not None else None
    if shown is None:
        return None
    value, least = shown
    found = units(rule.expression.nodes, catalogue)
    share = 0 < abs(least) < 1 and _is_share(value, found) and not any(map(_is_hundred, rule.expression.nodes))
    if share and percent:
        what = "a share of 1 is shown with a percent sign: 0.9% for 90%"
        return what, "whoever reads it is off by a hundred", f"{_instead('humanizePercentage')} without %", "warning"
    if function == "humanizePercentage" and abs(least) > 1 and _is_percent(value):
        what = "a percentage is shown as one of 1: 9000% for 90"
        fix = 'write {{ $value | printf "%.1f" }}%, or leave * 100 out of the expression'
        return what, "whoever reads it is off by a hundred", fix, "warning"
    unit = found.get(id(tree))
    if percent:
        if unit is None or not unit.powers:
            return None
        what = f"the value is in {unit}, shown with a percent sign"
        return what, "it is shown as what it is not", _instead(_fitting(unit) or "humanize"), "warning"
    return _unlike(function, unit) if function else _raw(unit, share=share, told=bool(match["seconds"]))


def _unlike(function: str, unit: Unit | None) -> Told | None:
    """What is wrong with a function that shows another unit."""
    wanted = _UNLIKE.get(function)
    if wanted is None or unit is None or not unit.sure or set(unit.powers) == ({wanted} if wanted else set()):
        return None
    what = f"{function} of a value in {unit}"
    return what, "it is shown as what it is not", _instead(_fitting(unit) or "humanize"), "warning"


def _raw(unit: Unit | None, *, share: bool, told: bool) -> Told | None:
    """What is wrong with a value that is shown as it is; `told` where the text says seconds behind it."""
    if share:
        what, example, function = "the value is a share, shown raw", "0.9473684210526315", "humanizePercentage"
    elif unit is not None and (fitting := _fitting(unit)) and not (told and fitting == "humanizeDuration"):
        example = "86000000000" if fitting == "humanize1024" else "5423.000000000001"
        what, function = f"the value is in {unit}, shown raw", fitting
    else:
        return None
    return what, _RAW.format(example=example), _instead(function), "note"


def _instead(function: str) -> str:
    return f"write {{{{ $value | {function} }}}}"


def _fitting(unit: Unit) -> str:
    words = [word for word, power in unit.powers.items() if power > 0]
    below = [word for word, power in unit.powers.items() if power < 0]
    if words == ["bytes"] and below in ([], ["seconds"]):
        return "humanize1024"
    return "humanizeDuration" if words == ["seconds"] and not below else ""


def _shown(tree: Expr) -> tuple[Expr, float] | None:
    """Return what the one comparison of the expression compares, and with which number; None without such a one."""
    deciders = list(deciding(tree))
    only = deciders[0] if len(deciders) == 1 else None
    if not isinstance(only, nodes.Binary) or only.op not in COMPARISONS or only.return_bool:
        return None
    right, left = number(only.rhs), number(only.lhs)
    if right is not None:
        return bare(only.lhs), right
    return (bare(only.rhs), left) if left is not None else None


def _is_share(value: Expr, found: dict[int, Unit]) -> bool:
    """Tell whether it is a part of something divided by all of it, as far as units tell."""
    if not isinstance(value, nodes.Binary) or value.op != "/":
        return False
    above, below = found.get(id(value.lhs)), found.get(id(value.rhs))
    return above.powers == below.powers if above and below else above is below


def _is_hundred(node: Node) -> bool:
    return isinstance(node, nodes.NumberLiteral) and node.value == 100


def _is_percent(value: Expr) -> bool:
    """Tell whether the expression is a hundred times something."""
    if not isinstance(value, nodes.Binary) or value.op != "*":
        return False
    return _is_hundred(bare(value.lhs)) or _is_hundred(bare(value.rhs))
