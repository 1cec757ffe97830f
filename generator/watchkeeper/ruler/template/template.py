"""Templates of annotations and labels: parsed once, expanded for each alert."""

from __future__ import annotations

from watchkeeper.ruler.template.errors import CallError, TemplateError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from watchkeeper.ruler.template.execution import Query, State, Step
    from watchkeeper.ruler.template.nodes import Node, NodeList
    from watchkeeper.ruler.template.values import LabelSet

# What Prometheus puts before each text. Positions in messages count from its start.
PRELUDE = (
    "{{$labels := .Labels}}{{$externalLabels := .ExternalLabels}}{{$externalURL := .ExternalURL}}{{$value := .Value}}"
)
VARIABLES = ("$labels", "$externalLabels", "$externalURL", "$value")


def _is_plain(text: str) -> bool:
    return "{{" not in text


class Template:
    """The template of an annotation or label of the alert `alert`, whose name stands in messages.

    Raises TemplateError, in the words of Prometheus, for what Prometheus refuses when it loads a rule file. A text
    without `{{` costs nothing. `version` is the Prometheus whose functions may be called, such as "3.5"; by default
    those of all versions.
    """

    __slots__ = ("_body", "_defined", "_name", "_root", "text")

    def __init__(self, text: str, *, alert: str = "", version: str | None = None) -> None:
        self.text = text
        self._name = f"__alert_{alert}"
        self._body: Step | None = None
        self._root: NodeList | None = None
        if not _is_plain(text):
            self._root, self._defined = self._parsed(version)

    def _parsed(self, version: str | None) -> tuple[NodeList, dict[str, NodeList]]:
        from watchkeeper.ruler.template.parser import Parser, SyntaxFaultError
        from watchkeeper.ruler.template.versions import FUNCTIONS, available

        functions = FUNCTIONS if version is None else available(version)
        try:
            parser = Parser(self.text, functions, VARIABLES, loose=False)
        except SyntaxFaultError as fault:
            message = fault.message.replace("\0", self._name)
            detail = f"template: {self._name}:{fault.line}: {message}"
            raise TemplateError(self._name, detail, self.text, fault.position, parsing=True) from None
        return parser.root, parser.defined

    def __repr__(self) -> str:
        return f"Template({self.text!r})"

    @property
    def is_plain(self) -> bool:
        """Whether it says the same whatever fires."""
        return self._root is None

    @property
    def syntax(self) -> tuple[NodeList | None, dict[str, NodeList]]:
        """The tree of the text, None where it is plain, and those of the templates that it defines."""
        return self._root, ({} if self._root is None else self._defined)

    def render(
        self,
        labels: LabelSet,
        value: object,
        *,
        external_labels: LabelSet | None = None,
        external_url: str = "",
        query: Query | None = None,
        now: float = 0.0,
        url_functions: bool = True,
    ) -> str:
        """The text for one alert: its sample's labels (with `__name__` where it has one) and its value.

        `query` evaluates PromQL at `now` (seconds since 1970): it gives what `Engine.instant` gives, or pairs of labels
        and value, and may raise ValueError, as the engine does. Without `url_functions` pathPrefix and externalURL
        fail, as they do in promtool's unit tests.
        Raises TemplateError in the words of Prometheus.
        """
        if self._root is None:
            return self.text
        from watchkeeper.ruler.template.arguments import Failure
        from watchkeeper.ruler.template.execution import Builder, State
        from watchkeeper.ruler.template.values import Root

        body = self._body
        if body is None:
            body = self._body = Builder(self._defined).body(self._root)
        root = Root(labels, value, external_labels or {}, external_url)
        state = State(root, self._name, query, now, external_url if url_functions else None)
        state.variables += (
            ["$labels", root.labels],
            ["$externalLabels", root.external_labels],
            ["$externalURL", external_url],
            ["$value", root.value],
        )
        try:
            body(state, root)
        except (Failure, CallError) as failure:
            raise self._failed(state, str(failure)) from None
        except RecursionError:
            raise self._failed(state, "exceeded maximum template depth (100000)") from None
        except UnicodeError as error:
            raise self._failed(state, str(error)) from None
        text = "".join(state.out)
        if text.isascii():
            return text
        return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")

    def _failed(self, state: State, message: str) -> TemplateError:
        node = state.node
        if node is None:
            return TemplateError(self._name, f"template: {state.name}: {message}", self.text, parsing=False)
        from watchkeeper.ruler.template.lexer import quote

        detail = f"template: {self._place(node)}: executing {quote(state.name)} at <{node}>: {message}"
        return TemplateError(self._name, detail, self.text, node.position, parsing=False)

    def _place(self, node: Node) -> str:
        """Name, line and column of a node: bytes from 0, counted with the prelude on the first line."""
        before = self.text[: node.position]
        line = before.count("\n") + 1
        column = len(before[before.rfind("\n") + 1 :].encode("utf-8", "replace"))
        if line == 1:
            column += len(PRELUDE)
        return f"{self._name}:{line}:{column}"


def expand(
    text: str,
    labels: LabelSet,
    value: object,
    *,
    alert: str = "",
    external_labels: LabelSet | None = None,
    external_url: str = "",
    query: Query | None = None,
    now: float = 0.0,
    url_functions: bool = True,
) -> str:
    """What Prometheus puts into an alert for this text: the expansion, or `<error expanding template: ...>`."""
    if _is_plain(text):
        return text
    try:
        return Template(text, alert=alert).render(
            labels,
            value,
            external_labels=external_labels,
            external_url=external_url,
            query=query,
            now=now,
            url_functions=url_functions,
        )
    except TemplateError as error:
        return f"<error expanding template: {error}>"
