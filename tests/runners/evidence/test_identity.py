"""A run is complete only with eight evidenced items."""

from typing import Any

import pytest

from runners.evidence import identity
from runners.protocol.documents import IDENTITY_ITEMS, IdentityItem


def item(name: str, **changes: Any) -> IdentityItem:
    evidence = [
        {
            "strength": "log",
            "statement": "",
            "pointer": None,
            "conditions": {},
            "engine_version": "1",
            "t_ns": None,
        }
    ]
    base = {"item": name, "declared": 1, "ran": 1, "strength": "log", "evidence": evidence}
    return {**base, "reason": None, **changes}  # type: ignore[typeddict-item]


@pytest.mark.req("7.14")
def test_eight_evidenced_items_and_an_artifact_are_complete() -> None:
    document = identity.compose({"name": "a"}, [item(name) for name in IDENTITY_ITEMS])

    assert document["complete"] is True
    assert [i["item"] for i in document["run"]] == list(IDENTITY_ITEMS)


@pytest.mark.req("7.15")
@pytest.mark.forbids
@pytest.mark.parametrize(
    "weak", [{"ran": None}, {"strength": "none"}, {"evidence": []}], ids=["unknown", "none", "bare"]
)
def test_an_item_without_evidence_makes_the_run_incomplete(weak: dict[str, Any]) -> None:
    items = [item(name) for name in IDENTITY_ITEMS]
    items[6] = item("precision_path", **weak)

    document = identity.compose({"name": "a"}, items)

    assert document["complete"] is False
    assert document["missing"] == ["precision_path"]


def test_an_item_nobody_gave_is_there_and_unknown() -> None:
    document = identity.compose({}, [item(name) for name in IDENTITY_ITEMS[1:]])

    assert document["run"][0]["ran"] is None
    assert document["run"][0]["reason"]
    assert document["missing"] == ["engine_version"]


def test_a_missing_artifact_is_named() -> None:
    assert identity.compose(None, [])["missing"][0] == "artifact"
