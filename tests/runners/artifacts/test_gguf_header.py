"""A GGUF header is read whole or refused with the reason; counts in the file are never believed."""

import struct
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from runners.artifacts import gguf_header
from runners.artifacts.gguf_header import GgufError
from tests.runners.artifacts import tiny


@pytest.fixture(scope="module")
def tiny_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("gguf") / tiny.FILE
    tiny.write(path)
    return path


def test_metadata_and_tensors_are_what_the_gguf_package_wrote(tiny_file: Path) -> None:
    header = gguf_header.read(tiny_file)

    assert header.metadata["llama.attention.head_count_kv"] == tiny.KV_HEADS
    assert header.metadata["llama.rope.freq_base"] == 10000.0
    assert header.metadata["tokenizer.ggml.tokens"][:3] == list(tiny.SPECIAL)
    assert header.metadata["tokenizer.ggml.token_type"][:4] == [3, 3, 3, 1]
    by_name = {t.name: t for t in header.tensors}
    assert by_name["blk.0.attn_norm.weight"].dtype == "F32"
    # Q4_0: 64 x 64 elements in blocks of 32, each 2 bytes of scale and 16 of values: 128 x 18
    assert by_name["blk.0.attn_q.weight"].bytes == 128 * 18
    assert by_name["blk.0.attn_q.weight"].dtype == "Q4_0"


def test_offsets_agree_with_the_gguf_package(tiny_file: Path) -> None:
    import gguf

    theirs = {t.name: int(t.data_offset) for t in gguf.GGUFReader(tiny_file).tensors}

    header = gguf_header.read(tiny_file)

    assert {t.name: header.data_start + t.offset for t in header.tensors} == theirs


@pytest.mark.parametrize("keep", [0, 3, 8, 23, 24, 100, 1000, 5000])
def test_a_file_that_ends_early_is_refused(tiny_file: Path, tmp_path: Path, keep: int) -> None:
    cut = tmp_path / "cut.gguf"
    cut.write_bytes(tiny_file.read_bytes()[:keep])

    with pytest.raises(GgufError):
        gguf_header.read(cut)


def test_a_file_without_its_last_weights_is_refused(tiny_file: Path, tmp_path: Path) -> None:
    cut = tmp_path / "cut.gguf"
    cut.write_bytes(tiny_file.read_bytes()[:-300])

    with pytest.raises(GgufError, match="before the end of blk"):
        gguf_header.read(cut)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"GGML" + bytes(40), "starts with"),
        (struct.pack("<4sI", b"GGUF", 1) + bytes(40), "version 1"),
        (struct.pack("<4sIQQ", b"GGUF", 3, 0, 2**60), "in the middle of its header"),
        (struct.pack("<4sIQQ", b"GGUF", 3, 2**60, 0), "in the middle of its header"),
        (
            struct.pack("<4sIQQQ1sIIQ", b"GGUF", 3, 0, 1, 1, b"k", 9, 4, 2**60),
            "an array of 1152921504606846976 elements",
        ),
        (struct.pack("<4sIQQQ1sI", b"GGUF", 3, 0, 1, 1, b"k", 99), "unknown type 99"),
        (struct.pack("<4sIQQQ2sI", b"GGUF", 3, 0, 1, 2, b"\xff\xfe", 4), "not UTF-8"),
    ],
)
def test_counts_and_types_that_cannot_be_are_refused(
    tmp_path: Path, content: bytes, reason: str
) -> None:
    path = tmp_path / "bad.gguf"
    path.write_bytes(content)

    with pytest.raises(GgufError, match=reason):
        gguf_header.read(path)


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(content=st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "any.gguf"
    path.write_bytes(b"GGUF\x03\x00\x00\x00" + content)

    try:
        header = gguf_header.read(path)
    except GgufError:
        return
    assert header.file_bytes == len(content) + 8
