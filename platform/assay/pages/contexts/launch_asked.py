"""What somebody filled in on the launch page, as overrides under the rules of the command line."""

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlencode

from django.http import QueryDict

from assay.execution.composing import MAX_TEXT, Wanted
from assay.pages.contexts.launch_fields import SAYING
from experiments.compose import GROUPS
from experiments.errors import Finding

STUDY = "study"
NO_STUDY = "null"  # start from groups alone
GROUP, VALUE = "g.", "v."
FREE, SWEEP, TAGS = "free", "sweep", "tags"
_TEXTS = {field.path for field in SAYING}
MAX_ADDRESS = 2000  # characters of a link to a filled-in form


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """The form as it was filled in; nothing is checked yet but its size."""

    study: str
    groups: Mapping[str, str]
    values: Mapping[str, str]
    tags: str
    free: str
    sweep: str
    project: str
    engine: str  # whose settings the form shows

    @classmethod
    def parse(cls, data: QueryDict) -> "Asked":
        return cls(
            study=_line(data.get(STUDY, "")),
            groups={
                group: found
                for group in GROUPS
                if group != STUDY and (found := _line(data.get(GROUP + group, "")))
            },
            values={
                name.removeprefix(VALUE): found
                for name in data
                if name.startswith(VALUE) and (found := _line(data.get(name, "")))
            },
            tags=_line(data.get(TAGS, "")),
            free=data.get(FREE, "")[:MAX_TEXT],
            sweep=data.get(SWEEP, "")[:MAX_TEXT],
            project=data.get("project", "")[:60],
            engine=_line(data.get("engine_shown", ""))[:40],
        )

    @property
    def is_empty(self) -> bool:
        return not self.study

    def query(self) -> str:
        """The same form as a link, empty when it would be too long for one."""
        given = {
            STUDY: self.study,
            **{GROUP + group: name for group, name in self.groups.items()},
            **{VALUE + path: value for path, value in self.values.items()},
            TAGS: self.tags,
            FREE: self.free.strip(),
            SWEEP: self.sweep.strip(),
            "project": self.project,
        }
        text = urlencode({name: value for name, value in given.items() if value})
        return text if len(text) <= MAX_ADDRESS else ""

    def wanted(self) -> tuple[Wanted, list[Finding]]:
        """The overrides in the order of the form, and what is wrong with the two free boxes."""
        free, wrong = _words(self.free, FREE)
        swept, also = _words(self.sweep, SWEEP)
        overrides = [f"{STUDY}={self.study}"] if self.study else []
        overrides += [f"{group}={name}" for group, name in self.groups.items()]
        overrides += [f"{path}={_written(path, value)}" for path, value in self.values.items()]
        if self.tags:
            names = [quoted(tag.strip()) for tag in self.tags.split(",") if tag.strip()]
            overrides.append(f"study.tags=[{','.join(names)}]")
        found = Wanted(overrides=(*overrides, *free, *swept), sweep=bool(swept))
        return found, [*wrong, *also]


def command(wanted: Wanted) -> str:
    """The same on the command line."""
    flag = ["-m"] if wanted.sweep else []
    return shlex.join(["assay", "submit", *flag, *wanted.overrides])


def quoted(text: str) -> str:
    """Text as a quoted value of Hydra's override grammar: only quotes and the backslashes before them."""
    body = []
    for part in text.split('"'):
        tail = len(part) - len(part.rstrip("\\"))
        body.append(part + "\\" * tail)
    return '"' + '\\"'.join(body) + '"'


def _written(path: str, value: str) -> str:
    return quoted(value) if path in _TEXTS else value


def _words(text: str, field: str) -> tuple[list[str], list[Finding]]:
    """The words of a box as a shell would part them, so that a line of the command line can be pasted."""
    try:
        return shlex.split(text), []
    except ValueError as error:
        wrong = Finding(
            field=field,
            seen=f"{text.strip()[:80]} ({error})",
            allowed="key=value words, quoted as in a shell",
            remedy="Close the quotation.",
        )
        return [], [wrong]


def _line(text: str) -> str:
    return " ".join(text.split())[:2000]
