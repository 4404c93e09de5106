"""A run is recorded, then replayed in a second run: the same bytes at the same distances, no more."""

import asyncio
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from runners.protocol import layout, manifest
from tests.runners.engines.openai_endpoint import declared
from tests.runners.engines.openai_endpoint.performed import Performed, perform
from tests.runners.engines.replay.declared import spec
from tests.runners.load.elsewhere import an_endpoint, served
from tests.runners.load.servers import DONE, HEAD_CHUNKED, LAST_CHUNK, Exchange, chunk, event

pytestmark = pytest.mark.slow

GAPS_S = (0.05, 0.08, 0.02)


async def _paced(exchange: Exchange) -> None:
    await exchange.send(HEAD_CHUNKED)
    for number, gap in enumerate(GAPS_S):
        await asyncio.sleep(gap)
        await exchange.send(chunk(event(f"w{number} ")))
    await exchange.send(chunk(DONE) + LAST_CHUNK)


async def _cut(exchange: Exchange) -> None:
    await exchange.send(HEAD_CHUNKED)
    await exchange.send(chunk(event("half")))
    await asyncio.sleep(0.05)
    exchange.reset()


def _recorded(folder: Path, behaviour: Any) -> Performed:
    with served(an_endpoint(behaviour)) as server:
        return perform(declared.spec(server.url), folder)


def _replay(recorded: Performed, folder: Path, **changed: Any) -> Performed:
    document = spec(recorded.bundle, manifest.verify(recorded.bundle).bundle_digest or "")
    document["engine"]["settings"] |= changed
    return perform(document, folder, roots=(recorded.bundle.parent,))


def _bytes_and_offsets(
    done: Performed, *, since: Callable[[Mapping[str, Any]], int]
) -> dict[str, tuple[bytes, float]]:
    """By request: all bytes of the reply, and ms to the last of them since an instant of the attempt."""
    attempts = pq.read_table(done.bundle / layout.ATTEMPTS).to_pylist()
    reads: dict[str, list[Mapping[str, Any]]] = {}
    for path in (done.bundle / layout.WIRE_FOLDER).glob("*.parquet"):
        for row in pq.read_table(path).to_pylist():
            reads.setdefault(row["attempt_id"], []).append(row)
    return {
        _prompt(done, attempt["request_id"]): (
            b"".join(r["data"] for r in reads[attempt["attempt_id"]]),
            (max(r["t_ns"] for r in reads[attempt["attempt_id"]]) - since(attempt)) / 1e6,
        )
        for attempt in attempts
    }


def _sent(attempt: Mapping[str, Any]) -> int:
    """After the write: what a recording's distances are counted from."""
    return int(attempt["sent_ns"])


def _before_the_write(attempt: Mapping[str, Any]) -> int:
    """No server can have read the request by then; by ``sent_ns`` it may, if its client lost the CPU."""
    return int(attempt["created_ns"])


def _prompt(done: Performed, request: str) -> str:
    plan = pq.read_table(done.bundle / layout.PLAN).to_pylist()
    return str(next(row["prompt_ref"] for row in plan if row["request_id"] == request))


def test_the_same_bytes_come_again_at_their_recorded_times(tmp_path: Path) -> None:
    first = tmp_path / "first"
    first.mkdir()
    recorded = _recorded(first, _paced)
    again = tmp_path / "again"
    again.mkdir()

    done = _replay(recorded, again)

    assert (done.code, done.answer["state"]) == (0, "sealed"), done.errors
    before = _bytes_and_offsets(recorded, since=_sent)
    after = _bytes_and_offsets(done, since=_before_the_write)
    assert {k: v[0] for k, v in before.items()} == {k: v[0] for k, v in after.items()}
    for prompt, (_, offset_ms) in before.items():
        # the replay may be late by what the machine takes, never early
        assert after[prompt][1] >= offset_ms - 1
    # 0.05 + 0.08 + 0.02 s at least were recorded
    paced = _bytes_and_offsets(recorded, since=_before_the_write)
    assert all(offset_ms >= 150 for _, offset_ms in paced.values())


def test_a_replay_is_no_measurement_of_a_model(tmp_path: Path) -> None:
    first = tmp_path / "first"
    first.mkdir()
    recorded = _recorded(first, _paced)
    again = tmp_path / "again"
    again.mkdir()

    done = _replay(recorded, again, speed=4.0)

    assert manifest.read(done.bundle)["level"] == "E0"
    points = done.document(layout.OBSERVATION)["points"]
    assert {p["level"] for p in points if p["point"] in ("client_socket", "engine_log")} == {"E0"}
    items = {item["item"]: item for item in done.document(layout.IDENTITY)["run"]}
    assert items["engine_version"]["ran"]["version"] == "1.0.0"
    assert [i for i, item in items.items() if item["ran"] is not None] == ["engine_version"]
    info = json.loads((done.bundle / layout.SERVER_INFO).read_bytes())
    assert info["recorded"]["run_id"] == manifest.read(recorded.bundle)["run_id"]


def test_a_stream_that_was_cut_is_cut_again(tmp_path: Path) -> None:
    first = tmp_path / "first"
    first.mkdir()
    recorded = _recorded(first, _cut)
    again = tmp_path / "again"
    again.mkdir()

    done = _replay(recorded, again)

    ends = [pq.read_table(d.bundle / layout.ATTEMPTS)["end"].to_pylist() for d in (recorded, done)]
    assert ends[0] == ends[1]
    assert set(ends[0]) == {"error"}
    for data, _ in _bytes_and_offsets(done, since=_sent).values():
        assert b"half" in data
        assert b"[DONE]" not in data


@pytest.mark.forbids
def test_a_changed_or_another_bundle_is_not_served(tmp_path: Path) -> None:
    first = tmp_path / "first"
    first.mkdir()
    recorded = _recorded(first, _paced)
    attempts = recorded.bundle / layout.ATTEMPTS
    folders = []
    for name in ("another", "changed"):
        folders.append(tmp_path / name)
        folders[-1].mkdir()
    another = _replay(recorded, folders[0], bundle_digest="0" * 64)
    attempts.write_bytes(attempts.read_bytes() + b" ")

    changed = _replay(recorded, folders[1])

    for done, words in ((another, "engine.settings.bundle_digest"), (changed, "attempts.parquet")):
        assert (done.code, done.answer["state"]) == (1, "failed")
        assert words in (done.bundle / layout.ENGINE_LOG).read_text()


@pytest.mark.forbids
def test_a_bundle_outside_the_allowed_roots_is_refused(tmp_path: Path) -> None:
    done = perform(spec(tmp_path / "anywhere"), tmp_path)

    assert done.code == 2
    assert [f["field"] for f in done.answer["findings"]] == ["engine.settings.bundle"]
    assert not done.out.exists()
