"""Evidence of one memory layer is none of another."""

import pytest

from assay.analysis.errors import ClaimRefused
from assay.analysis.memory_layers import Layer, memory_layers, reuse_shown
from assay.analysis.wire.attempt import Attempt
from tests.assay.analysis import streams


def reply(cached: int | None) -> Attempt:
    details = "" if cached is None else f',"prompt_tokens_details":{{"cached_tokens":{cached}}}'
    usage = (
        f'data: {{"choices":[],"usage":{{"prompt_tokens":9,"completion_tokens":1{details}}}}}\n\n'
    )
    return streams.reply((1, streams.delta("a", finish="stop") + usage + streams.DONE))


@pytest.mark.req("6.14")
def test_cached_tokens_show_the_prefix_cache_and_nothing_else() -> None:
    found = memory_layers([reply(4), reply(0), reply(None)], context_location="client")

    assert [r["layer"] for r in found] == list(Layer)
    # 4 + 0 tokens in the two replies that say so, one of them a hit
    assert reuse_shown(found, Layer.prefix_cache) == (
        "cached prompt tokens in 1 of 2 replies that say so, 4 in all"
    )
    assert [r["evidence"] for r in found if r["layer"] != Layer.prefix_cache] == [None, None]


@pytest.mark.req("6.14")
@pytest.mark.forbids
@pytest.mark.parametrize("layer", [Layer.protocol_session, Layer.external_cache])
def test_a_cache_hit_is_no_evidence_of_another_layer(layer: Layer) -> None:
    found = memory_layers([reply(4)], context_location="client")

    with pytest.raises(ClaimRefused, match="evidence is of the engine prefix cache alone"):
        reuse_shown(found, layer)


@pytest.mark.req("6.14")
@pytest.mark.forbids
def test_a_declared_server_session_is_not_shown_by_its_declaration() -> None:
    found = memory_layers([reply(None)], context_location="server_session")

    assert found[0]["declared"]
    with pytest.raises(ClaimRefused, match="no observation point sees"):
        reuse_shown(found, Layer.protocol_session)


@pytest.mark.parametrize(
    ("cached", "absent"),
    [
        (None, "no reply says how many prompt tokens were cached"),
        (0, "none of 1 replies that say so had a cached prompt token"),
    ],
)
def test_why_there_is_no_evidence_of_a_prefix_cache(cached: int | None, absent: str) -> None:
    found = memory_layers([reply(cached)], context_location="kv_reuse")

    assert (found[1]["declared"], found[1]["absent"]) == (True, absent)
