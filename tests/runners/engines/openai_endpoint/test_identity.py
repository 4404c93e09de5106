"""Of an endpoint elsewhere only its stated version is evidence; seven items stay unknown."""

from pathlib import Path
from typing import Any

import pytest

from runners.engines.base import EvidenceContext
from runners.engines.openai_endpoint.identity import items
from runners.protocol.documents import IdentityItem
from tests.runners.engines.openai_endpoint.declared import spec


def identified(folder: Path, info: dict[str, Any] | None) -> dict[str, IdentityItem]:
    context = EvidenceContext(
        spec=spec(), bundle=folder, base_url="", server_info=info, version=None
    )
    return {item["item"]: item for item in items(context)}


@pytest.mark.req("7.14")
def test_a_stated_version_is_evidence_of_the_weaker_kind_with_its_place(tmp_path: Path) -> None:
    found = identified(tmp_path, {"version": {"version": "1.2.3"}})["engine_version"]

    assert found["ran"] == {"version": "1.2.3", "build": None}
    assert found["strength"] == "log"
    assert found["evidence"][0]["pointer"] == {"file": "server_info.json"}


@pytest.mark.parametrize("info", [None, {}, {"version": None}, {"server_header": "engine/9.9"}])
def test_a_server_header_is_no_version_of_the_engine(
    tmp_path: Path, info: dict[str, Any] | None
) -> None:
    assert identified(tmp_path, info)["engine_version"]["ran"] is None


@pytest.mark.req("7.15")
@pytest.mark.forbids
def test_everything_else_is_unknown_whatever_the_endpoint_says(tmp_path: Path) -> None:
    info = {"version": {"version": "1.2.3"}, "models": {"data": [{"id": "small"}]}}

    rest = [i for name, i in identified(tmp_path, info).items() if name != "engine_version"]

    assert len(rest) == 7
    assert all(i["ran"] is None and i["reason"] and not i["evidence"] for i in rest)
