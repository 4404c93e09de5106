"""Models by their configurations: what a page says is what the model of performance computes."""

import csv
import io
import json

import pytest
from django.test import Client
from django.urls import reverse

from assay.archive.model_configs import SHIPPED
from assay.archive.paths import Home
from assay.pages.contexts.fits import fits_page
from assay.pages.contexts.known_models import Executed, known_model
from assay.pages.contexts.model import model_page
from tests.assay.pages.conftest import page

LLAMA = "meta-llama__Llama-3.1-8B"
LOAD = {
    "device": "H100-SXM",
    "batch": 4,
    "context": 8192,
    "tp": 1,
    "pp": 1,
    "ep": 1,
    "dp": 1,
    "weight_dtype": None,
    "kv_dtype": None,
}

pytestmark = pytest.mark.usefixtures("assay_home")


def test_every_shipped_model_is_listed_and_read(somebody: Client) -> None:
    text = page(somebody, reverse("models"))

    slugs = {p.stem for p in SHIPPED.glob("*.json") if "hf_quant_config" not in p.stem}
    assert len(slugs) >= 50
    for slug in slugs:
        assert f'href="/models/{slug}"' in text
    assert "not read" not in text


def test_words_narrow_the_list(somebody: Client) -> None:
    text = page(somebody, reverse("models") + "?q=qwen+delta")

    assert "Qwen3-Next-80B-A3B-Instruct" in text
    assert "Llama-3.1-8B" not in text


def test_a_models_page_states_its_bytes(somebody: Client) -> None:
    text = page(somebody, reverse("model", args=[LLAMA]) + "?context=4096&batch=1&device=H100-SXM")

    # 32 layers x 8 heads x (128 + 128) x 2 byte = 131072 byte a token; x 4096 = 512 MiB
    assert "536870912 byte" in text
    assert "8030261248" in text


@pytest.mark.req("13.29")
def test_the_table_that_redraws_a_figure_holds_m_flops_bytes_and_roof(somebody: Client) -> None:
    url = reverse("model", args=[LLAMA])

    response = somebody.get(f"{url}?table=crossover&format=csv&batch=2")

    rows = list(csv.DictReader(io.StringIO(b"".join(response).decode())))
    assert {"m_rows (row)", "flops (FLOP)", "bytes (byte)", "roof_flops_per_s (FLOP/s)"} <= set(
        rows[0]
    )
    at_4096 = next(r for r in rows if r["context_tokens (token)"] == "4096")
    # state of two sequences: 2 x (4096 read + 1 written) x 131072 byte
    assert int(at_4096["state_bytes (byte)"]) == 2 * 4097 * 131072


def test_curves_drawn_from_formulas_say_so(somebody: Client) -> None:
    assert "drawn from formulas" in page(somebody, reverse("model", args=[LLAMA]))


def test_a_layout_that_the_model_cannot_take_is_refused_by_name(somebody: Client) -> None:
    text = page(somebody, reverse("model", args=[LLAMA]) + "?tp=3")

    assert "Refused" in text
    assert "32 query heads over 3 ranks" in text


def test_a_wrong_number_is_named_and_the_page_still_answers(somebody: Client) -> None:
    text = page(somebody, reverse("model", args=[LLAMA]) + "?batch=-1")

    assert "greater than or equal to 1" in text
    assert "At this load" in text


@pytest.mark.forbids
@pytest.mark.req("10.16")
def test_without_evidence_the_columns_of_back_end_and_measurement_stay_empty() -> None:
    made = model_page(known_model(LLAMA, Executed()), LOAD)

    assert made.answer is not None
    [entry] = made.answer["state"]["entries"]
    assert entry["logical"]["bytes"] == 8192 * 131072
    assert (entry["layout"]["bytes"], entry["measured"]["bytes"]) == (None, None)


def test_what_fits_counts_sequences_beside_the_weights() -> None:
    made = fits_page(LOAD, wanted="Llama-3.1-8B")

    row = next(r for r in made.rows if r.slug == LLAMA)
    # 24 GB: 24e9 - 16060522496 byte of weights leaves 7939477504 byte, 7 x 8192 x 131072 of them
    small = next(i for i, s in enumerate(made.sizes) if s.memory_bytes == 24_000_000_000)
    assert row.weights == 16060522496
    assert row.cells[small].sequences == 7
    assert row.cells[small].verdict == "fits"


@pytest.mark.forbids
def test_a_thin_margin_is_not_called_a_refusal() -> None:
    # Mistral-Nemo: 24495564800 byte of weights and 4 x 8192 x 163840 of state are 29864273920 byte
    made = fits_page(LOAD, wanted="Mistral-Nemo")

    large = next(i for i, s in enumerate(made.sizes) if s.memory_bytes == 32_000_000_000)
    assert made.rows[0].cells[large].verdict == "thin"


def test_a_file_of_ones_own_is_read_and_a_broken_one_is_named(
    assay_home: Home, somebody: Client
) -> None:
    assay_home.models.mkdir(parents=True)
    config = json.loads((SHIPPED / f"{LLAMA}.json").read_bytes())
    (assay_home.models / "me__Mine.json").write_text(json.dumps(config))
    (assay_home.models / "me__Odd.json").write_text(json.dumps(config | {"novel_experts": 7}))
    (assay_home.models / "me__Broken.json").write_text("{")

    text = page(somebody, reverse("models"))

    assert "me/Mine" in text
    assert "novel_experts" in text
    assert "me__Broken.json" in text
    assert page(somebody, reverse("model", args=["me__Broken"])).count("Refused") == 1


def test_a_model_that_is_not_there_is_404(somebody: Client) -> None:
    page(somebody, "/models/nobody__nothing", status=404)
    page(somebody, reverse("model", args=[LLAMA]) + "?table=other", status=404)
