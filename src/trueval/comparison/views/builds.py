"""How the checks of a gate look to build servers: JUnit XML, and annotations of GitHub."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final
from xml.etree import ElementTree as ET

from trueval.comparison.checks import CANNOT_TELL, Check
from trueval.comparison.views.checks import describe_result
from trueval.printable import printable, printable_message


def to_junit(checks: Sequence[Check]) -> str:
    """The checks as JUnit XML: a test case each; one that cannot tell and passes counts as skipped, with its reason.

    Args:
        checks: of every gate.
    """
    failed = sum(not check.passed for check in checks)
    unclear = sum(check.passed and check.verdict == CANNOT_TELL for check in checks)
    counts = {"tests": str(len(checks)), "failures": str(failed), "skipped": str(unclear)}
    suite = ET.Element("testsuite", {"name": "trueval", "errors": "0", **counts})
    for check in checks:
        named = {
            "classname": printable(f"trueval.{check.run}"),
            "name": printable(f"{check.measure or 'all'} {check.option}"),
        }
        case = ET.SubElement(suite, "testcase", named)
        said = printable_message(check.line)
        if not check.passed:
            ET.SubElement(case, "failure", type=check.verdict, message=said)
        elif check.verdict == CANNOT_TELL:
            ET.SubElement(case, "skipped", message=said)
        ET.SubElement(case, "system-out").text = f"{check.verdict}: {describe_result(check)}"
    whole = ET.Element("testsuites")
    whole.append(suite)
    ET.indent(whole)
    return f"{ET.tostring(whole, encoding='utf-8', xml_declaration=True).decode()}\n"


def to_github(checks: Sequence[Check]) -> str:
    """The checks as workflow commands of GitHub: an error for each that failed, a warning for each that cannot tell.

    Args:
        checks: of every gate.

    Returns:
        Lines that a runner shows as annotations; a notice where all checks passed.
    """
    lines = []
    for check in checks:
        if check.passed and check.verdict != CANNOT_TELL:
            continue
        level = "warning" if check.passed else "error"
        title = _escape(f"trueval: {check.verdict}", {":": "%3A", ",": "%2C"})
        lines.append(f"::{level} title={title}::{_escape(check.line)}\n")
    return "".join(lines) or f"::notice title=trueval::{len(checks)} checks passed\n"


def _escape(text: str, more: Mapping[str, str] | None = None) -> str:
    """Escape a value of a workflow command, so that no id ends it and begins another."""
    for mark, code in {"%": "%25", "\r": "%0D", "\n": "%0A", **(more or {})}.items():
        text = text.replace(mark, code)
    return printable_message(text)


# By the --format that prints them in place of results.
FORMS: Final[Mapping[str, Callable[[Sequence[Check]], str]]] = {"junit": to_junit, "github": to_github}
