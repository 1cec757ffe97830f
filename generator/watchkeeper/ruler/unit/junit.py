"""Outcomes of unit tests as JUnit XML, which CI systems read."""

from __future__ import annotations

from xml.sax.saxutils import escape, quoteattr

from watchkeeper.ruler.unit import text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from watchkeeper.ruler.unit.suite import Suite


def to_xml(suites: Sequence[Suite]) -> str:
    """The document."""
    bodies = [_suite(suite) for suite in suites]
    return '<?xml version="1.0" encoding="UTF-8"?>\n<testsuites>\n' + "".join(bodies) + "</testsuites>\n"


def _suite(suite: Suite) -> str:
    name = _attribute(suite.path)
    failed = sum(bool(outcome.failures) for _, outcome, _ in suite.cases)
    seconds = sum(one for _, _, one in suite.cases)
    counts = f'tests="{len(suite.cases) + bool(suite.faults)}" failures="{failed}" errors="{int(bool(suite.faults))}"'
    out = [f'  <testsuite name={name} {counts} time="{seconds:.3f}">\n']
    if suite.faults:
        body = "\n".join(map(str, suite.faults))
        message = _attribute(suite.faults[0].message)
        out.append(
            f"    <testcase classname={name} name={name}>\n      <error message={message}>{_body(body)}</error>\n"
            "    </testcase>\n"
        )
    for number, outcome, one in suite.cases:
        head = f'    <testcase classname={name} name={_attribute(text.title(outcome, number))} time="{one:.3f}"'
        if not outcome.failures:
            out.append(f"{head}/>\n")
            continue
        out.append(f"{head}>\n")
        tint = text.Palette(colour=False)
        for failure in outcome.failures:
            body = "\n".join(text.failure_lines(failure, suite.path, tint))
            message = _attribute(text.summary(failure))
            out.append(f"      <failure message={message}>{_body(body)}</failure>\n")
        out.append("    </testcase>\n")
    out.append("  </testsuite>\n")
    return "".join(out)


def _allowed(value: str) -> str:
    """Text without the characters that XML has no way to write."""
    return "".join(
        char if char in "\t\n" or (char >= " " and not "\ud800" <= char <= "\udfff") else "\ufffd" for char in value
    )


def _attribute(value: str) -> str:
    return quoteattr(_allowed(value))


def _body(value: str) -> str:
    return escape(_allowed(value))
