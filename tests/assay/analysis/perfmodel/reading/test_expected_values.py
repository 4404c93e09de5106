"""Every configuration on disk against values computed elsewhere from the same files."""

from functools import cache

import pytest

from assay.analysis.perfmodel.mixers.mixer import StoredAs
from assay.analysis.perfmodel.precision import dtype
from assay.analysis.perfmodel.quantization.declared import Declared, declared_formats
from assay.analysis.perfmodel.reading.reader import read_structure
from assay.analysis.perfmodel.state import (
    StateClass,
    recurrent_answers,
    state_bytes,
    state_classes,
)
from assay.analysis.perfmodel.structure import Structure
from assay.analysis.perfmodel.weights import count_parameters, weight_bytes
from tests.assay.analysis.perfmodel.structures import CONFIGS, companion, config, expected

EXPECTED = expected()
NAMES = sorted(EXPECTED)
# Where the other count leaves tensors out that the checkpoint has. Gemma 4 26B: its norms over the residual
# stream (7 a layer and the final one, 211 x 2816), the router's scales (30 x (2816 + 128)) and 30 layer
# scalars: 594,176 + 88,320 + 30.
LEFT_OUT = {"google__gemma-4-26B-A4B": 211 * 2816 + 30 * (2816 + 128) + 30}
TABLES = ("total", "without_input_embedding")
ACTIVE = ("active_all", "active_without_input_embedding", "active_without_both_embeddings")


@cache
def structure_of(name: str) -> Structure:
    return read_structure(config(name))


@cache
def declared_of(name: str) -> Declared:
    return declared_formats(
        structure_of(name),
        config(name),
        companion=companion(name),
        weight_dtype=None,
        kv_dtype=None,
    )


def classes_of(name: str) -> list[StateClass]:
    return state_classes(structure_of(name), kv_dtype=declared_of(name).kv_dtype)


def having(part: str, field: str) -> list[str]:
    return [name for name in NAMES if field in EXPECTED[name].get(part, {})]


def test_every_configuration_on_disk_is_accounted_for() -> None:
    names = {p.stem for p in CONFIGS.glob("*.json") if not p.stem.endswith(".hf_quant_config")}

    assert names == set(NAMES)


@pytest.mark.req("10.14", "10.15", "10.22")
@pytest.mark.parametrize("name", NAMES)
def test_state_that_grows_without_bound(name: str) -> None:
    wanted = EXPECTED[name]["state"]
    grows = [c for c in classes_of(name) if c.in_total and c.growth == "linear"]

    assert sum(c.bytes_per_token for c in grows) == wanted["bytes_per_token_unbounded"]
    assert declared_of(name).kv_dtype == dtype(wanted["cache_dtype"], field="expected")


@pytest.mark.req("10.36")
@pytest.mark.parametrize("name", having("state", "bounded"))
def test_state_that_a_window_bounds(name: str) -> None:
    state = EXPECTED[name]["state"]
    (wanted,) = state["bounded"]
    (bounded,) = [c for c in classes_of(name) if c.growth == "bounded"]
    filling = sum(c.bytes_per_token for c in classes_of(name))

    assert bounded.layers == wanted["layers"]
    assert bounded.cap_tokens == wanted["window_tokens"]
    assert bounded.bytes_per_token == wanted["layers"] * wanted["bytes_per_token_per_layer"]
    assert bounded.resident_bytes(10**9) == wanted["cap_bytes"]
    assert filling == state["bytes_per_token_while_all_windows_fill"]


@pytest.mark.req("10.20")
@pytest.mark.parametrize("name", having("state", "constant_per_sequence"))
def test_state_that_no_length_changes(name: str) -> None:
    wanted = EXPECTED[name]["state"]["constant_per_sequence"]
    by_part = {c.part.stored_as: c for c in classes_of(name)}
    recurrent, convolution = by_part[StoredAs.RECURRENT], by_part.get(StoredAs.CONVOLUTION)

    assert recurrent.layers == wanted["layers"]
    assert recurrent.part.constant == wanted["recurrent_elements_per_layer"]
    columns = 0 if convolution is None else convolution.part.constant
    assert columns == wanted["conv_elements_per_layer"]


@pytest.mark.req("10.20")
@pytest.mark.parametrize("name", having("state", "constant_per_sequence"))
def test_recurrent_state_has_one_answer_when_declared_and_two_labelled_ones_when_not(
    name: str,
) -> None:
    wanted, structure = EXPECTED[name]["state"]["constant_per_sequence"], structure_of(name)
    kv = declared_of(name).kv_dtype

    sizes = {}
    for label, element in recurrent_answers(structure).items():
        classes = state_classes(structure, kv_dtype=kv, recurrent_dtype=element)
        sizes[label] = sum(c.constant_bytes for c in classes)

    if wanted["recurrent_dtype"] == "undeclared":
        assert sizes == {
            "undeclared, if float32": wanted["bytes_if_float32"],
            "undeclared, if bfloat16": wanted["bytes_if_16bit"],
        }
    else:
        assert structure.recurrent_dtype == wanted["recurrent_dtype"]
        assert sizes == {"declared": wanted["bytes"]}


@pytest.mark.req("10.36", "10.15")
@pytest.mark.parametrize("name", NAMES)
def test_state_of_one_sequence_at_three_lengths(name: str) -> None:
    structure, kv = structure_of(name), declared_of(name).kv_dtype

    for key, wanted in EXPECTED[name]["state"]["total_bytes_per_sequence_at_tokens"].items():
        tokens, _, condition = str(key).partition("_recurrent_")
        element = {"": None, "float32": "float32", "16bit": "bfloat16"}[condition]
        size = state_bytes(structure, tokens=int(tokens), kv_dtype=kv, recurrent_dtype=element)
        assert size == wanted, key


@pytest.mark.req("10.23")
@pytest.mark.parametrize("name", [name for name in NAMES if "parameters" in EXPECTED[name]])
def test_parameters_in_all_and_active_in_each_of_the_three_senses(name: str) -> None:
    wanted, counts = EXPECTED[name]["parameters"], count_parameters(structure_of(name))
    more = LEFT_OUT.get(name, 0)

    for field in (*TABLES, *ACTIVE):
        if field in wanted:
            assert getattr(counts, field) == wanted[field] + more, field
    assert counts.per_routed_expert == wanted.get("parameters_per_routed_expert")


@pytest.mark.parametrize("name", having("parameters", "published_total"))
def test_published_counts_are_as_far_away_as_stated(name: str) -> None:
    wanted, counts = EXPECTED[name]["parameters"], count_parameters(structure_of(name))
    senses = [("total", "published_total", "difference_pct")]
    if "published_active_matches" in wanted:
        senses.append(
            (wanted["published_active_matches"], "published_active", "active_difference_pct")
        )

    for own, published, difference in senses:
        off = 100 * (getattr(counts, own) / wanted[published] - 1)
        # stated to a hundredth; what LEFT_OUT adds to an active count is less than two of them
        assert off == pytest.approx(wanted[difference], abs=0.03 if name in LEFT_OUT else 0.0051)


@pytest.mark.parametrize("name", [name for name in NAMES if "weight_bytes" in EXPECTED[name]])
def test_weight_bytes_equal_the_published_files(name: str) -> None:
    size = weight_bytes(structure_of(name), declared_of(name).weights)

    assert size == EXPECTED[name]["weight_bytes"]
