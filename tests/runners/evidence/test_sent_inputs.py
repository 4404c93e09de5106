"""Inputs made while the run went are counted afterwards, or the bundle says why they are not."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from runners.evidence.sent_inputs import count_sent_inputs
from runners.protocol import layout
from runners.protocol.tables import SENT_INPUTS
from tests.experiments.declarations import example
from tests.runners.artifacts import real

TALK = [
    {"role": "user", "content": "hello there"},
    {"role": "assistant", "content": "hi"},
    {"role": "user", "content": "again"},
]
FILES = {real.NAME: str(real.path())}


def bundle(folder: Path, *messages: list[dict[str, Any]]) -> Path:
    rows = [{"request_id": f"r-{n}", "messages": json.dumps(one)} for n, one in enumerate(messages)]
    pq.write_table(pa.Table.from_pylist(rows, schema=SENT_INPUTS), folder / layout.SENT_INPUTS)
    return folder


def rows(folder: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = pq.read_table(folder / layout.SENT_INPUTS).to_pylist()
    return found


@pytest.mark.parametrize("keeps_content", [True, False])
def test_counts_stay_whether_or_not_the_content_is_kept(
    tmp_path: Path, keeps_content: bool
) -> None:
    folder = bundle(tmp_path, TALK)

    for _ in range(2):  # a sealing that was interrupted does it again
        gaps = count_sent_inputs(folder, example()["artifact"], FILES, keeps_content=keeps_content)

    encoder = real.encoder()
    ids, alone = (encoder.encode(encoder.render(m)) for m in (TALK, TALK[-1:]))
    [row] = rows(folder)
    assert gaps == []
    assert row["input_tokens"] == len(ids)
    assert row["history_tokens"] == len(ids) - len(alone)
    assert row["token_ids"] == (ids if keeps_content else None)
    assert (row["messages"] is not None) == keeps_content


@pytest.mark.parametrize(
    ("messages", "files", "reason"),
    [
        (TALK, {}, "the artifact's files are not on this machine"),
        (TALK, {real.NAME: "/nowhere/model.gguf"}, "model.gguf"),
        (
            [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "x"}}]}],
            FILES,
            "its messages hold media or tool calls, which the server expands",
        ),
    ],
)
def test_what_cannot_be_counted_is_a_gap_with_its_reason(
    tmp_path: Path, messages: list[dict[str, Any]], files: dict[str, str], reason: str
) -> None:
    folder = bundle(tmp_path, messages)

    [gap] = count_sent_inputs(folder, example()["artifact"], files, keeps_content=True)

    assert gap["what"].startswith("1 of 1 inputs made while the run went have no token count: ")
    assert reason in gap["what"]
    assert rows(folder)[0]["input_tokens"] is None


def test_a_bundle_without_such_inputs_gets_no_table(tmp_path: Path) -> None:
    assert count_sent_inputs(tmp_path, example()["artifact"], FILES, keeps_content=True) == []
    assert not list(tmp_path.iterdir())
