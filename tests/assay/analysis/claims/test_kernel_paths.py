"""Four states of a path, from what was asked and what a run shows; where it shows nothing there is none."""

from pathlib import Path
from typing import Any

import pytest

from assay.analysis.claims.kernel_paths import KernelPath, PathState, kernel_paths
from runners.engines.base import EvidenceContext
from runners.engines.sglang import identity as sglang_identity
from runners.engines.vllm import identity
from runners.protocol.documents import Evidence, IdentityItem
from tests.runners.engines.sglang import recorded
from tests.runners.engines.vllm import declared

SAID = Evidence(
    strength="log",
    statement="printed",
    pointer={"file": "engine.log", "line": 3},
    conditions={},
    engine_version="1",
    t_ns=None,
)
TRACED = SAID | {"strength": "trace"}


def item(asked: Any, ran: Any, *evidence: Any) -> IdentityItem:
    return IdentityItem(
        item="attention_gemm_backend",
        declared={"attention_backend": asked},
        ran=ran,
        strength="log",
        evidence=list(evidence),
        reason=None,
    )


def attention(asked: Any, ran: Any, *evidence: Any, refused: str | None = None) -> KernelPath:
    turned_down = {"attention": refused} if refused else {}
    return kernel_paths([item(asked, ran, *evidence)], refused=turned_down)[0]


@pytest.mark.req("7.08")
@pytest.mark.parametrize(
    ("asked", "seen", "state"),
    [
        (None, "FLASH_ATTN", PathState.by_default),
        ("auto", "FLASH_ATTN", PathState.by_default),
        ("flash_attn", "FLASH_ATTN", PathState.explicit),
        ("FLASHINFER", "FLASH_ATTN", PathState.fallback),
    ],
)
def test_a_path_has_its_state_from_what_was_asked_and_what_the_run_names(
    asked: Any, seen: str, state: PathState
) -> None:
    found = attention(asked, {"attention": seen}, SAID)

    assert found.state is state
    assert found.evidence == (SAID,)


@pytest.mark.req("7.08")
def test_what_the_engine_itself_turned_down_is_not_supported() -> None:
    words = "ValueError: Selected backend FLASHINFER is not valid for this configuration"

    found = attention("FLASHINFER", None, refused=words)

    assert (found.state, found.reason) == (PathState.not_supported, words)


@pytest.mark.req("7.09", "7.10")
@pytest.mark.forbids
def test_what_was_asked_for_and_is_not_seen_is_neither_enabled_nor_fallen_back() -> None:
    found = attention("FLASHINFER", {"kv_layout": "LBHNC"}, SAID)

    assert found.state is None
    assert "neither log nor trace" in found.reason
    assert (found.strength, found.evidence) == ("none", ())


@pytest.mark.req("7.11")
def test_a_trace_strengthens_the_path_that_it_counts_and_no_other() -> None:
    ran = {
        "attention": "CPU_ATTN",
        "attention_operators": {"_C::cpu_attention": 240},
        "moe": "triton",
    }

    found = {p.path: p for p in kernel_paths([item(None, ran, SAID, TRACED)])}

    assert found["attention"].strength == "trace"
    assert found["experts"].strength == "log"


@pytest.mark.req("7.08", "7.10")
def test_the_recorded_start_of_vllm_shows_its_two_fallbacks_with_their_lines(
    tmp_path: Path,
) -> None:
    log = (declared.FIXTURES / "startup.log").read_bytes()
    (tmp_path / "engine.log").write_bytes(log)
    items = identity.items(
        EvidenceContext(
            spec=declared.spec(enforce_eager=True),
            bundle=tmp_path,
            base_url="",
            server_info=None,
            version="0.32.0",
        )
    )

    found = {p.path: p for p in kernel_paths(items)}

    assert found["matrix products"].state is PathState.fallback
    assert found["matrix products"].seen == "torch linear"
    assert "oneDNN linear" in found["matrix products"].reason
    assert found["model runner"].state is PathState.fallback
    assert found["model runner"].seen == "V1"
    assert found["graphs"].state is PathState.explicit  # eager was asked for, and NONE was resolved
    assert found["attention"].state is None  # this start printed no line on it
    assert all(e["pointer"] for e in found["matrix products"].evidence)


@pytest.mark.req("7.08")
def test_a_back_end_that_the_engine_says_it_cannot_use_is_not_supported() -> None:
    ran = {"attention_refused": "FLASH_ATTN", "attention": "CPU_ATTN"}

    found = attention("FLASH_ATTN", ran, SAID)

    assert (found.state, found.seen) == (PathState.not_supported, "CPU_ATTN")
    assert "FLASH_ATTN" in found.reason


@pytest.mark.req("7.08", "7.10")
def test_the_recorded_start_of_sglang_turned_graphs_off_by_its_own_words(tmp_path: Path) -> None:
    items = sglang_identity.items(recorded.evidence(tmp_path, recorded.log("startup.log")))

    found = {p.path: p for p in kernel_paths(items)}

    assert found["graphs"].state is PathState.not_supported
    assert found["graphs"].reason == "the engine printed using torch native attention backend"
    assert found["attention"].seen == "torch_native"
