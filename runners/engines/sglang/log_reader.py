"""What SGLang's log says of the engine itself, and with which arguments it was started.

Forms are those of SGLang 0.5.23; those of graph capture and of a chosen attention backend were read in its
source and never seen printed. No line always names the attention backend: the server's own answer does.
"""

import ast
from collections.abc import Mapping
from typing import Any

from runners.engines.stated_facts import Fact, Form, form

_GRAPH = r"(?:CUDA|CPU|NPU|XPU|MUSA) graph"

FORMS: tuple[Form, ...] = (
    form("arguments", r"server_args=(?P<arguments>\{.*\})", needed=True, texts=("arguments",)),
    form(
        "weights_loaded",
        r"Load weight end\. elapsed=(?P<s>[\d.]+) s, type=(?P<architecture>\w+), (?:(?P<quantization>.+), )?"
        r"avail mem=[\d.]+ GB, mem usage=(?P<gb>-?[\d.]+) GB\.",
        needed=True,
    ),
    form(
        "kv_cache",
        r"KV Cache is allocated\. dtype: torch\.(?P<dtype>\w+), #tokens: (?P<tokens>\d+), "
        r"K size: (?P<k_gb>[\d.]+) GB, V size: (?P<v_gb>[\d.]+) GB",
        needed=True,
    ),
    form(
        "limits",
        r"max_total_num_tokens=(?P<kv_tokens>\d+), chunked_prefill_size=(?P<chunk>-?\d+|None), "
        r"max_prefill_tokens=(?P<prefill>\d+), max_running_requests=(?P<running>\d+), "
        r"context_len=(?P<context>\d+), available_\w+_mem=[\d.]+ GB",
        needed=True,
    ),
    form(
        "threads", r"init_threads_binding: .*local_omp_cpuid=(?P<cores>[\d,-]+)", texts=("cores",)
    ),
    form(
        "graphs_off",
        r"Cuda graph is disabled because of (?P<because>.+)",
    ),
    form("prefill_graphs_off", r"Disable prefill CUDA graph because (?P<because>.+)"),
    form(
        "decode_capture",
        rf"Capture target (?:decode|verify) {_GRAPH} end\. bs=(?P<sizes>\[[\d, ]*\]), "
        r"elapsed=(?P<s>[\d.]+) s, mem usage=(?P<gb>-?[\d.]+) GB, avail mem=[\d.]+ GB\.",
    ),
    form(
        "prefill_capture",
        rf"Capture target prefill {_GRAPH} end\. "
        r"elapsed=(?P<s>[\d.]+) s, mem usage=(?P<gb>-?[\d.]+) GB, avail mem=[\d.]+ GB\.",
    ),
    form(
        "attention",
        r"Using hybrid attention backend for decode and prefill: (?P<backend>.+?)\.?",
    ),
    form("attention", r"Using (?P<backend>\w+) as attention backend for (?P<architecture>\w+)\."),
    form("attention", r"Use (?P<backend>\w+) as (?:the |default )?attention backend .*"),
    form("attention", r"Use (?P<backend>\w+) attention backend for .*"),
    form("tree_cache", r"Tree cache initialized: source=(?P<source>\w+) impl=(?P<cache>\w+) .*"),
    form(
        "started",
        r"Engine startup timings \(s\): load_weight=(?P<weights>[\d.]+), "
        r"kv_cache_allocation=(?P<kv_cache>[\d.]+), scheduler_e2e=(?P<scheduler>[\d.]+), "
        r"cuda_graph=\{(?P<graphs>[^}]*)\}, tokenizer_e2e=(?P<front>[\d.]+)",
        needed=True,
    ),
    form("ready", r"The server is fired up and ready to roll!", needed=True),
)


def arguments(facts: Mapping[str, Fact]) -> dict[str, Any] | None:
    """The arguments as the server printed them after its own changes; None if they cannot be read."""
    fact = facts.get("arguments")
    if fact is None:
        return None
    try:
        found = ast.literal_eval(fact.value["arguments"])
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return None
    return dict(found) if isinstance(found, dict) else None


def capture_s(graphs: str) -> float:
    """``prefill=0.00, decode=1.25``: the whole of it, in seconds."""
    return sum(float(part.rpartition("=")[2]) for part in graphs.split(",") if part.strip())
