"""Deterministic modes: every field is stated, or said to be not evidenced, for one version."""

from pathlib import Path

import pytest

from experiments.changes.determinism import FOLDER, deterministic_modes, load
from experiments.errors import Refusal

FIELDS = ("status", "hardware", "disables", "cost", "validated_models", "serving")


@pytest.mark.req("5.21")
@pytest.mark.parametrize("engine", sorted(path.stem for path in FOLDER.glob("*.yaml")))
def test_a_mode_states_status_hardware_switch_cost_and_models_or_that_nothing_shows_them(
    engine: str,
) -> None:
    for mode in deterministic_modes(engine):
        assert mode.version
        assert mode.enabled_by
        assert all(getattr(mode, name) for name in FIELDS)
        assert mode.cost == "not evidenced"  # nobody measured it here


@pytest.mark.req("5.21")
@pytest.mark.parametrize("field", [*FIELDS, "enabled_by"])
def test_a_mode_without_one_of_its_fields_is_refused_by_its_name(
    field: str, tmp_path: Path
) -> None:
    lines = (FOLDER / "vllm.yaml").read_text(encoding="utf-8").splitlines()
    path = tmp_path / "vllm.yaml"
    path.write_text("\n".join(x for x in lines if not x.strip().startswith(f"{field}:")))

    with pytest.raises(Refusal, match=field):
        load(path)
