"""What vLLM's log says of the engine itself: a table of facts, each with the form of the line that states it.

Forms are those of vLLM 0.32 and 0.33. A line that changed its form matches nothing: its fact is absent, which
is a gap, and never a wrong fact.
"""

from runners.engines.stated_facts import Form, form

FORMS: tuple[Form, ...] = (
    form("banner", r".*█.*\s+version (?P<version>\d\S*)", needed=True, texts=("version",)),
    form(
        "arguments",
        r"non-default args: (?P<arguments>\{.*\})",
        needed=True,
        texts=("arguments",),
    ),
    form(
        "configuration",
        r"Initializing a V\d LLM engine \(v(?P<version>[^)]+)\) with config: (?P<text>.*)",
        needed=True,
        texts=("version", "text"),
    ),
    form("architecture", r"Resolved architecture: (?P<architecture>\w+)", needed=True),
    form("max_model_len", r"Using max model len (?P<tokens>\d+)", needed=True),
    form(
        "chunked_prefill",
        r"Chunked prefill is enabled with max_num_batched_tokens=(?P<tokens>\d+).*",
    ),
    form(
        "attention",
        r"Using (?P<backend>\w+) attention backend out of potential backends: (?P<candidates>\[.*\]).*",
    ),
    form("attention", r"Using AttentionBackendEnum\.(?P<backend>\w+) backend\.?"),
    form(
        "attention_refused",
        r"Cannot use (?:AttentionBackendEnum\.)?(?P<backend>\w+) backend on CPU\.",
    ),
    form(
        "attention_refused",
        r"(?:\w*Error: )?Selected backend (?:AttentionBackendEnum\.)?(?P<backend>\w+) is not valid for "
        r"this configuration\. Reason: (?P<because>.+)",
    ),
    form("moe", r"Using '?(?P<backend>[\w .-]+?)'? .*MoE backend.*"),
    form("linear", r"Using (?P<kernel>\w+Kernel) for (?P<scheme>.+)"),
    form("runner", r"Using (?P<runner>V2) Model Runner.*"),
    form(
        "runner",
        r"Model Runner V2 requires (?P<because>[\w ]+); using the (?P<runner>V1) model runner instead\.",
    ),
    form(
        "kv_cache",
        r"(?P<where>\w+) KV cache size: (?P<tokens>[\d,]+) tokens, Maximum concurrency for "
        r"(?P<request_tokens>[\d,]+) tokens per request: (?P<concurrency>[\d.]+)x",
        needed=True,
    ),
    form("kv_memory", r"Available KV cache memory: (?P<gib>[\d.]+) GiB"),
    form(
        "kv_memory",
        r"Explicitly set \((?P<gib>[\d.]+)/(?P<free_gib>[\d.]+)\) GiB for KV cache on node \d+\.",
    ),
    form("kv_layout", r"Using (?P<layout>[A-Z]+) KV cache layout\."),
    form("eager", r"Enforce eager set, disabling (?P<disabled>.+?)\. .*"),
    form(
        "graph_capture",
        r"Graph capturing finished in (?P<s>[\d.]+) secs?, took (?P<gib>[\d.-]+) GiB",
    ),
    form(
        "linear_fallback", r"Failed to create (?P<wanted>[\w ]+), fallback to (?P<ran>[\w ]+)\. .*"
    ),
    form("world", r"world_size=(?P<world>\d+) rank=(?P<rank>\d+) .* backend=(?P<backend>\w+)"),
    form(
        "threads",
        r"OMP_NUM_THREADS=\d+ is set; leaving Torch threads at (?P<threads>\d+) for serving\..*",
    ),
    form("threads", r"Reducing Torch threads from \d+ to (?P<threads>\d+) for serving\..*"),
    form("model_built", r"Initializing model took (?P<s>[\d.]+) seconds"),
    form("weights_loaded", r"Loading weights took (?P<s>[\d.]+) seconds", needed=True),
    form("compiled", r"(?:\[\w+\] )?Initial profiling/warmup run took (?P<s>[\d.]+) s"),
    form("compiled", r"torch\.compile takes (?P<s>[\d.]+) s in total.*"),
    form(
        "initialised",
        r"init engine \(profile, create kv cache, warmup model\) took (?P<s>[\d.]+) (?:s|seconds).*",
        needed=True,
    ),
    form("profiler_failed", r"Failed to stop profiler.*"),
)
