"""Count the inputs that were made while the run went, by pinned template and tokenizer, after the drive.

A request that holds replies of its own run has no token count in the plan. Here each gets its expanded text,
token ids, their hash, and its history tokens: what it takes beyond its last message alone.
"""

import hashlib
import json
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from runners.artifacts.chat_template import TemplateProblem
from runners.artifacts.input_encoder import InputEncoder
from runners.evidence.artifact import encoder_of
from runners.protocol import layout
from runners.protocol.documents import Gap
from runners.protocol.errors import RunnerError
from runners.protocol.tables import SENT_INPUTS


def count_sent_inputs(
    bundle: Path, artifact: Mapping[str, Any], files: Mapping[str, str], *, keeps_content: bool
) -> list[Gap]:
    """Fill the counted columns of ``sent_inputs.parquet``; doing it twice changes nothing.

    Without content to be kept, messages and token ids go once they are counted.
    """
    path = bundle / layout.SENT_INPUTS
    if not path.is_file():
        return []
    rows = pq.read_table(path, schema=SENT_INPUTS).to_pylist()
    problem = _count_all(rows, artifact, files)
    if not keeps_content:
        rows = [{**row, "messages": None, "expanded": None, "token_ids": None} for row in rows]
    part = path.with_name(path.name + ".part")
    pq.write_table(pa.Table.from_pylist(rows, schema=SENT_INPUTS), part, compression="zstd")
    part.replace(path)
    uncounted = sum(row["input_tokens"] is None for row in rows)
    if not uncounted:
        return []
    return [
        Gap(
            what=f"{uncounted} of {len(rows)} inputs made while the run went have no token count: {problem}",
            affects="history tokens and input tokens of these requests",
            needed="an artifact whose template and tokenizer can be applied to exactly these messages",
            state="open",
        )
    ]


def _count_all(
    rows: list[dict[str, Any]], artifact: Mapping[str, Any], files: Mapping[str, str]
) -> str:
    """Counts what can be counted; the last reason why something could not."""
    if not files:
        return "the artifact's files are not on this machine"
    try:
        encoder = encoder_of(artifact, {name: Path(path) for name, path in files.items()})
    except (RunnerError, KeyError, OSError) as error:
        return f"{type(error).__name__}: {error}"
    problem = ""
    for row in rows:
        if row["messages"] is None or row["input_tokens"] is not None:
            continue
        messages = json.loads(row["messages"])
        if not all(_is_text(message) for message in messages):
            problem = "its messages hold media or tool calls, which the server expands"
            continue
        try:
            row.update(_counted(encoder, messages))
        except TemplateProblem as error:
            problem = f"the template: {error}"
    return problem


def _is_text(message: Mapping[str, Any]) -> bool:
    return isinstance(message.get("content"), str) and "tool_calls" not in message


def _counted(encoder: InputEncoder, messages: list[dict[str, Any]]) -> dict[str, Any]:
    expanded = encoder.render(messages)
    ids = encoder.encode(expanded)
    alone = encoder.encode(encoder.render(messages[-1:]))
    return {
        "expanded": expanded,
        "token_ids": ids,
        "input_sha256": hashlib.sha256(struct.pack(f"<{len(ids)}i", *ids)).hexdigest(),
        "input_tokens": len(ids),
        "history_tokens": len(ids) - len(alone),
    }
