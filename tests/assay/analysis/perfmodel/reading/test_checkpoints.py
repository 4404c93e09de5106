"""Parameters counted from a configuration against tensors that exist: a file's, and a class's own."""

from typing import Any

import pytest

from assay.analysis.perfmodel.reading.reader import read_structure
from assay.analysis.perfmodel.weights import count_parameters
from tests.assay.analysis.perfmodel.reading.small_models import SMALL
from tests.assay.analysis.run_specs import spec
from tests.runners.engines.torch.launched import smollm2_file

# Stored with the model, but no parameters of its class: they are not trained.
BUFFERS = ("e_score_correction_bias", "expert_bias", "layer_scalar")


@pytest.mark.req("11.06")
def test_the_installed_model_has_the_tensors_that_its_configuration_says() -> None:
    from gguf import GGUFReader

    counted = count_parameters(read_structure(spec()))

    stored = {t.name: int(t.n_elements) for t in GGUFReader(smollm2_file()).tensors}
    assert counted.total == sum(stored.values())
    assert "output.weight" not in stored  # tied
    assert counted.active_all == counted.total


@pytest.mark.slow
@pytest.mark.parametrize("family", sorted(SMALL))
def test_a_class_makes_as_many_parameters_as_are_counted(family: str) -> None:
    import torch
    from transformers import CONFIG_MAPPING, AutoModelForCausalLM

    fields: dict[str, Any] = {k: v for k, v in SMALL[family].items() if k != "model_type"}
    with torch.device("meta"):
        model = AutoModelForCausalLM.from_config(CONFIG_MAPPING[family](**fields))
    made = {id(each): each.numel() for each in model.parameters()}  # a tied matrix once
    kept = [b.numel() for name, b in model.state_dict().items() if name.endswith(BUFFERS)]

    assert count_parameters(read_structure(SMALL[family])).total == sum(made.values()) + sum(kept)
