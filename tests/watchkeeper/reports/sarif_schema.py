"""The part of SARIF 2.1.0 that a linter's log uses, as a JSON Schema: closed, so that a misspelt property is seen.

Written from the standard: https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html
"""


def an_object(required: str, **properties: object) -> dict[str, object]:
    return {
        "type": "object",
        "properties": properties,
        "required": required.split(),
        "additionalProperties": False,
    }


STRING = {"type": "string", "minLength": 1}
NUMBER = {"type": "integer", "minimum": 1}
MESSAGE = an_object("text", text=STRING)
URI = {"type": "string", "format": "uri", "pattern": r"^[a-z]+://[!#-;=?-\[\]_a-z~]*$"}
REFERENCE = {"type": "string", "pattern": r"^([!#-;=?-\[\]_a-zA-Z~]|%[0-9A-F]{2})+$"}

RULE = an_object(
    "id shortDescription",
    id=STRING,
    shortDescription=MESSAGE,
    fullDescription=MESSAGE,
    help=MESSAGE,
    helpUri=URI,
)
REGION = {
    **an_object("startLine", startLine=NUMBER, startColumn=NUMBER, endLine=NUMBER, endColumn=NUMBER),
    "dependentRequired": {"endColumn": ["startColumn", "endLine"]},
}
LOCATION = an_object(
    "physicalLocation",
    physicalLocation=an_object(
        "artifactLocation",
        artifactLocation=an_object("uri", uri=REFERENCE, uriBaseId={"const": "%SRCROOT%"}),
        region=REGION,
    ),
)
RESULT = an_object(
    "message",
    ruleId=STRING,
    ruleIndex={"type": "integer", "minimum": 0},
    level={"enum": ["none", "note", "warning", "error"]},
    message=MESSAGE,
    locations={"type": "array", "items": LOCATION},
    partialFingerprints={"type": "object", "additionalProperties": STRING},
    suppressions={
        "type": "array",
        "uniqueItems": True,
        "items": an_object("kind", kind={"enum": ["inSource", "external"]}, justification=STRING),
    },
)
RUN = an_object(
    "tool",
    tool=an_object(
        "driver",
        driver=an_object(
            "name", name=STRING, version=STRING, rules={"type": "array", "uniqueItems": True, "items": RULE}
        ),
    ),
    originalUriBaseIds={
        "type": "object",
        "additionalProperties": an_object("uri", uri={**URI, "pattern": r"^file:///.*/$"}),
    },
    columnKind={"enum": ["utf16CodeUnits", "unicodeCodePoints"]},
    results={"type": "array", "items": RESULT},
)
SCHEMA = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    **an_object(
        "version runs",
        **{"$schema": URI, "version": {"const": "2.1.0"}, "runs": {"type": "array", "items": RUN}},
    ),
}
