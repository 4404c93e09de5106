"""How many bytes a declared run will leave on disk, estimated from its plan before it starts.

Rates are rounded up from captures of the torch engine and each stream stops at its declared limit; sealing
keeps the segments until the tables are written, so the raw streams count twice. The estimate serves to
refuse a run that cannot fit, never to report a size.
"""

from collections.abc import Mapping
from typing import Any

WIRE_BYTES_PER_TOKEN = 400  # one streamed event with its frame, stamp and table overhead
ENGINE_BYTES_PER_TOKEN = 600  # token, written and iteration lines of the engine's event log
BYTES_PER_REQUEST = 8_000  # head, ids, lifecycle events, log lines
BYTES_PER_INPUT_TOKEN = 40  # prompt text, token ids, and the request as sent
SCRAPE_BYTES = 6_000
TELEMETRY_BYTES_PER_SAMPLE = 8_000
TRACE_BYTES_PER_STEP = 4_000_000  # before compression, of a model of some tens of layers
FIXED_BYTES = 4 * 2**20
SECONDS_PER_OUTPUT_TOKEN = 0.25  # slow on purpose: a longer run samples more
SEALING_COPIES = 2


def estimate(document: Mapping[str, Any], summary: Mapping[str, Any]) -> int:
    """Bytes that the bundle and its segments take at most, from the spec and the plan's summary."""
    evidence = document["evidence"]
    limit = evidence["stream_limit_bytes"]
    requests = sum(s["requests"] for s in summary.values())
    tokens_in = sum(s["input_tokens"] for s in summary.values())
    tokens_out = sum(s["output_tokens"] for s in summary.values())
    duration_s = 60 + tokens_out * SECONDS_PER_OUTPUT_TOKEN
    streams = (
        tokens_out * WIRE_BYTES_PER_TOKEN,
        tokens_out * ENGINE_BYTES_PER_TOKEN,
        duration_s / evidence["scrape_interval_s"] * SCRAPE_BYTES,
        duration_s / evidence["telemetry_interval_s"] * TELEMETRY_BYTES_PER_SAMPLE,
    )
    captured = sum(min(size, limit) for size in streams)
    traced = summary.get("profile", {"requests": 0, "output_tokens": 0})
    steps = traced["output_tokens"] + traced["requests"]
    trace = min(steps * TRACE_BYTES_PER_STEP, limit) if evidence["trace"]["enabled"] else 0
    small = requests * BYTES_PER_REQUEST + tokens_in * BYTES_PER_INPUT_TOKEN + FIXED_BYTES
    return int(SEALING_COPIES * captured + trace + small)
