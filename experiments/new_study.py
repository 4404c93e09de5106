"""A study file of one's own, written from answers: which groups it chooses, and group files for what it sets.

A study file holds no values, so that each of its groups can be swapped. What is set goes into a group file
of the study's name, which takes over the chosen one and changes that much.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import yaml

from experiments.errors import refuse
from experiments.schema import fields
from experiments.schema.root import RootConfig

NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,59}")
GROUPS = tuple(
    m.name for m in fields.members(RootConfig) if m.name not in ("schema_version", "study")
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answers:
    """``groups`` maps each group to the file chosen for it, ``values`` each path to what it is set to."""

    name: str
    title: str
    question: str
    tags: Sequence[str]
    groups: Mapping[str, str]
    values: Mapping[str, Any]


def check_name(name: str, *, taken: Sequence[str]) -> None:
    """Raises Refusal for a name that is no file name, or that a study has already."""
    if not NAME.fullmatch(name):
        raise refuse(
            field="name",
            seen=name,
            allowed="small letters, digits, - and _, at most 60, beginning with a letter or digit",
            remedy="Choose another name: it becomes a file name and a word of the command line.",
        )
    if name in taken:
        raise refuse(
            field="name",
            seen=f"{name} is there already",
            allowed="a new name",
            remedy="Nothing is overwritten; choose another name, or edit that file.",
        )


def files(answers: Answers) -> dict[str, str]:
    """Path below the folder -> text, for the study file and each group file that its values need."""
    own = sorted({path.partition(".")[0] for path in answers.values})
    chosen = {**answers.groups, **dict.fromkeys(own, answers.name)}
    found = {f"study/{answers.name}.yaml": _study(answers, chosen)}
    for group in own:
        found[f"{group}/{answers.name}.yaml"] = _group(answers, group)
    return found


def _study(answers: Answers, chosen: Mapping[str, str]) -> str:
    lines = ["# @package _global_"]
    lines += [
        "# A study chooses one file for each group; values live in the files of the groups, so that any of",
        f"# them can be swapped: assay run study={answers.name} load=closed load.concurrency=2",
        "#",
        "# Files to choose from: assay new study --list. The page /launch shows what a study comes to before",
        "# anything is queued: its digest, memory budget, forecast, and what is refused, field by field.",
        "defaults:",
    ]
    width = max(len(f"  - override /{group}: {name}") for group, name in chosen.items())
    for group in GROUPS:
        if group in chosen:
            entry = f"  - override /{group}: {chosen[group]}"
            lines.append(f"{entry:<{width}}  # {_ABOUT[group]}")
    lines += ["  - _self_", ""]
    study = {
        "name": answers.name,
        "title": answers.title,
        "question": answers.question,
        "notes": "",
        "tags": list(answers.tags),
    }
    lines.append(_yaml({"study": study}))
    lines += [
        "  # repetitions: 3   # each with an engine started afresh; one start says nothing of the next",
        "  # order: seeded    # or declared: the order of a sweep's cells",
        "  # seed: 0          # of that order",
        "",
    ]
    return "\n".join(lines)


_ABOUT = {
    "artifact": "the exact bytes that are served",
    "engine": "what serves them, pinned",
    "device": "what it runs on",
    "workload": "what one request is",
    "load": "when requests are sent",
    "contract": "when a task has succeeded",
    "prediction": "what is predicted before the launch",
    "evidence": "what is captured beside the replies",
    "boundary": "what belongs to the system under test",
}


def _group(answers: Answers, group: str) -> str:
    base = answers.groups[group]
    lines = [
        f"# {base}, with what the study {answers.name} sets. Whatever is not named here is as it is there.",
        "defaults:",
        f"  - {base}",
        "  - _self_",
        "",
        _yaml(_tree(answers.values, group)),
        "",
    ]
    return "\n".join(lines)


def _tree(values: Mapping[str, Any], group: str) -> dict[str, Any]:
    tree: dict[str, Any] = {}
    for path, value in values.items():
        first, _, rest = path.partition(".")
        if first != group:
            continue
        node = tree
        *parents, last = rest.split(".")
        for parent in parents:
            node = node.setdefault(parent, {})
        node[last] = value
    return tree


def _yaml(tree: Mapping[str, Any]) -> str:
    return yaml.safe_dump(dict(tree), sort_keys=False, allow_unicode=True, width=110).rstrip("\n")
