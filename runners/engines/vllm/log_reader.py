"""What vLLM's log says of the engine itself: a table of facts, each with the form of the line that states it.

Forms are those of vLLM 0.32 and 0.33. A line that changed its form matches nothing: its fact is absent, which
is a gap, and never a wrong fact.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from runners.engines.vllm.log_lines import LogLine


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """``pattern`` must match the whole message, its named groups are the value."""

    fact: str
    pattern: re.Pattern[str]
    needed: bool = False  # every start of a known version prints it


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """The last line of that form; ``value`` holds its named groups, numbers as numbers."""

    name: str
    line: int
    process: str
    value: Mapping[str, Any]


def _form(fact: str, pattern: str, *, needed: bool = False) -> Form:
    return Form(fact=fact, pattern=re.compile(pattern), needed=needed)


FORMS: tuple[Form, ...] = (
    _form("banner", r".*█.*\s+version (?P<version>\d\S*)", needed=True),
    _form("arguments", r"non-default args: (?P<arguments>\{.*\})", needed=True),
    _form(
        "configuration",
        r"Initializing a V\d LLM engine \(v(?P<version>[^)]+)\) with config: (?P<text>.*)",
        needed=True,
    ),
    _form("architecture", r"Resolved architecture: (?P<architecture>\w+)", needed=True),
    _form("max_model_len", r"Using max model len (?P<tokens>\d+)", needed=True),
    _form(
        "chunked_prefill",
        r"Chunked prefill is enabled with max_num_batched_tokens=(?P<tokens>\d+).*",
    ),
    _form(
        "attention",
        r"Using (?P<backend>\w+) attention backend out of potential backends: (?P<candidates>\[.*\]).*",
    ),
    _form("attention", r"Using AttentionBackendEnum\.(?P<backend>\w+) backend\.?"),
    _form("moe", r"Using '?(?P<backend>[\w .-]+?)'? .*MoE backend.*"),
    _form("linear", r"Using (?P<kernel>\w+Kernel) for (?P<scheme>.+)"),
    _form("runner", r"Using (?P<runner>V2) Model Runner.*"),
    _form(
        "runner",
        r"Model Runner V2 requires (?P<because>[\w ]+); using the (?P<runner>V1) model runner instead\.",
    ),
    _form(
        "kv_cache",
        r"(?P<where>\w+) KV cache size: (?P<tokens>[\d,]+) tokens, Maximum concurrency for "
        r"(?P<request_tokens>[\d,]+) tokens per request: (?P<concurrency>[\d.]+)x",
        needed=True,
    ),
    _form("kv_memory", r"Available KV cache memory: (?P<gib>[\d.]+) GiB"),
    _form(
        "kv_memory",
        r"Explicitly set \((?P<gib>[\d.]+)/(?P<free_gib>[\d.]+)\) GiB for KV cache on node \d+\.",
    ),
    _form("kv_layout", r"Using (?P<layout>[A-Z]+) KV cache layout\."),
    _form("eager", r"Enforce eager set, disabling (?P<disabled>.+?)\. .*"),
    _form(
        "graph_capture",
        r"Graph capturing finished in (?P<s>[\d.]+) secs?, took (?P<gib>[\d.-]+) GiB",
    ),
    _form(
        "linear_fallback", r"Failed to create (?P<wanted>[\w ]+), fallback to (?P<ran>[\w ]+)\. .*"
    ),
    _form("world", r"world_size=(?P<world>\d+) rank=(?P<rank>\d+) .* backend=(?P<backend>\w+)"),
    _form(
        "threads",
        r"OMP_NUM_THREADS=\d+ is set; leaving Torch threads at (?P<threads>\d+) for serving\..*",
    ),
    _form("threads", r"Reducing Torch threads from \d+ to (?P<threads>\d+) for serving\..*"),
    _form("model_built", r"Initializing model took (?P<s>[\d.]+) seconds"),
    _form("weights_loaded", r"Loading weights took (?P<s>[\d.]+) seconds", needed=True),
    _form("compiled", r"(?:\[\w+\] )?Initial profiling/warmup run took (?P<s>[\d.]+) s"),
    _form("compiled", r"torch\.compile takes (?P<s>[\d.]+) s in total.*"),
    _form(
        "initialised",
        r"init engine \(profile, create kv cache, warmup model\) took (?P<s>[\d.]+) (?:s|seconds).*",
        needed=True,
    ),
    _form("profiler_failed", r"Failed to stop profiler.*"),
)
_NUMBER = re.compile(r"-?\d[\d,]*(\.\d+)?")
_TEXT = frozenset({"version", "text", "arguments"})


def facts_of(lines: Iterable[LogLine]) -> dict[str, Fact]:
    """The last statement of each fact, by its name."""
    found: dict[str, Fact] = {}
    for line in lines:
        if line.process is None:
            continue
        for form in FORMS:
            if (match := form.pattern.fullmatch(line.message)) is not None:
                found[form.fact] = Fact(
                    name=form.fact,
                    line=line.number,
                    process=line.process,
                    value={k: _value(k, v) for k, v in match.groupdict().items()},
                )
                break
    return found


def absent(found: Mapping[str, Fact]) -> list[str]:
    """Facts that every start of a known version states and this log does not."""
    return [form.fact for form in FORMS if form.needed and form.fact not in found]


def _value(name: str, text: str | None) -> Any:
    if text is None or name in _TEXT or not _NUMBER.fullmatch(text):
        return text
    plain = text.replace(",", "")
    return float(plain) if "." in plain else int(plain)
