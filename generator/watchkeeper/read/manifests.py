"""PrometheusRule manifests of the Prometheus operator: the rules in their `spec`, as its API takes them.

https://prometheus-operator.dev/docs/api-reference/api/#monitoring.coreos.com/v1.PrometheusRule
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from watchkeeper.read.structure import VALUE, Reader

if TYPE_CHECKING:
    from collections.abc import Iterator

    from watchkeeper.findings import Finding
    from watchkeeper.read.source import File

    Node = Any

__all__ = ["rules_of"]

_WHY = "the API server refuses the manifest"
_VERSION = "monitoring.coreos.com/v1"
_KEYS = ("apiVersion", "kind", "metadata", "spec", "status")
# Names of objects: DNS-1123 subdomains, https://kubernetes.io/docs/concepts/overview/working-with-objects/names/
_NAME = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*\Z")
# What the API server's YAML, which is of version 1.1, takes for a truth value or a number.
_OTHER = re.compile(
    r"(?:yes|no|true|false|on|off|[-+]?(?:0x[0-9a-f_]+|0b[01_]+|\.?[0-9][0-9_]*(?:\.[0-9_]*)?(?:e[-+]?[0-9]+)?|\.inf)|\.nan)\Z",
    re.IGNORECASE | re.ASCII,
)
_INTEGER = re.compile(r"[-+]?[0-9]+\Z", re.ASCII)


def rules_of(node: Node, file: File) -> tuple[Node | None, list[Finding]]:
    """Return the part of a PrometheusRule that holds its groups, and what is wrong with the rest of it.

    For that part it tells of what the API server's YAML reads otherwise than Prometheus' does.
    """
    reader = Reader(file, _WHY)
    what = "a PrometheusRule"
    fields = reader.fields(node, _KEYS, what)
    version = reader.text(fields["apiVersion"], what, "apiVersion") if "apiVersion" in fields else None
    if version is None or version.value != _VERSION:
        message = f"{what} of another apiVersion" if version else f"{what} without an apiVersion"
        reader.fault(VALUE, message, fields.get("apiVersion") or fields["kind"], fix=f"write apiVersion: {_VERSION}")
    _metadata(reader, fields.get("metadata"), node)
    spec = fields.get("spec")
    if spec is None or spec.id != "mapping":
        reader.fault(VALUE, f"{what} without a spec", spec or node, fix='write the groups below "spec:" and "groups:"')
        return None, reader.findings
    for key, scalar in _scalars(spec):
        value = scalar.value
        if scalar.style or not _OTHER.match(value) or key == "limit" or type(scalar.tag) is not slice:
            continue
        if key != "expr" or not _INTEGER.match(value):  # the one text that may be a number
            message = f"{key} is a truth value or a number to the API server, not a text: {value}"
            reader.fault(VALUE, message, scalar, fix=f'quote it: "{value}"')
    return spec, reader.findings


def _metadata(reader: Reader, node: Node | None, manifest: Node) -> None:
    what = "a PrometheusRule"
    if node is None or node.id != "mapping":
        reader.fault(VALUE, f"{what} without metadata", node or manifest, fix="write metadata: {name: ...}")
        return
    named = next((value for key, value in node.value if key.value == "name"), None)
    name = reader.text(named, what, "metadata.name") if named else None
    if named is None:
        if not any(key.value == "generateName" for key, _ in node.value):
            reader.fault(VALUE, f"{what} without a name", node, fix="write metadata: {name: ...}")
    elif name and (len(name.value) > 253 or not _NAME.match(name.value)):
        fix = "write lower-case letters, digits and dashes"
        reader.fault(VALUE, f'{what} can\'t have the name "{name.value}"', named, fix=fix)


def _scalars(node: Node) -> Iterator[tuple[str, Node]]:
    """Yield the scalars below a node, with the key that each is the value of."""
    todo = [("", node)]
    while todo:
        name, one = todo.pop()
        if one.id == "scalar":
            yield name, one
        elif one.id == "mapping":
            todo += ((str(key.value), value) for key, value in one.value)
        else:
            todo += ((name, item) for item in one.value)
