"""What an interface keeps between requests: four items by version, and no answer borrowed from a namesake."""

from pathlib import Path

import pytest

from experiments.changes.interfaces import FOLDER, interfaces, load, semantics
from experiments.changes.vocabulary import SessionItem
from experiments.errors import Refusal

ENGINES = sorted(path.stem for path in FOLDER.glob("*.yaml"))
RESPONSES = "POST /v1/responses"


@pytest.mark.req("6.18")
@pytest.mark.parametrize("engine", ENGINES)
def test_every_interface_answers_four_items_or_says_that_nothing_shows_them(engine: str) -> None:
    for record in interfaces(engine):
        assert list(record.items) == list(SessionItem)
        for item, answer in record.items.items():
            assert ("not evidenced" in record.said(item)) == (answer is None)


@pytest.mark.req("6.19")
def test_an_answer_carries_the_version_that_it_was_read_for() -> None:
    record = next(r for r in interfaces("vllm") if r.name == RESPONSES)

    assert record.said(SessionItem.restart).startswith("POST /v1/responses of vllm 0.32.0: nothing")


@pytest.mark.req("6.19")
def test_two_interfaces_of_one_name_keep_different_things() -> None:
    chat = {
        e: next(r for r in interfaces(e) if "chat" in r.name) for e in ("vllm", "sglang", "torch")
    }

    cancels = {e: r.items[SessionItem.cancel] for e, r in chat.items()}
    assert len({a.text for a in cancels.values() if a}) == 3


@pytest.mark.req("6.19")
@pytest.mark.forbids
def test_a_namesake_does_not_answer_for_another_engine() -> None:
    records = {e: next(r for r in interfaces(e) if "chat" in r.name) for e in ("vllm", "torch")}

    with pytest.raises(Refusal) as refused:
        semantics(records, SessionItem.restart, of="vllm")

    (finding,) = refused.value.findings
    assert "vllm 0.32.0, what survives a restart: not evidenced" in finding.seen
    assert "known of POST /v1/chat/completions of torch 2.13.0" in finding.seen
    assert semantics(records, SessionItem.restart, of="torch").reading == "body"


@pytest.mark.req("6.18")
@pytest.mark.parametrize(
    ("line", "instead", "field"),
    [
        ("    what survives a restart: null\n", "", "what survives a restart"),
        ("      reading: run\n", "      reading: hearsay\n", "reading"),
    ],
)
def test_an_item_left_out_or_read_nowhere_is_refused(
    line: str, instead: str, field: str, tmp_path: Path
) -> None:
    text = (FOLDER / "vllm.yaml").read_text(encoding="utf-8")
    assert line in text
    path = tmp_path / "vllm.yaml"
    path.write_text(text.replace(line, instead, 1), encoding="utf-8")

    with pytest.raises(Refusal) as refused:
        load(path)

    assert refused.value.findings[0].field.endswith(field)
