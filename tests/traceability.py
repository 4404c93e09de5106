"""A pytest plug-in that writes which requirement is held by which tests.

Used by ``make requirements``. A REFUSE or FORBID requirement counts only when one of its tests carries
``@pytest.mark.forbids``: it tries the forbidden thing and sees it refused.
"""

import re
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
SOURCE = TESTS / "data" / "golden" / "requirements.md"
LINE = re.compile(r"^\d+\. REQ-(\d+\.\d+) \[(\w+); ([^\]]*)\] (.*)$")
MUST_TRY = {"REFUSE", "FORBID"}
HELD_BY_ALL = pytest.StashKey[dict[str, dict[str, bool]]]()
KINDS = ("REC", "DIST", "CALC", "FORBID", "REFUSE", "LABEL", "VERIFY")


@dataclass(frozen=True, slots=True, kw_only=True)
class Requirement:
    id: str
    kind: str
    section: str
    text: str


def read_requirements(source: Path = SOURCE) -> dict[str, Requirement]:
    """Every requirement of the list, by id, in its order."""
    found = {}
    for line in source.read_text(encoding="utf-8").splitlines():
        if match := LINE.match(line):
            id_, kind, section, text = match.groups()
            found[id_] = Requirement(id=id_, kind=kind, section=section, text=text)
    return found


def tests_by_requirement(items: list[pytest.Item]) -> dict[str, dict[str, bool]]:
    """Requirement id -> test (file::name) -> whether it tries the forbidden thing."""
    held: dict[str, dict[str, bool]] = defaultdict(dict)
    for item in items:
        tries = item.get_closest_marker("forbids") is not None
        name = item.nodeid.split("[")[0]
        for marker in item.iter_markers("req"):
            for id_ in marker.args:
                held[id_][name] = held[id_].get(name, False) or tries
    return held


def remember(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep what all tests together hold, where this run has collected all of them."""
    everywhere = [config.rootpath / arg for arg in config.args] == [TESTS]
    if everywhere and not config.getoption("ignore") and not config.getoption("ignore_glob"):
        config.stash[HELD_BY_ALL] = tests_by_requirement(items)


def is_held(requirement: Requirement, tests: dict[str, bool]) -> bool:
    if requirement.kind in MUST_TRY:
        return any(tests.values())
    return bool(tests)


def report(requirements: dict[str, Requirement], held: dict[str, dict[str, bool]]) -> str:
    """The whole of docs/requirements.md."""
    lines = [
        "# Requirements and the tests that hold them",
        "",
        "Written by `make requirements`; the full texts are in `tests/data/golden/requirements.md`.",
        "A REFUSE or FORBID counts only when a test tries the forbidden thing.",
        "",
    ]
    group = ""
    for r in requirements.values():
        if r.id.split(".")[0] != group:
            group = r.id.split(".")[0]
            lines += [
                "",
                f"## Group {group}",
                "",
                "| id | kind | requirement | tests |",
                "|---|---|---|---|",
            ]
        tests = held.get(r.id, {})
        shown = "<br>".join(f"`{t.removeprefix('tests/')}`" for t in sorted(tests)) or "not yet"
        if tests and not is_held(r, tests):
            shown = f"not yet tried: {shown}"
        text = r.text if len(r.text) <= 160 else r.text[:157].rsplit(" ", 1)[0] + " ..."
        lines.append(f"| {r.id} | {r.kind} | {text.replace('|', '/')} | {shown} |")
    lines += ["", "## Count", "", "| kind | held | of |", "|---|---|---|"]
    for kind in KINDS:
        of = [r for r in requirements.values() if r.kind == kind]
        done = [r for r in of if is_held(r, held.get(r.id, {}))]
        lines.append(f"| {kind} | {len(done)} | {len(of)} |")
    total = sum(is_held(r, held.get(r.id, {})) for r in requirements.values())
    lines.append(f"| all | {total} | {len(requirements)} |")
    return "\n".join(lines) + "\n"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--requirements-report", default=None, help="write the requirements table to this file"
    )


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    target = config.getoption("--requirements-report")
    written = document(tests_by_requirement(items))
    if target:
        Path(target).write_text(written, encoding="utf-8")


def document(held: dict[str, dict[str, bool]]) -> str:
    """The report, where every requirement that a test names is one."""
    requirements = read_requirements()
    if unknown := sorted(set(held) - set(requirements)):
        raise pytest.UsageError(f"req marker names no requirement: {', '.join(unknown)}")
    return report(requirements, held)
