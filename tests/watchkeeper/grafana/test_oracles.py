"""What we render, held to two independent schemas of Grafana's: its own of 13.2, and that of the Foundation SDK.

Both lie beside the repository, not in it. Where a schema is known to be wrong about Grafana, `QUIRKS` says so.
"""

import json
import re
from functools import cache
from pathlib import Path

import pytest
from jsonschema import Draft7Validator

SCHEMAS = Path(__file__).resolve().parents[4] / "shared" / "schemas"
OWN, SDK = SCHEMAS / "grafana-schema-13.2", SCHEMAS / "foundation-sdk"

pytestmark = pytest.mark.skipif(not (OWN.is_dir() and SDK.is_dir()), reason="the schemas of Grafana are not here")

# Panel type to the name of its schema, with options and with custom field options.
OPTIONS = {
    "bargauge": "bargauge", "gauge": "gauge", "heatmap": "heatmap", "stat": "stat", "state-timeline": "statetimeline",
    "table": "table", "text": "text", "timeseries": "timeseries",
}  # fmt: skip
CUSTOM = {"heatmap", "state-timeline", "table", "timeseries"}

# Errors that are no faults: (schema, where, what it says).
QUIRKS = [
    # The generator of the SDK's schema takes TypeScript's `any` for an object; override values and matchers are not.
    ("sdk", r"\.overrides\[\d+\]\.properties\[\d+\]\.value$", "is not of type 'object'"),
    ("sdk", r"\.overrides\[\d+\]\.matcher\.options$", "is not of type 'object'"),
    # 13.2 requires what its new gauge has, and fills it in on load; a Grafana 12 does not know it.
    ("own gauge", r"^$", "is a required property"),
    # Annotation queries carry the query of their data source, which 13.2's schema leaves to the data source.
    ("own", r"^\.annotations\.list\[\d+\]$", "'expr' was unexpected"),
    # The SDK lost the constant that tells the kinds of cells apart, so that some are of several kinds.
    ("sdk table custom", r"^\.cellOptions$", "is valid under each of"),
]


@cache
def validator(file, definition=None):
    schema = json.loads(file.read_text())
    if definition:
        schema["$ref"] = f"#/definitions/{definition}"
    return Draft7Validator(schema)


def errors(name, checker, value):
    for error in checker.iter_errors(value):
        for leaf in leaves(error):
            path = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in leaf.absolute_path)
            if not any(
                name == quirk and re.search(where, path) and what in leaf.message for quirk, where, what in QUIRKS
            ):
                yield f"{name}: {path}: {leaf.message[:300]}"


def leaves(error):
    """The errors at the bottom; of several alternatives, those of the one that fits best."""
    if not error.context:
        yield error
        return
    branches = {}
    for inner in error.context:
        branches.setdefault(inner.schema_path[0], []).append(inner)
    for inner in min(branches.values(), key=lambda branch: (sum(map(of_another_type, branch)), len(branch))):
        yield from leaves(inner)


def of_another_type(error):
    return error.validator in ("const", "enum", "required") and (
        list(error.path) == ["type"] or "collapsed" in error.message
    )


def panels(model):
    for panel in model["panels"]:
        yield panel
        yield from panel.get("panels", ())


def faults(model):
    yield from errors("own", validator(OWN / "v1.schema.json"), model)
    yield from errors("sdk", validator(SDK / "dashboard.json"), model)
    for panel in panels(model):
        if name := OPTIONS.get(panel["type"]):
            own = validator(OWN / f"{name}.Options.json")
            yield from errors(f"own {name}", own, panel["options"])
            yield from errors(f"sdk {name}", validator(SDK / f"{name}.json", "Options"), panel["options"])
        if panel["type"] in CUSTOM:
            custom = panel["fieldConfig"]["defaults"].get("custom", {})
            if panel["type"] == "table" or custom:
                own = validator(OWN / f"{name}.FieldConfig.json")
                yield from errors(f"own {name} custom", own, custom)
                yield from errors(f"sdk {name} custom", validator(SDK / f"{name}.json", "FieldConfig"), custom)
        for query in panel.get("targets", ()):
            if query["datasource"]["type"] == "prometheus":
                yield from errors("sdk query", validator(SDK / "prometheus.json"), query)


@pytest.mark.parametrize("grafana", [(12, 2), (11, 6), (11, 2)])
def test_nothing_that_we_render_is_refused(source, render, grafana):
    rendered, _ = render(source, grafana)
    assert not list(faults(rendered.model))


def test_the_oracles_see_faults(corpus, render):
    model = render(corpus.helpers())[0].model
    stat = next(panel for panel in model["panels"] if panel["type"] == "stat")
    stat["options"]["colorMode"] = "valu"
    stat["targets"][0]["expr"] = 5
    stat["gridPos"]["w"] = "4"
    stat["fieldConfig"]["defaults"]["units"] = "bytes"
    found = " ".join(faults(model))
    for part in ("own stat: .colorMode", "sdk stat: .colorMode", "sdk query: .expr", "gridPos", "'units'"):
        assert part in found


@pytest.mark.parametrize("quirk", QUIRKS, ids=lambda quirk: f"{quirk[0]} {quirk[1]}")
def test_each_quirk_is_met(corpus, render, monkeypatch, quirk):
    monkeypatch.setattr(f"{__name__}.QUIRKS", [other for other in QUIRKS if other != quirk])
    assert list(faults(render(corpus.helpers())[0].model))
