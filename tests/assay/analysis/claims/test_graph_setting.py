"""What was asked of graphs and what was captured, out of the identity item of any engine."""

from typing import Any

import pytest

from assay.analysis.claims.dispatch import GraphSetting
from assay.analysis.claims.graph_setting import graph_setting
from runners.protocol.documents import IdentityItem


def item(declared: dict[str, Any], ran: dict[str, Any]) -> IdentityItem:
    return IdentityItem(
        item="graph_compile_mode", declared=declared, ran=ran, strength="log", evidence=[], reason=None
    )  # fmt: skip


@pytest.mark.req("7.05")
@pytest.mark.parametrize(
    ("declared", "ran", "mode", "buckets"),
    [
        (
            {"enforce_eager": False, "graph_mode": "chosen"},
            {
                "compilation.cudagraph_mode": "FULL_AND_PIECEWISE",
                "compilation.cudagraph_capture_sizes": [1, 2, 4],
            },
            "FULL_AND_PIECEWISE",
            (1, 2, 4),
        ),
        ({"enforce_eager": True, "graph_mode": "FULL"}, {}, "NONE", None),
        (
            {"decode_graphs": "chosen"},
            {"cuda_graph_backend_decode": "full", "captured_sizes": "[1, 8]"},
            "FULL",
            (1, 8),
        ),
        ({"decode_graphs": "disabled"}, {}, "NONE", None),
        ({"decode_graphs": "full"}, {"graphs_off_because": "torch native attention"}, "NONE", None),
        ({}, {}, None, None),
    ],
)
def test_a_setting_is_read_by_the_words_of_each_engine(
    declared: dict[str, Any], ran: dict[str, Any], mode: str | None, buckets: tuple[int, ...] | None
) -> None:
    found = graph_setting(item(declared, ran))

    assert found == GraphSetting(mode=mode, buckets=buckets, capability=None)


def test_a_run_without_the_item_says_nothing() -> None:
    assert graph_setting(None) == GraphSetting(mode=None, buckets=None, capability=None)
