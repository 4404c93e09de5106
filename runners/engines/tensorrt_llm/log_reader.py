"""What TensorRT-LLM's log says of the engine itself. Documented forms of the 1.2 line, never run here."""

from runners.engines.stated_facts import Form, form

FORMS: tuple[Form, ...] = (
    form(
        "banner",
        r"TensorRT[- ]LLM version: (?P<version>\d\S*)",
        needed=True,
        texts=("version",),
    ),
    form(
        "kv_cache",
        r"\[MemUsageChange\] Allocated (?P<gib>[\d.]+) GiB for max tokens in paged KV cache "
        r"\((?P<tokens>\d+)\)\.?",
        needed=True,
    ),
    form("kv_block", r"Number of tokens per block: (?P<tokens>\d+)\.?"),
    form("block_reuse", r"KV cache block reuse is (?P<state>enabled|disabled)\.?"),
    form(
        "limits",
        r"max_seq_len=(?P<seq_len>\d+), max_num_requests=(?P<requests>\d+), "
        r"max_num_tokens=(?P<tokens>\d+)(?:, max_batch_size=(?P<batch>\d+))?",
        needed=True,
    ),
)
