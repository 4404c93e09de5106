"""The configuration of one engine start: typed, checked, and the same in both processes.

The adapter writes it as JSON into the scratch folder; nothing else configures the engine.
"""

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from runners.protocol.errors import Finding, Refused

DTYPES = ("float32", "bfloat16", "float16")
WEIGHTS = ("dequantized", "packed")
OUT_OF_BLOCKS = ("wait", "preempt")
FORMATS = ("gguf", "safetensors")


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineSettings:
    """What a study controls. Lengths and budgets are tokens."""

    weights: str
    dtype: str
    kv_dtype: str
    max_batch: int
    token_budget: int
    block_tokens: int
    kv_blocks: int
    max_length: int
    when_out_of_blocks: str
    threads: int
    max_request_s: float | None = None  # from queued to finished; then the engine gives up
    injected_delay_s: float = 0.0  # a declared fault: what each step that decodes waits

    @property
    def modification(self) -> str | None:
        """What makes this another engine than the one that its version names, in words."""
        if not self.injected_delay_s:
            return None
        return f"a declared delay of {self.injected_delay_s:g} s in every step that decodes"

    @property
    def kv_tokens(self) -> int:
        return self.kv_blocks * self.block_tokens

    @property
    def longest_request(self) -> int:
        """Most tokens, prompt and answer together, that one request can ever have."""
        return min(self.max_length, self.kv_tokens)


@dataclass(frozen=True, slots=True, kw_only=True)
class GenerationDefaults:
    """Sampling and stop rules of the artifact, where a request says nothing."""

    temperature: float
    top_p: float
    top_k: int
    repetition_penalty: float
    eos_token_ids: tuple[int, ...]
    stop: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerConfig:
    engine_version: str
    execution_id: str
    host: str
    port: int
    model_name: str
    weight_file: str  # the first weight file; its folder holds the others
    weight_sha256: str | None  # as declared
    weight_format: str
    events_file: str
    trace_folder: str
    settings: EngineSettings
    generation: GenerationDefaults

    def write(self, path: Path) -> None:
        path.write_text(json.dumps(asdict(self), indent=1), encoding="utf-8")


def read_config(path: Path) -> ServerConfig:
    """Parse and check a configuration file. Raises Refused naming field, value seen and values allowed."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise refused(str(path), str(error), "a JSON file written by the adapter") from error
    fields = dict(document)
    fields["settings"] = engine_settings(fields["settings"])
    fields["generation"] = generation_defaults(fields["generation"])
    return ServerConfig(**fields)


def engine_settings(declared: Mapping[str, Any]) -> EngineSettings:
    """The checked settings of ``engine.settings``. Raises Refused."""
    where = "engine.settings"
    if unknown := sorted(set(declared) - set(EngineSettings.__dataclass_fields__)):
        raise refused(
            f"{where}.{unknown[0]}", "unknown", ", ".join(EngineSettings.__dataclass_fields__)
        )
    settings = EngineSettings(
        weights=_choice(declared, "weights", WEIGHTS),
        dtype=_choice(declared, "dtype", DTYPES),
        kv_dtype=_choice(declared, "kv_dtype", DTYPES),
        max_batch=_count(declared, "max_batch"),
        token_budget=_count(declared, "token_budget"),
        block_tokens=_count(declared, "block_tokens"),
        kv_blocks=_count(declared, "kv_blocks"),
        max_length=_count(declared, "max_length"),
        when_out_of_blocks=_choice(declared, "when_out_of_blocks", OUT_OF_BLOCKS),
        threads=_count(declared, "threads"),
        max_request_s=_optional_seconds(declared, "max_request_s"),
        injected_delay_s=_delay(declared, "injected_delay_s"),
    )
    if settings.token_budget < settings.max_batch:
        raise refused(
            f"{where}.token_budget",
            str(settings.token_budget),
            f"at least max_batch ({settings.max_batch}): a step decodes one token of every request",
        )
    return settings


def generation_defaults(declared: Mapping[str, Any]) -> GenerationDefaults:
    return GenerationDefaults(
        temperature=float(declared["temperature"]),
        top_p=float(declared["top_p"]),
        top_k=int(declared["top_k"]),
        repetition_penalty=float(declared["repetition_penalty"]),
        eos_token_ids=tuple(int(i) for i in declared["eos_token_ids"]),
        stop=tuple(str(s) for s in declared["stop"]),
    )


def refused(field: str, seen: str, allowed: str) -> Refused:
    finding = Finding(field=field, seen=seen, allowed=allowed, remedy="Change the declaration.")
    return Refused(finding)


def _choice(declared: Mapping[str, Any], name: str, allowed: tuple[str, ...]) -> str:
    value = str(declared.get(name))
    if value not in allowed:
        raise refused(f"engine.settings.{name}", value, ", ".join(allowed))
    return value


def _optional_seconds(declared: Mapping[str, Any], name: str) -> float | None:
    value = declared.get(name)
    if value is None:
        return None
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or not 0 < value < math.inf:
        allowed = "a number of seconds above 0, or null for no limit"
        raise refused(f"engine.settings.{name}", str(value), allowed)
    return float(value)


def _delay(declared: Mapping[str, Any], name: str) -> float:
    value = declared.get(name, 0.0)  # specs frozen before it was a setting have none
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or not 0 <= value < math.inf:
        raise refused(f"engine.settings.{name}", str(value), "a number of seconds from 0")
    return float(value)


def _count(declared: Mapping[str, Any], name: str) -> int:
    value = declared.get(name)
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise refused(f"engine.settings.{name}", str(value), "a whole number from 1")
    return value
