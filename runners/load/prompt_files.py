"""Entries of a prompt file: ShareGPT conversations, JSON lines, CSV rows. One entry is one question.

A damaged line is named and refused; an entry that holds no question (a conversation that begins with an
answer) is passed over and counted.
"""

import csv
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from runners.protocol.errors import Finding, Refused

_CELL_BYTES = 16 * 2**20
_ROLES = {"human": "user", "user": "user", "gpt": "assistant", "assistant": "assistant"}
_ROLES |= {"chatgpt": "assistant", "bing": "assistant", "bard": "assistant", "system": "system"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """``content`` is a message list or the text of a prompt, ``answer`` what stands as its answer."""

    where: str  # "file:line", or "file: conversation 3"
    content: Any
    answer: str | None = None
    output_tokens: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Entries:
    found: tuple[Entry, ...]
    without_question: int


def read_entries(path: Path, file: Mapping[str, Any]) -> Entries:
    """All entries in the file's own order. Raises Refused naming the line that cannot be read."""
    readers = {"sharegpt": _sharegpt, "jsonl": _jsonl, "csv": _csv}
    rows = list(readers[str(file["format"])](path, file))
    found = tuple(row for row in rows if row is not None)
    return Entries(found=found, without_question=len(rows) - len(found))


def _sharegpt(path: Path, _: Mapping[str, Any]) -> Iterator[Entry | None]:
    try:
        document = json.loads(path.read_bytes())
    except (ValueError, RecursionError) as error:
        raise _refused(path.name, str(error), "a JSON list of conversations") from error
    if not isinstance(document, list):
        raise _refused(path.name, type(document).__name__, "a JSON list of conversations")
    for number, item in enumerate(document, start=1):
        where = f"{path.name}: conversation {number}"
        turns = item.get("conversations") if isinstance(item, dict) else None
        if not isinstance(turns, list):
            raise _refused(where, type(item).__name__, 'an object with a list "conversations"')
        yield _conversation([_turn(turn, where) for turn in turns], where)


def _turn(turn: Any, where: str) -> dict[str, str]:
    role = _ROLES.get(str(turn.get("from"))) if isinstance(turn, dict) else None
    text = turn.get("value") if isinstance(turn, dict) else None
    if role is None or not isinstance(text, str):
        raise _refused(where, str(turn)[:80], '"from" (human, gpt, system) and a text "value"')
    return {"role": role, "content": text}


def _conversation(turns: list[dict[str, str]], where: str) -> Entry | None:
    """The turns up to the first question; None if it is empty or an answer comes before it."""
    roles = [turn["role"] for turn in turns]
    at = roles.index("user") if "user" in roles else None
    if at is None or "assistant" in roles[:at] or not turns[at]["content"].strip():
        return None
    following = turns[at + 1] if at + 1 < len(turns) else None
    answer = following["content"] if following and following["role"] == "assistant" else None
    return Entry(where=where, content=turns[: at + 1], answer=answer)


def _jsonl(path: Path, file: Mapping[str, Any]) -> Iterator[Entry | None]:
    with path.open("rb") as stream:
        for number, line in enumerate(stream, start=1):
            if not line.strip():
                continue
            where = f"{path.name}:{number}"
            try:
                row = json.loads(line)
            except (ValueError, RecursionError) as error:
                raise _refused(where, str(error), "one JSON object a line") from error
            if not isinstance(row, dict):
                raise _refused(where, type(row).__name__, "one JSON object a line")
            yield _row(row, file, where)


def _csv(path: Path, file: Mapping[str, Any]) -> Iterator[Entry | None]:
    csv.field_size_limit(_CELL_BYTES)
    with path.open(encoding="utf-8-sig", newline="") as stream:
        reader = csv.DictReader(stream)
        try:
            for row in reader:
                yield _row(row, file, f"{path.name}:{reader.line_num}")
        except (csv.Error, UnicodeDecodeError) as error:
            raise _refused(f"{path.name}:{reader.line_num}", str(error), "UTF-8 CSV") from error


def _row(row: Mapping[str, Any], file: Mapping[str, Any], where: str) -> Entry | None:
    name = file["messages_field"] or file["prompt_field"]
    if name not in row:
        raise _refused(where, f"no field {name}", f"one of {', '.join(map(str, row))}")
    content = row[name]
    if file["messages_field"]:
        _check_messages(content, f"{where} {name}")
    elif not isinstance(content, str):
        raise _refused(f"{where} {name}", type(content).__name__, "a text")
    elif not content.strip():
        return None
    answer = row.get(file["answer_field"]) if file["answer_field"] else None
    if answer is not None and not isinstance(answer, str):
        raise _refused(f"{where} {file['answer_field']}", type(answer).__name__, "a text")
    return Entry(
        where=where, content=content, answer=answer, output_tokens=_count(row, file, where)
    )


def _check_messages(messages: Any, where: str) -> None:
    listed = messages if isinstance(messages, list) else []
    if not listed or not all(_is_message(message) for message in listed):
        raise _refused(where, str(messages)[:80], "a list of messages with role and text content")


def _is_message(message: Any) -> bool:
    named = [message.get(k) for k in ("role", "content")] if isinstance(message, dict) else [None]
    return all(isinstance(value, str) for value in named)


def _count(row: Mapping[str, Any], file: Mapping[str, Any], where: str) -> int | None:
    name = file["output_tokens_field"]
    if not name:
        return None
    value = row.get(name)
    text = str(value).strip()
    if isinstance(value, bool) or not text.isascii() or not text.isdigit():
        raise _refused(f"{where} {name}", repr(value), "a whole number of tokens")
    return int(text)


def _refused(where: str, seen: str, allowed: str) -> Refused:
    remedy = "Mend the file and pin it again, or name another field."
    return Refused(
        Finding(field=f"workload.file: {where}", seen=seen, allowed=allowed, remedy=remedy)
    )
