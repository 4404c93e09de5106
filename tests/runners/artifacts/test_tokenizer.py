"""The tokenizer is rebuilt from the pinned file, and anything that changes its output changes its hash."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from experiments.compose import compose
from runners.artifacts import gguf_header, tokenizer
from runners.artifacts.gguf_header import GgufHeader
from runners.artifacts.tokenizer import TokenizerProblem
from runners.load.materialise import materialise
from tests.runners.artifacts import real, tiny


@pytest.fixture(scope="module")
def header(tmp_path_factory: pytest.TempPathFactory) -> GgufHeader:
    path = tmp_path_factory.mktemp("gguf") / tiny.FILE
    tiny.write(path)
    return gguf_header.read(path)


def with_metadata(header: GgufHeader, **changes: Any) -> GgufHeader:
    metadata = {**header.metadata, **{f"tokenizer.ggml.{k}": v for k, v in changes.items()}}
    return replace(header, metadata=metadata)


@pytest.mark.req("5.09")
def test_the_real_tokenizer_is_the_declared_one() -> None:
    found = real.encoder().tokenizer
    declared = compose(["study=smollm2_torch"]).document["artifact"]["tokenizer"]

    assert found.sha256 == declared["sha256"]
    assert found.vocabulary == declared["vocabulary"] == 49152
    assert dict(found.special_tokens) == declared["special_tokens"]
    assert found.named_ids == {"bos": 1, "eos": 2, "unknown": 0, "padding": 2}


def test_special_tokens_are_recognised_and_none_is_added() -> None:
    ids = real.encoder().encode("<|im_start|>user\nHello<|im_end|>")

    assert ids == [1, 4093, 198, 19556, 2]


def test_each_digit_is_split_from_the_spaces_before_it() -> None:
    # smollm splits digits first, so the two spaces stay together: [104, 256, 33, 34] = x, two spaces, 1, 2
    assert real.encoder().encode("x  12") == [104, 256, 33, 34]


@pytest.mark.req("5.09")
def test_a_moved_merge_is_another_tokenizer(header: GgufHeader) -> None:
    merges = list(header.metadata["tokenizer.ggml.merges"])
    merges[0], merges[1] = merges[1], merges[0]

    other = tokenizer.from_gguf(with_metadata(header, merges=merges))

    assert other.sha256 != tokenizer.from_gguf(header).sha256


@pytest.mark.parametrize(
    "change",
    [
        {"pre": "gpt-2"},
        {"token_type": [1] * 600},
        {"eos_token_id": 1},
        {"add_bos_token": True},
        {"add_space_prefix": True},
    ],
)
def test_every_rule_is_part_of_the_identity(header: GgufHeader, change: dict[str, Any]) -> None:
    assert tokenizer.from_gguf(with_metadata(header, **change)).sha256 != (
        tokenizer.from_gguf(header).sha256
    )


@pytest.mark.parametrize(
    ("change", "reason"),
    [({"model": "llama"}, "byte-level BPE"), ({"pre": "qwen2"}, "known are smollm, gpt-2")],
)
def test_a_tokenizer_that_cannot_be_rebuilt_exactly_is_refused(
    header: GgufHeader, change: dict[str, Any], reason: str
) -> None:
    with pytest.raises(TokenizerProblem, match=reason):
        tokenizer.from_gguf(with_metadata(header, **change))


def test_text_goes_to_ids_and_back(header: GgufHeader) -> None:
    found = tokenizer.from_gguf(header)
    text = "apple bread é 漢 12\n"

    assert found.engine.decode(found.encode(text), skip_special_tokens=False) == text
    assert len(found.encode("apple bread")) == 2


def test_a_tokenizer_file_is_read_with_its_rules(header: GgufHeader, tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    from_gguf = tokenizer.from_gguf(header)
    from_gguf.engine.save(str(path))

    found = tokenizer.from_file(path)

    assert found.encode("apple bread<|end|>") == from_gguf.encode("apple bread<|end|>")
    assert found.vocabulary == from_gguf.vocabulary
    assert dict(found.special_tokens) == dict(from_gguf.special_tokens)
    assert found.pre_tokenization == "Digits, ByteLevel"


def test_a_changed_tokenizer_file_is_another_tokenizer(header: GgufHeader, tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    tokenizer.from_gguf(header).engine.save(str(path))
    before = tokenizer.from_file(path).sha256
    document = json.loads(path.read_text(encoding="utf-8"))
    document["normalizer"] = {"type": "NFC"}
    path.write_text(json.dumps(document), encoding="utf-8")

    assert tokenizer.from_file(path).sha256 != before


def test_a_broken_tokenizer_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    path.write_text("{}", encoding="utf-8")

    with pytest.raises(TokenizerProblem, match=r"no tokenizer\.json"):
        tokenizer.from_file(path)


@pytest.mark.engine
@pytest.mark.slow
@pytest.mark.req("5.12")
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
def test_prompts_and_counts_equal_those_of_transformers() -> None:
    from transformers import AutoTokenizer

    encoder = real.encoder()
    document = compose(["study=smollm2_torch"]).document
    plan = materialise(document, encoder, tokenizer_sha256="unused", chat_template_sha256="unused")
    theirs: Any = AutoTokenizer.from_pretrained(str(real.path().parent), gguf_file=real.NAME)
    conversations = [json.loads(p["messages"]) for p in plan.prompts]
    conversations.append(
        [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "What is 3 + 4?\nAnswer <b>now</b> & here: é 漢字"},
            {"role": "assistant", "content": "7"},
            {"role": "user", "content": "And 12 times 12?"},
        ]
    )

    for messages in conversations:
        text = theirs.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
        ids = theirs.apply_chat_template(messages, tokenize=True, add_generation_prompt=True)
        assert encoder.render(messages) == text
        assert encoder.encode(text) == list(ids["input_ids"])
