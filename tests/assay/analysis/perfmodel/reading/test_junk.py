"""Whatever a field holds, a configuration is read or refused by that field; nothing else comes out."""

from collections.abc import Iterator
from typing import Any

import pytest

from assay.analysis.perfmodel.errors import ModelRefused
from assay.analysis.perfmodel.reading.reader import read_structure
from tests.assay.analysis.perfmodel.reading.small_models import BLOCKS, SMALL
from tests.assay.analysis.perfmodel.structures import config, expected

JUNK: list[Any] = ["7", -3, float("inf"), True, None, [1, "a"], {"a": [1]}, 2**70]


def by_family() -> dict[str, dict[str, Any]]:
    """One configuration of every family: the files' and the small ones."""
    found = {str(document.get("model_type")): document for document in map(config, expected())}
    return {**found, **SMALL, "nemotron-nas": BLOCKS}


FAMILIES = by_family()


def spoiled(document: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The document with each field, nested ones too, replaced by each piece of junk."""
    for name, value in document.items():
        for junk in JUNK:
            yield name, {**document, name: junk}
        if name in ("text_config", "attn_config") and isinstance(value, dict):
            for inner, changed in spoiled(value):
                yield f"{name}.{inner}", {**document, name: changed}


@pytest.mark.slow
@pytest.mark.forbids
@pytest.mark.parametrize("family", sorted(FAMILIES))
def test_junk_in_any_field_is_refused_or_without_effect(family: str) -> None:
    refusals = [field for field, document in spoiled(FAMILIES[family]) if is_refused(document)]

    assert len(set(refusals)) > 2  # vocabulary, width and layers at least


def is_refused(document: dict[str, Any]) -> bool:
    """Whether it is refused by a field; what is read has sizes. Any other exception goes through."""
    try:
        structure = read_structure(document)
    except ModelRefused as refusal:
        return bool(refusal.finding.field)
    return not structure.layers or structure.d_model < 1
