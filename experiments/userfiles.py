"""A folder of a user's own group files (``study/mine.yaml``, ``load/burst.yaml``): data, never code.

Such a file may do what the files in ``experiments/conf`` do: choose groups and set fields. It may not
reference anything outside itself (interpolations), name a class to be made (``_target_``), move itself to
another place (``@package``, but for the line that every study begins with), touch Hydra's own settings, or
take the name of a file that Assay ships.
"""

import re
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import yaml

from experiments.errors import Finding, Refusal, refuse
from experiments.plain import forbidden

MAX_FILE_BYTES = 256 * 2**10
MAX_FILES = 500
GLOBAL_PACKAGE = "# @package _global_"
NAME = re.compile(r"[a-z0-9][a-z0-9_.-]{0,99}\.yaml")


def read_choices(folder: Path, shipped: Mapping[str, Collection[str]]) -> dict[str, list[str]]:
    """Group -> names of the files in ``folder``, each checked. Raises Refusal naming file and reason."""
    if not folder.is_dir():
        raise refuse(
            field="studies",
            seen=folder,
            allowed="a folder with group sub-folders",
            remedy="Create it, or leave the option out.",
        )
    findings: list[Finding] = []
    choices: dict[str, list[str]] = {}
    paths = sorted(p for p in folder.rglob("*") if not p.is_dir() or p.is_symlink())
    if len(paths) > MAX_FILES:
        raise refuse(
            field="studies",
            seen=f"{len(paths)} files in {folder}",
            allowed=f"at most {MAX_FILES}",
            remedy="Point it at the folder of studies alone.",
        )
    for path in paths:
        problem = _problem(folder, path, shipped)
        if problem is not None:
            findings.append(problem)
            continue
        choices.setdefault(path.parent.name, []).append(path.stem)
    if findings:
        raise Refusal(findings)
    return choices


def _problem(folder: Path, path: Path, shipped: Mapping[str, Collection[str]]) -> Finding | None:
    name = path.relative_to(folder).as_posix()
    group, _, rest = name.partition("/")
    if group not in shipped or not NAME.fullmatch(rest):
        return _finding(
            name,
            "a place outside the groups",
            f"<group>/<name>.yaml with a group of {_list(shipped)}",
        )
    if path.is_symlink() or not path.is_file():
        return _finding(name, "a link or special file", "a plain file")
    if path.stat().st_size > MAX_FILE_BYTES:
        return _finding(name, f"{path.stat().st_size} bytes", f"at most {MAX_FILE_BYTES}")
    if path.stem in shipped[group]:
        return _finding(name, f"{path.stem} is a shipped file of group {group}", "another name")
    text = path.read_text(encoding="utf-8", errors="replace")
    package = GLOBAL_PACKAGE if group == "study" else None
    for line in text.splitlines():
        if "@package" in line and line.strip() != package:
            return _finding(name, line.strip(), package or "no package line in this group")
    try:
        tree = yaml.safe_load(text)
    except yaml.YAMLError as error:
        return _finding(name, str(error).replace("\n", " "), "readable YAML")
    if tree is not None and not isinstance(tree, dict):
        return _finding(name, type(tree).__name__, "a mapping")
    if group == "study" and (strays := set(tree or {}) - {"defaults", "study"}):
        allowed = (
            "defaults and study alone; values live in group files, so that groups can be swapped"
        )
        return _finding(name, ", ".join(sorted(map(str, strays))), allowed)
    return _content_problem(name, tree or {})


def _content_problem(name: str, tree: Mapping[str, Any]) -> Finding | None:
    for path, value in forbidden(tree):
        return _finding(f"{name}: {path}", value, "plain values")
    for entry in tree.get("defaults") or []:
        if "hydra" in str(entry):
            return _finding(f"{name}: defaults", str(entry), "groups of the study")
    if "hydra" in tree:
        return _finding(f"{name}: hydra", "hydra", "fields of the study")
    return None


def _finding(field: str, seen: str, allowed: str) -> Finding:
    return Finding(
        field=f"studies: {field}",
        seen=seen,
        allowed=allowed,
        remedy="A study file holds data only; change or remove it.",
    )


def _list(words: Collection[str]) -> str:
    return ", ".join(sorted(words))
