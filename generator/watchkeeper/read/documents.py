"""YAML files as PyYAML's nodes, which know their places; nothing in them is ever run or constructed."""

from __future__ import annotations

import gc
import re
from typing import TYPE_CHECKING, Any

from watchkeeper.findings import Excerpt
from watchkeeper.read.files import Unreadable, load

if TYPE_CHECKING:
    from watchkeeper.findings import Place
    from watchkeeper.read.source import File

    # A node of PyYAML, whose stubs differ between versions.
    Node = Any

__all__ = ["Unreadable", "documents", "load"]

_WHY = "no program can load the file"
_CONTROL = "[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]"  # takes 3 ms to compile
# Where an anchor or an alias may stand; a few other places look like one.
_ANCHOR = re.compile(r"(?:^|[\s\[{,])&[^\s&]")
_ALIAS = re.compile(r"(?:^|[\s\[{,])\*\S")
_MOST = 1_000_000  # nodes, with those that aliases repeat; beyond those that are written


def documents(file: File) -> list[Node]:
    """Return the root nodes of a file's documents; none for a file without content. They are composed once.

    Raises:
        Unreadable: no YAML, or aliases that unfold to more than could be looked at.
    """
    if file.nodes is not None:
        return file.nodes
    import yaml

    from watchkeeper.read.loader import Loader

    running = gc.isenabled()
    gc.disable()  # nodes hold no cycles, and looking for some takes three times as long as the rest
    try:
        loader = Loader(file.text)
        try:
            found = []
            while loader.check_node():
                found.append(loader.get_node())
        finally:
            loader.dispose()
    except yaml.reader.ReaderError:
        raise _control(file) from None
    except UnicodeEncodeError as error:  # a lone surrogate
        raise _control(file, error.start) from None
    except yaml.YAMLError as error:
        raise _explained(error, file) from None
    except RecursionError:
        raise Unreadable("the file nests too deeply", file.place(0), why=_WHY) from None
    finally:
        if running:
            gc.enable()
    if _ALIAS.search(file.text) and _ANCHOR.search(file.text):
        _limit_aliases(found, file)
    file.nodes = found
    return found


def _control(file: File, at: int = 0) -> Unreadable:
    match = re.compile(_CONTROL).search(file.text, at)
    at = match.start() if match else at
    message = f"a control character, U+{ord(file.text[at]):04X}, which YAML does not take"
    fix = 'leave it out, or write it as an escape in double quotes, such as "\\u0007"'
    return Unreadable(message, file.place(at), Excerpt(file.text, at, at + 1), _WHY, fix)


# What libyaml says, what that means, and what mends it.
_INDENTATION = "mend the indentation"
_MENDS = (
    ("mapping values are not allowed", 'a ": " where no key can be', f'quote a value with ": ", or {_INDENTATION}'),
    ("found unknown escape", "an escape that YAML does not have", "use single quotes, or write the backslash twice"),
    ("found undefined alias", "an alias without an anchor before it", "quote a value that begins with *"),
    ("found unexpected end of stream", "a quote that is never closed", "close it"),
    ("expected node content", "a value is missing, or a bracket is never closed", "write it, quote it, or close it"),
    ("expected ',' or", "a missing comma, or brackets that are never closed", "write it, or quote the text"),
    ("found a tab character", "a tab in the indentation", "indent with spaces"),
    ("maximum nesting depth", "the file nests more than 1,000 levels deep", ""),
    ("expected <document start>", "something after the end of the document", f"{_INDENTATION}, or put --- before it"),
    ("expected '-' indicator", "something in a list that is no item of it", f'begin it with "- ", or {_INDENTATION}'),
    ("expected key", "something in a mapping that is no key of it", f"{_INDENTATION}, or the quotes of a value"),
    ("could not find expected ':'", 'a key without a ":"', f'write ": " after the key, or {_INDENTATION}'),
    ("second occurrence", "the anchor is already there", "give each anchor a name of its own"),
)  # fmt: skip
# A line that begins with an action, such as Helm has them.
_TEMPLATE = re.compile(
    r"[ \t]*(?:-[ \t]+)?(\{\{-?[ \t]*"
    r"(?:(?:if|range|with|define|include|template|end|else|toYaml|tpl)\b|/\*|\$\w+[ \t]*:=|\.))"
)
# What is said of the line behind such a one.
_BEHIND = ("expected <document start>", "could not find expected ':'")
_STARTS = {
    "\t": ("a tab in the indentation", "indent with spaces"),
    "@": ('a value can\'t begin with "@"', "quote it"),
    "`": ('a value can\'t begin with "`"', "quote it"),
    "%": ('a value can\'t begin with "%"', "quote it"),
}


def _explained(error: Any, file: File) -> Unreadable:
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    # Not behind the end, where a bracket or a value is missed: that line is empty.
    at = min(mark.index, len(file.text.rstrip())) if mark else 0
    said = str(getattr(error, "problem", None) or error).partition("\n")[0]
    context = getattr(error, "context", None)
    message, fix = f"{context}: {said}" if context else said, ""
    for words, meaning, mend in _MENDS:
        if words in said:
            message, fix = meaning, mend
    if "cannot start any token" in said and file.text[at : at + 1] in _STARTS:
        message, fix = _STARTS[file.text[at]]
    if template := _template(file.text, at, said):
        at = template.start(1)
        message, fix = "a template, which makes YAML", "render it first: helm template chart/ | watchkeeper check -"
    if said == "found unexpected end of stream" and error.context_mark:
        at = error.context_mark.index  # where the quote was opened
    place: Place = file.place(at)
    return Unreadable(f"not YAML: {message}", place, Excerpt(file.text, at, at + 1), _WHY, fix)


def _template(text: str, at: int, said: str) -> re.Match[str] | None:
    """Return the action that an error is about: it is on that line, or has been taken for a document before it."""
    line = text.rfind("\n", 0, at) + 1
    found = _TEMPLATE.match(text, line)
    if not found and said.endswith(_BEHIND):
        found = _TEMPLATE.match(text, text.rfind("\n", 0, max(0, line - 1)) + 1)
    return found


def _limit_aliases(roots: list[Node], file: File) -> None:
    """Refuse documents that unfold to far more than is written, and those that hold themselves."""
    sizes: dict[int, int] = {}  # of what a node unfolds to; 0 while it is being counted
    written = 0
    todo = list(roots)
    while todo:
        node = todo[-1]
        key = id(node)
        if isinstance(node.value, str):
            sizes[key] = 1 + len(node.value) // 100  # a long text takes as long as many short ones
        elif key not in sizes:
            sizes[key] = 0
            for child in _children(node):
                if sizes.get(id(child)) == 0:
                    raise _alias("an alias that holds itself", child, file)
                if id(child) not in sizes:
                    todo.append(child)
            continue
        elif not sizes[key]:
            children = _children(node)
            sizes[key] = 1 + sum(sizes[id(child)] for child in children)
            written += 1 + len(children)
            if sizes[key] > _MOST + written:
                raise _alias(f"aliases that unfold to more than {_MOST:,} values", node, file)
        todo.pop()


def _children(node: Node) -> list[Node]:
    items = node.value
    if items and isinstance(items[0], tuple):
        return [part for item in items for part in item]
    return list(items)


def _alias(message: str, node: Node, file: File) -> Unreadable:
    start, end = node.start_mark.index, node.end_mark.index
    fix = "write out what is meant, or generate the file"
    return Unreadable(message, file.place(start), Excerpt(file.text, start, end), "Prometheus refuses the file", fix)
