"""Which routes an alert reaches, told from what is known of its labels: certainly, perhaps or never."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from watchkeeper.proof.carried import CERTAINLY, NEVER, PERHAPS, Alert, Known, narrowed, verdict

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from watchkeeper.proof.routing import Config, Matcher, Route

    # What is known of labels at some point of the tree, where it is more than the alert tells.
    Narrowed = Mapping[str, Known]


# A child is compared with so many before it that have several matchers, lest a thousand of them take a million steps.
_MOST_COMPARED = 200


class Way(NamedTuple):
    """How an alert gets to a route: whether it enters, and whether it ends there, in none of the route's children.

    `obstacle` is why it never enters: a matcher of the route that it can't pass, or the sibling before it that takes
    all that would; None where several siblings do.
    """

    entered: str
    reached: str
    obstacle: Matcher | Route | None = None


def reach(config: Config, alert: Alert) -> dict[Route, Way]:
    """Return the way of the alert to each route of the tree."""
    ways = dict.fromkeys(config.routes, Way(NEVER, NEVER))
    todo: list[tuple[Route, Narrowed, str]] = [(config.route, {}, CERTAINLY)]
    while todo:
        route, known, entered = todo.pop()
        # `rest` is known of what no child before has taken for itself; `left` of what no child before has matched.
        rest: Narrowed | None = known
        left: Narrowed | None = known
        alone = True  # whether no child can match
        takers: list[Route] = []  # children before that may have taken it
        several: list[Route] = []  # those of them of which `rest` can't tell, since they have several matchers
        for child in route.routes:
            how, inside, failed = _passed(child.matchers, known, alert)
            if inside is None:
                ways[child] = Way(NEVER, NEVER, failed)
                continue
            alone = False
            left = without(child, left, alert)
            there: Narrowed | None = inside
            if rest is not known:
                how, there = (NEVER, None) if rest is None else passing(child.matchers, rest, alert)
            if there is None or _covering(several, there, alert):
                ways[child] = Way(NEVER, NEVER, _covering(takers, inside, alert))
            else:
                sure = how == CERTAINLY and entered == CERTAINLY and not takers
                todo.append((child, there, CERTAINLY if sure else PERHAPS))
            if not child.continue_:
                after = without(child, rest, alert)
                if len(takers) < _MOST_COMPARED:
                    takers.append(child)
                    if after is rest and len(child.matchers) > 1:
                        several.append(child)
                rest = after
        ended = NEVER if left is None else entered if alone else PERHAPS
        ways[route] = Way(entered, ended)
    return ways


def passing(matchers: Iterable[Matcher], known: Narrowed, alert: Alert) -> tuple[str, Narrowed | None]:
    """Return whether the alert passes all matchers, and what is known of it then; None where it can't."""
    how, inside, _ = _passed(matchers, known, alert)
    return how, inside


def _passed(matchers: Iterable[Matcher], known: Narrowed, alert: Alert) -> tuple[str, Narrowed | None, Matcher | None]:
    how = CERTAINLY
    for matcher in matchers:
        label = known.get(matcher.name) or alert.label(matcher.name)
        found = verdict(matcher, label)
        if found == CERTAINLY:
            continue
        more = narrowed(matcher, label) if found == PERHAPS else None
        if more is None:
            return NEVER, None, matcher
        known = {**known, matcher.name: more}
        how = PERHAPS
    return how, known, None


def without(child: Route, known: Narrowed | None, alert: Alert) -> Narrowed | None:
    """Return what is known of an alert that a route does not match, None where it matches all that is left."""
    if known is None or not child.matchers:
        return None
    open_ones = [m for m in child.matchers if verdict(m, known.get(m.name) or alert.label(m.name)) != CERTAINLY]
    if len(open_ones) > 1:  # one of them fails, but which one is not known
        return known
    if not open_ones:
        return None
    return passing([open_ones[0].negated], known, alert)[1]


def _covering(routes: list[Route], known: Narrowed, alert: Alert) -> Route | None:
    """Return the first route that surely matches an alert of which this is known."""
    for route in routes:
        if passing(route.matchers, known, alert)[0] == CERTAINLY:
            return route
    return None
