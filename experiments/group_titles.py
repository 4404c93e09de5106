"""What a group file says of itself: a study its title, another file its first lines of comment."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml

LONGEST = 120
_PACKAGE = "@package"


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupFile:
    """One choice of a config group. ``is_own``: it lies in a user's folder and not in Assay's."""

    name: str
    title: str
    is_own: bool


def titled(
    names: Mapping[str, Sequence[str]], *, shipped: Path, own: Path | None
) -> dict[str, list[GroupFile]]:
    """Config group -> its choices with their titles, in the order given."""
    return {
        group: [_file(group, name, shipped, own) for name in found]
        for group, found in names.items()
    }


def _file(group: str, name: str, shipped: Path, own: Path | None) -> GroupFile:
    path = shipped / group / f"{name}.yaml"
    is_own = own is not None and not path.is_file()
    if own is not None and is_own:
        path = own / group / f"{name}.yaml"
    text = path.read_text(encoding="utf-8", errors="replace")
    title = _study_title(text) if group == "study" else ""
    return GroupFile(name=name, title=_cut(title or _first_comment(text)), is_own=is_own)


def _study_title(text: str) -> str:
    tree = yaml.safe_load(text) or {}
    study = tree.get("study") or {}
    return str(study.get("title") or "") if isinstance(study, dict) else ""


def _first_comment(text: str) -> str:
    """The first sentence of the comment that the file begins with."""
    words: list[str] = []
    for line in text.splitlines():
        if not line.startswith("#"):
            break
        if _PACKAGE not in line:
            words.append(line.removeprefix("#").strip())
    whole = " ".join(words)
    first, stop, _ = whole.partition(". ")
    return first + stop.strip() if stop else whole


def _cut(title: str) -> str:
    return title if len(title) <= LONGEST else title[: LONGEST - 1].rstrip() + "…"
