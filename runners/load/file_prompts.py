"""Prompts out of a pinned file: sampled without replacement, filtered by length, each counted.

Every run of a study has a share of the file of its own (entry k of the seeded order goes to run k modulo
their number), so that runs have no prompt in common. Entries are counted in that order until there are
enough.
"""

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from runners.load.pinned_files import pinned
from runners.load.place import ONLY, Place
from runners.load.prompt_files import Entries, Entry, read_entries
from runners.load.prompts import InputEncoder, Prompt, from_content, from_messages
from runners.protocol.errors import Finding, Refused


@dataclass(frozen=True, slots=True, kw_only=True)
class FilePrompt:
    """``output_tokens`` is the length of the file's own answer where the declaration asks for it."""

    prompt: Prompt
    output_tokens: int | None


@dataclass(slots=True, kw_only=True)
class Sample:
    """``dropped`` counts entries that were looked at and left out, by reason."""

    prompts: list[FilePrompt] = field(default_factory=list)
    entries: int = 0
    looked_at: int = 0
    repeated: int = 0
    dropped: dict[str, int] = field(default_factory=dict)

    def summary(self) -> dict[str, Any]:
        return {
            "entries": self.entries,
            "looked_at": self.looked_at,
            "used": len(self.prompts),
            "repeated": self.repeated,
            "dropped": dict(sorted(self.dropped.items())),
        }


def open_file(workload: Mapping[str, Any], *, roots: Sequence[Path]) -> Entries | None:
    """The entries of ``workload.file``; None with other prompts. Raises Refused or EnvironmentLacks."""
    file = workload["file"]
    if file is None:
        return None
    path = pinned(str(file["path"]), str(file["sha256"]), roots=roots, field="workload.file")
    return read_entries(path, file)


def sample(
    entries: Entries,
    workload: Mapping[str, Any],
    encoder: InputEncoder,
    *,
    count: int,
    place: Place = ONLY,
) -> Sample:
    """So many prompts. Raises Refused if the file has fewer that can be used and may not be repeated."""
    found = Sample(entries=len(entries.found) + entries.without_question)
    if entries.without_question:
        found.dropped["no question"] = entries.without_question
    seen: set[str] = set()
    for entry in _order(entries.found, workload, place):
        if len(found.prompts) == count:
            break
        found.looked_at += 1
        taken = _taken(entry, workload, encoder)
        if not isinstance(taken, str) and taken.prompt.ref in seen:
            taken = "the same text again"
        if isinstance(taken, str):
            found.dropped[taken] = found.dropped.get(taken, 0) + 1
            continue
        seen.add(taken.prompt.ref)
        found.prompts.append(taken)
    _fill(found, workload, count, place)
    return found


def _order(entries: Sequence[Entry], workload: Mapping[str, Any], place: Place) -> Iterator[Entry]:
    order = list(range(len(entries)))
    if workload["file"]["order"] == "shuffled":
        draw = random.Random(f"file/{workload['seed']}").random
        for last in range(len(order) - 1, 0, -1):  # Fisher-Yates
            pick = int(draw() * (last + 1))
            order[last], order[pick] = order[pick], order[last]
    if workload["disjoint"] == "cells":
        order = order[place.position :: place.runs]
    return (entries[at] for at in order)


def _taken(entry: Entry, workload: Mapping[str, Any], encoder: InputEncoder) -> FilePrompt | str:
    """The entry as a prompt, or why it is left out."""
    file = workload["file"]
    if isinstance(entry.content, str):
        prompt = from_content(entry.content, endpoint=str(workload["endpoint"]), encoder=encoder)
    else:
        prompt = from_messages(entry.content, encoder=encoder)
    if len(prompt.token_ids) < file["min_input_tokens"]:
        return "input too short"
    if len(prompt.token_ids) > workload["input_tokens"]:
        return "input too long"
    if file["output"] != "file":
        return FilePrompt(prompt=prompt, output_tokens=None)
    answer = entry.output_tokens
    if answer is None and entry.answer is not None:
        answer = len(encoder.encode(entry.answer))
    if answer is None:
        return "no answer"
    if answer < file["min_output_tokens"]:
        return "answer too short"
    if answer > workload["output_tokens"]:
        return "answer too long"
    return FilePrompt(prompt=prompt, output_tokens=answer)


def _fill(found: Sample, workload: Mapping[str, Any], count: int, place: Place) -> None:
    usable = len(found.prompts)
    if usable >= count:
        return
    if workload["file"]["when_short"] != "repeat" or not usable:
        left_out = ", ".join(f"{n} {why}" for why, n in sorted(found.dropped.items())) or "none"
        share = f" of this run's share (1 of {place.runs})" if place.runs > 1 else ""
        raise Refused(
            Finding(
                field="workload.requests",
                seen=f"{count}",
                allowed=f"at most {usable}, the usable entries{share}; left out: {left_out}",
                remedy="Ask for fewer, widen the lengths, or declare workload.file.when_short: repeat.",
            )
        )
    found.repeated = count - usable
    found.prompts += [found.prompts[at % usable] for at in range(count - usable)]
