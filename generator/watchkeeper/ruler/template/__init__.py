"""Templates of annotations and labels, in Go's text/template as Prometheus sets it up.

    from watchkeeper.ruler.template import Template, expand
    summary = Template("{{ $labels.instance }} at {{ $value | humanizePercentage }}", alert="GPUStalled")
    summary.render({"instance": "n1"}, 0.25)          # "n1 at 25%"

Standard library only. Names are loaded when first asked for.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from watchkeeper.ruler.template.errors import TemplateError
    from watchkeeper.ruler.template.template import Template, expand
    from watchkeeper.ruler.template.uses import Use, fields
    from watchkeeper.ruler.template.versions import CONSOLE_FUNCTIONS, FUNCTIONS

__all__ = ["CONSOLE_FUNCTIONS", "FUNCTIONS", "Template", "TemplateError", "Use", "expand", "fields"]

_HOMES = {
    "errors": ("TemplateError",),
    "template": ("Template", "expand"),
    "uses": ("Use", "fields"),
    "versions": ("CONSOLE_FUNCTIONS", "FUNCTIONS"),
}


def __getattr__(name: str) -> object:
    """Load a public name from the module that has it (PEP 562)."""
    for module, names in _HOMES.items():
        if name in names:
            import importlib

            value = getattr(importlib.import_module(f"watchkeeper.ruler.template.{module}"), name)
            globals()[name] = value
            return value
    raise AttributeError(f"module 'watchkeeper.ruler.template' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
