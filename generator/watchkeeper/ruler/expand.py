"""Labels and annotations of alerts: templates expanded on a sample."""

from __future__ import annotations

import re

from watchkeeper.engine.labels import NAME

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from watchkeeper.engine.labels import Labels
    from watchkeeper.engine.results import Scalar, Value, Vector
    from watchkeeper.ruler.rules import Rule
    from watchkeeper.ruler.template import Template

# Patterns as text: compiling them takes a while, and most runs need none of them.
_ACTION = r"(?s)\{\{.*?\}\}"
# What in an action may depend on more than labels: the value, a query, the clock, the dot by itself.
_MORE = (
    r"alue|query|now|(?<!\$labels)(?<!\$externalLabels)(?<!\.Labels)(?<!\.ExternalLabels)"
    r"\.(?!Labels\b|ExternalLabels\b|ExternalURL\b)"
)


def is_steady(text: str) -> bool:
    """Whether what a text expands to depends on nothing but a sample's labels. False where that is not sure."""
    return not any(re.search(_MORE, action) for action in re.findall(_ACTION, text))


def asks(text: str) -> bool:
    """Whether a template may query."""
    return "{{" in text and "query" in text


class Expander:
    """Expands the templates of one run, with a server's external labels and address.

    `url_functions` as in `template.Template.render`.
    """

    __slots__ = ("_known", "external_labels", "external_url", "url_functions")

    def __init__(self, external_labels: Mapping[str, str], external_url: str, *, url_functions: bool = True) -> None:
        self.external_labels = external_labels
        self.external_url = external_url
        self.url_functions = url_functions
        self._known: dict[tuple[str, str], Template] = {}

    def expand(  # noqa: PLR0917
        self,
        rule: Rule,
        text: str,
        labels: Labels,
        value: Value,
        now: int,
        query: Callable[[str], Vector | Scalar] | None,
    ) -> str:
        """The text for a sample at `now` ms; what goes wrong is told in its place, as Prometheus does."""
        if "{{" not in text:
            return text
        from watchkeeper.ruler.template import TemplateError

        try:
            return self._template(rule, text).render(
                dict(labels),
                value,
                external_labels=self.external_labels,
                external_url=self.external_url,
                query=None if query is None else lambda expr, *_: _pairs(query(expr)),
                now=now / 1000,
                url_functions=self.url_functions,
            )
        except TemplateError as error:
            return f"<error expanding template: {error}>"

    def _template(self, rule: Rule, text: str) -> Template:
        from watchkeeper.ruler.template import Template

        key = rule.name, text
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = Template(text, alert=rule.name)
        return found


def _pairs(result: Vector | Scalar) -> list[tuple[dict[str, str], Value]]:
    """What a template's query gives."""
    if result.type == "scalar":
        return [({}, result.value)]  # type: ignore[union-attr]
    if result.type == "vector":
        return [(dict(sample.labels), sample.value) for sample in result.samples]  # type: ignore[union-attr]
    raise ValueError("rule result is not a vector or scalar")


def alert_labels(rule: Rule, labels: Labels, expand: Callable[[str], str]) -> Labels:
    """The labels of the alert that a sample makes; the rule's own go over the sample's."""
    found = dict(labels)
    found.pop(NAME, None)
    for name, text in rule.labels.items():
        found[name] = expand(text) if "{{" in text else text
    found["alertname"] = rule.name
    return tuple(sorted([pair for pair in found.items() if pair[1]]))


def state_labels(rule: Rule, key: Labels, name: str, state: str = "") -> Labels:
    """The labels of an alert's ALERTS or ALERTS_FOR_STATE.

    They start from the rule's labels as they are written: where a template expands to nothing, its text stays.
    """
    found = {label: text for label, text in rule.labels.items() if text}
    found.update(key)
    found[NAME] = name
    found["alertname"] = rule.name
    if state:
        found["alertstate"] = state
    return tuple(sorted(found.items()))


def recorded_labels(rule: Rule, labels: Labels) -> Labels:
    """The labels of what a recording rule makes of a sample."""
    found = dict(labels)
    found[NAME] = rule.name
    found.update(rule.labels)
    return tuple(sorted([pair for pair in found.items() if pair[1]]))
