"""What is raised for a template that Prometheus would refuse, or could not expand."""

from __future__ import annotations


class TemplateError(ValueError):
    """A template does not parse, or its expansion failed.

    `message` is Prometheus' whole text, `detail` the part that begins with "template: ", which is what a rule file is
    refused with. `position` is a character offset into `text`, None where none is known. `parsing` tells the two apart.
    """

    __slots__ = ("detail", "message", "parsing", "position", "text")

    def __init__(self, name: str, detail: str, text: str, position: int | None = None, *, parsing: bool) -> None:
        message = f"error {'parsing' if parsing else 'executing'} template {name}: {detail}"
        super().__init__(message)
        self.message = message
        self.detail = detail
        self.text = text
        self.position = position
        self.parsing = parsing

    def __str__(self) -> str:
        return self.message


class CallError(ValueError):
    """A function of a template gave up. The text is what follows "error calling NAME: "."""


class LimitError(CallError):
    """A template asks for more than any message needs: it loops, or doubles its text. Prometheus has no such limits."""
