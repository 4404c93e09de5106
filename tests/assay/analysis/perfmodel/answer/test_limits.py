"""Ridge batch and KV crossover of any structure: solved from its work and state, not from one closed
formula."""

from typing import Any

import pytest

from assay.analysis.perfmodel.answer.limits import kv_crossover, ridge_batch
from assay.analysis.perfmodel.feed_forward.feed_forward import (
    DenseFeedForward,
    Experts,
    FeedForward,
)
from assay.analysis.perfmodel.laws import kv_crossover_tokens
from assay.analysis.perfmodel.mixers.attention import Attention
from assay.analysis.perfmodel.mixers.latent import LatentAttention
from assay.analysis.perfmodel.mixers.lightning import LightningAttention
from assay.analysis.perfmodel.mixers.mixer import Mixer
from assay.analysis.perfmodel.mixers.span import Span
from assay.analysis.perfmodel.precision import plain
from assay.analysis.perfmodel.quantization.weight_formats import uniform
from assay.analysis.perfmodel.roofs import DeviceRoofs
from assay.analysis.perfmodel.state import state_classes
from assay.analysis.perfmodel.structure import Layer, Structure
from assay.analysis.perfmodel.work import PreparedModel, prepare
from tests.assay.analysis.perfmodel.structures import REFERENCE_7B

FULL = Attention(h=8, h_kv=2, d_k=8, d_v=8)
SLIDING = Attention(h=8, h_kv=2, d_k=8, d_v=8, span=Span.SLIDING, window=32)
LATENT = LatentAttention(h=8, q_rank=None, kv_rank=16, d_nope=8, d_rope=4, d_v=8)
EXPERTS = Experts(experts=8, chosen=2, width=64)


def model(*mixers: Mixer, feed_forward: FeedForward | None = None) -> Structure:
    part = feed_forward or DenseFeedForward(width=128)
    return Structure(
        family="test", d_model=64, vocabulary=100, tied=True, declared_dtype="bfloat16",
        recurrent_dtype="float32", layers=tuple(Layer(mixer=m, feed_forward=part) for m in mixers),
    )  # fmt: skip


def prepared(structure: Structure) -> PreparedModel:
    return prepare(
        structure,
        formats=uniform(plain("bfloat16", field="weights")),
        kv_dtype="bfloat16",
        activation_dtype="bfloat16",
    )


def roofs(ridge: float) -> DeviceRoofs:
    return DeviceRoofs(
        name="card", flops_per_s=ridge * 1e9, bandwidth_bytes_per_s=1e9, memory_level="HBM",
        memory_bytes=None, sources=(),
    )  # fmt: skip


def crossover(structure: Structure, batch: int) -> float | None:
    ready = prepared(structure)
    operators = ready.operators(ready.decode_load(batch=batch, context=0), sampled=batch)
    return kv_crossover(operators, state_classes(structure, kv_dtype="bfloat16"), batch=batch)


@pytest.mark.req("13.33")
@pytest.mark.parametrize("batch", [1, 8])
@pytest.mark.parametrize(
    "structure",
    [
        model(FULL, FULL),
        model(FULL, SLIDING, SLIDING),
        model(LATENT),
        model(LightningAttention(h=2, d_head=8), FULL),
        model(FULL, feed_forward=EXPERTS),
    ],
    ids=["full", "windows", "latent", "hybrid", "experts"],
)
def test_at_the_crossover_state_and_weights_are_read_alike(
    structure: Structure, batch: int
) -> None:
    tokens = crossover(structure, batch)
    assert tokens is not None
    ready = prepared(structure)

    operators = ready.operators(
        ready.decode_load(batch=batch, context=round(tokens)), sampled=batch
    )

    read = sum(o.state_read_bytes for o in operators)
    weights = sum(o.weight_bytes for o in operators)
    assert read == pytest.approx(weights, rel=0.02)


@pytest.mark.req("13.33")
def test_it_is_the_closed_formula_where_that_holds_and_none_where_state_stays_small() -> None:
    ready = prepared(REFERENCE_7B)
    operators = ready.operators(ready.decode_load(batch=4, context=0), sampled=4)
    weights = sum(o.weight_bytes for o in operators)
    closed = kv_crossover_tokens(
        weight_bytes=weights, layers=32, batch=4, kv_width=1024, kv_element_bytes=2
    )

    assert crossover(REFERENCE_7B, 4) == pytest.approx(closed)
    # a window of 32 tokens of 64 B never reads as much as the layer's weights
    assert crossover(model(SLIDING), 1) is None


@pytest.mark.req("13.15", "13.31")
def test_the_ridge_batch_is_the_first_one_that_reaches_the_ridge() -> None:
    found = ridge_batch(prepared(model(FULL)), roofs(20.0))

    # 2 B weights: intensity is the batch; with activations it needs more
    assert found["batch_weights_only"] == 20
    with_activations: Any = found["batch_with_activations"]
    assert with_activations > 20
    assert "not an optimal batch" in found["label"]


def test_experts_need_a_larger_batch_and_some_ridges_are_never_reached() -> None:
    dense = ridge_batch(prepared(model(FULL)), roofs(20.0))
    experts = ridge_batch(prepared(model(FULL, feed_forward=EXPERTS)), roofs(20.0))
    high = ridge_batch(prepared(model(FULL)), roofs(1000.0))

    # tokens share the matrices of attention but each expert sees a quarter of them
    assert experts["batch_weights_only"] > dense["batch_weights_only"]
    # activations cap the intensity of products this narrow
    assert high["batch_weights_only"] == 1000
    assert high["batch_with_activations"] is None
