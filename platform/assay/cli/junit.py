"""Answers of a regression check as JUnit XML, as CI systems read it."""

from collections.abc import Mapping, Sequence
from typing import Any
from xml.etree import ElementTree as ET


def junit(suite: str, answers: Sequence[Mapping[str, Any]]) -> str:
    """One test case a metric; whatever is not green is a failure, and no answer at all is an error."""
    failed = sum(not a["green"] for a in answers)
    root = ET.Element(
        "testsuite",
        name=suite,
        tests=str(len(answers)),
        failures=str(failed),
        errors=str(int(not answers)),
    )
    if not answers:
        ET.SubElement(ET.SubElement(root, "testcase", name=suite), "error", message="no answer")
    for answer in answers:
        case = ET.SubElement(root, "testcase", classname=suite, name=answer["metric"])
        if not answer["green"]:
            failure = ET.SubElement(case, "failure", type=answer["answer"])
            failure.set("message", answer["reason"])
    return ET.tostring(root, encoding="unicode")
