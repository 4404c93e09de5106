"""What vLLM states of its KV pool, derived from the model's own state: recorded logs, answer and trace."""

import json
import re
from pathlib import Path

import pytest

from assay.analysis.perfmodel.engine_budget import stated_tokens
from assay.analysis.perfmodel.state import state_classes
from assay.analysis.perfmodel.state_ledger import Source, ledger, with_layout, with_measurement
from runners.engines.stated_facts import facts_of
from runners.engines.vllm import trace_reader
from runners.engines.vllm.log_lines import read_lines
from runners.engines.vllm.log_reader import FORMS
from tests.assay.analysis.perfmodel.structures import SMOLLM2

DATA = Path(__file__).parents[3] / "data"
RECORDED = DATA / "fixtures" / "vllm-0.32.0-cpu"
RUN = DATA / "engines" / "vllm-0.32.0-cpu"
GIB = 2**30
# SmolLM2-135M in bfloat16: 30 layers x K and V x 3 heads x 64 x 2 B
BYTES_PER_TOKEN = 30 * 2 * 3 * 64 * 2
BLOCK = 128  # tokens: vLLM's choice on a CPU


@pytest.mark.parametrize(
    ("log", "pool_bytes", "logical_tokens", "blocks", "stated"),
    [
        # 2 147 483 648 / 23 040 = 93 206.7 tokens; / (128 x 23 040 = 2 949 120) = 728.2 blocks
        ("startup-compiled.log", 2 * GIB, 93_206, 728, 93_184),
        # half of it: 46 603.4 tokens, 364.1 blocks
        ("startup.log", 1 * GIB, 46_603, 364, 46_592),
    ],
)
def test_the_logged_size_is_the_pool_in_whole_blocks_by_the_longest_request(
    log: str, pool_bytes: int, logical_tokens: int, blocks: int, stated: int
) -> None:
    said = facts_of(read_lines(RECORDED / log), FORMS)["kv_cache"].value

    assert BYTES_PER_TOKEN == 23_040
    assert pool_bytes // BYTES_PER_TOKEN == logical_tokens
    assert pool_bytes // (BLOCK * BYTES_PER_TOKEN) == blocks
    # a request of 2 048 tokens takes 16 blocks: 728 / 16 = 45.5 of them, x 2 048
    assert stated_tokens(blocks, block_tokens=BLOCK, longest_request=2048) == stated
    assert (said["tokens"], said["request_tokens"]) == (stated, 2048)
    assert said["concurrency"] == blocks / 16


def test_a_longest_request_that_is_no_multiple_of_a_block_states_less_than_they_hold() -> None:
    # 2 000 tokens take 16 blocks too: 728 / 16 x 2 000 = 91 000, though 728 blocks hold 93 184
    assert stated_tokens(728, block_tokens=BLOCK, longest_request=2000) == 91_000


@pytest.mark.req("10.17")
def test_the_three_columns_of_a_real_runs_pool() -> None:
    """Logical by the configuration, layout by the engine's answer, measured by the traced tensors."""
    cache = json.loads((RUN / "server_info.json").read_text())["vllm_config"]["cache_config"]
    tokens = cache["num_gpu_blocks"] * cache["block_size"]
    classes = state_classes(SMOLLM2, kv_dtype="bfloat16")
    (entry,) = ledger(classes, tokens=tokens, place="host memory")
    block_bytes = cache["block_size"] * BYTES_PER_TOKEN

    entry = with_layout(
        entry,
        size=cache["num_gpu_blocks"] * block_bytes,
        source=Source.RUNTIME_METADATA,
        evidence="server_info.json: num_gpu_blocks x block_size",
    )
    entry = with_measurement(
        entry,
        size=30 * traced_bytes_of_a_layer(),
        source=Source.ALLOCATION,
        evidence="rank0.pt.trace.json.gz: shapes of the cache tensors that attention took",
    )

    # 364 blocks of 128 tokens: 46 592 tokens x 23 040 B; of the 1 GiB asked for, 262 144 B stay unused
    assert entry.logical.bytes == entry.layout.bytes == entry.measured.bytes == 1_073_479_680
    assert cache["kv_cache_memory_bytes"] - 1_073_479_680 == 262_144
    assert cache["kv_cache_size_tokens"] == tokens == 46_592


def traced_bytes_of_a_layer() -> int:
    """Attention's second and third input: K and V of the layer, as blocks x heads x tokens x width."""
    trace = trace_reader.read_trace(RUN / "rank0.pt.trace.json.gz")
    (name,) = trace.named(trace_reader.NAMES.attention)
    shapes = {re.findall(r"\[[\d, ]+\]", text)[1] for text in trace.operators[name].shapes}
    (shape,) = shapes
    blocks, heads, tokens, width = json.loads(shape)
    return 2 * blocks * heads * tokens * width * 2
