"""The eight items of what ran, each from the strongest evidence that this run of SGLang left.

``trace``  operators of this start's profile, counted against layers x steps;
``log``    a line of this run's engine.log, or what the engine answered of itself.
"""

from collections.abc import Mapping

from runners.engines import chrome_trace, identity_items
from runners.engines.base import EvidenceContext
from runners.engines.identity_items import Traced
from runners.engines.sglang import identity_log, identity_trace, log_reader
from runners.engines.sglang.environment import unsupported
from runners.engines.sglang.log_lines import read_lines
from runners.engines.sglang.trace_reader import STEP
from runners.engines.stated_facts import Fact, facts_of
from runners.protocol import layout
from runners.protocol.documents import IdentityItem

# Which settings an item rests on, beside what is declared of every engine.
_CHOICES: Mapping[str, tuple[str, ...]] = {
    "model_runner": ("max_running_requests", "context_length", "speculative_algorithm"),
    "attention_gemm_backend": (
        *("attention_backend", "prefill_attention_backend", "decode_attention_backend"),
        *("bf16_gemm_backend", "fp8_gemm_backend", "fp4_gemm_backend", "moe_runner_backend"),
    ),
    "graph_compile_mode": (
        *("decode_graphs", "prefill_graphs", "decode_graph_sizes", "torch_compile"),
    ),
    "hardware_runtime": ("threads",),
    "precision_path": ("dtype", "kv_dtype", "quantization"),
}


def items(context: EvidenceContext) -> list[IdentityItem]:
    """The items in their fixed order. Reads files of the bundle and what the engine answered."""
    facts = facts_of(read_lines(context.bundle / layout.ENGINE_LOG), log_reader.FORMS)
    mark = unsupported(str(context.spec["device"]["kind"]))
    return identity_items.items(
        context,
        declared=identity_items.declared_layout(context.spec, _CHOICES),
        stated=identity_log.stated(facts, context.server_info, unsupported=mark),
        traced=_trace(context, facts, mark),
    )


def _trace(context: EvidenceContext, facts: Mapping[str, Fact], mark: str | None) -> Traced:
    """The newest trace of this run, judged; else why there is none."""
    folder = context.bundle / layout.TRACE_FOLDER
    files = sorted(folder.glob("*-TP-0*.trace.json.gz"), key=lambda path: path.name)
    if not files:
        return Traced(proofs={}, problem="no trace was written")
    try:
        trace = chrome_trace.read(files[-1], step=STEP)
    except chrome_trace.TraceProblem as problem:
        return Traced(proofs={}, problem=str(problem))
    found = identity_trace.proofs(
        trace,
        layers=int(context.spec["artifact"]["config"]["L"]),
        file=files[-1].relative_to(context.bundle).as_posix(),
        version=identity_items.engine_version(context),
        capability=identity_log.capability(facts, context.server_info, unsupported=mark),
    )
    if found:
        return Traced(proofs=found, problem=None)
    return Traced(proofs={}, problem=_adds_up_to_nothing(trace))


def _adds_up_to_nothing(trace: chrome_trace.Trace) -> str:
    return (
        f"the trace proves nothing: {len(trace.spans)} steps, no attention operator called as often as "
        "layers x steps or layers x requests"
    )
