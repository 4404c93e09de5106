"""Config group ``evidence``: what is kept, at which rate, and how much of it."""

from dataclasses import dataclass
from enum import StrEnum

from experiments.schema.roles import context_field, key_field


class Content(StrEnum):
    keep = "keep"
    digest = "digest"


@dataclass
class TraceConfig:
    """Profile phase after the measured window: a declared subset of the plan's shapes is replayed."""

    enabled: bool = key_field(True)
    input_tokens: int = key_field(64)
    output_tokens: int = key_field(8)
    requests: int = key_field(1)


@dataclass
class EvidenceConfig:
    content: Content = key_field(Content.keep)
    scrape_interval_s: float = key_field(0.5)
    telemetry_interval_s: float = key_field(0.5)
    anchor_interval_s: float = key_field(1.0)
    # Before the run, a second or two against a mock that stamps its own writes; see docs/load-client.md.
    calibrate_client: bool = context_field(True)
    stream_limit_bytes: int = key_field(256 * 2**20)
    trace: TraceConfig = key_field(TraceConfig)
