"""Config group ``engine``: which engine, pinned to one version, and the settings a study controls.

Settings are typed per engine; ``settings`` of another engine are refused at composition.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from experiments.schema.parallel import Parallel
from experiments.schema.roles import context_field, key_field, unknown_field, variable_field
from experiments.schema.sglang_settings import SglangSettings
from experiments.schema.tensorrt_llm_settings import TensorrtLlmSettings
from experiments.schema.vllm_settings import VllmSettings


class EnvironmentKind(StrEnum):
    platform = "platform"  # the environment Assay itself runs in (torch only)
    venv = "venv"
    container = "container"
    url = "url"


class ImageRoot(StrEnum):
    """Whether an engine may write to its container's own root file system; nothing of it is kept."""

    read_only = "read_only"
    writable = "writable"


class Reuse(StrEnum):
    fresh = "fresh"
    shared = "shared"


class TorchWeights(StrEnum):
    packed = "packed"
    dequantized = "dequantized"


class OutOfBlocks(StrEnum):
    """What happens when the KV blocks run out in mid-decode."""

    wait = "wait"
    preempt = "preempt"


@dataclass
class EngineEnvironment:
    """What the engine runs in. A container's image is ``image``, the repository it is pulled from, and
    ``image_digest``; ``image: REPOSITORY@sha256:...`` alone says both.
    """

    kind: EnvironmentKind = key_field(EnvironmentKind.platform)
    lock_sha256: str | None = unknown_field()
    image: str | None = context_field(None)
    image_digest: str | None = key_field(None)
    image_root: ImageRoot = context_field(ImageRoot.read_only)
    url: str | None = context_field(None)


@dataclass
class TorchSettings:
    """The small instrumented server over transformers.

    ``max_batch`` requests decode together; a step takes at most ``token_budget`` tokens, prompts are
    cut to fit (chunked prefill); the KV cache is ``kv_blocks`` blocks of ``block_tokens`` tokens.
    """

    weights: TorchWeights = variable_field(TorchWeights.dequantized)
    dtype: str = variable_field("float32")
    kv_dtype: str = variable_field("float32")
    max_batch: int = variable_field(8)
    token_budget: int = variable_field(256)
    block_tokens: int = variable_field(16)
    kv_blocks: int = variable_field(1024)
    max_length: int = variable_field(4096)
    when_out_of_blocks: OutOfBlocks = variable_field(OutOfBlocks.preempt)
    threads: int = variable_field(2)
    # The engine's own limit from queued to finished, checked between steps; null: none.
    max_request_s: float | None = variable_field(None)
    # A declared fault: how long every step that decodes waits. Above 0 it is a modified engine and says so.
    injected_delay_s: float = variable_field(0.0)


@dataclass
class EndpointSettings:
    """An OpenAI-style endpoint that somebody else runs.

    ``model`` is the name that requests ask for. ``authorization_env`` names the environment variable whose
    value is sent as the bearer token; the value itself is recorded nowhere. Few endpoints allow
    ``return_token_ids``.
    """

    model: str = key_field()
    authorization_env: str | None = context_field(None)
    return_token_ids: bool = key_field(False)


@dataclass
class ReplaySettings:
    """A sealed run's replies, served again as they came.

    ``bundle`` is the folder of a sealed bundle below an allowed root, ``bundle_digest`` the sha256 of its
    manifest. ``speed`` 2 halves every recorded distance in time.
    """

    bundle: str = context_field()
    bundle_digest: str = key_field()
    speed: float = variable_field(1.0)


@dataclass
class EngineConfig:
    key: str = key_field()
    version: str | None = key_field()
    environment: EngineEnvironment = key_field(EngineEnvironment)
    parallel: Parallel = key_field(Parallel)
    reuse: Reuse = key_field(Reuse.fresh)
    ready_timeout_s: float = context_field(180.0)
    stop_timeout_s: float = context_field(10.0)
    port: int | None = context_field(None)  # null: a free port is taken
    settings: Any = key_field()  # typed by the engine's own schema in ENGINE_SCHEMAS


@dataclass
class TorchEngineConfig(EngineConfig):
    key: str = key_field("torch")
    settings: TorchSettings = key_field(TorchSettings)


def _elsewhere() -> EngineEnvironment:
    return EngineEnvironment(kind=EnvironmentKind.url)


@dataclass
class EndpointEngineConfig(EngineConfig):
    """``version`` null: whatever runs there. A declared one must be the one that the endpoint states."""

    key: str = key_field("openai_endpoint")
    version: str | None = unknown_field()
    environment: EngineEnvironment = key_field(_elsewhere)
    ready_timeout_s: float = context_field(10.0)
    settings: EndpointSettings = key_field(EndpointSettings)


@dataclass
class ReplayEngineConfig(EngineConfig):
    """``version`` is that of the replay's own behaviour."""

    key: str = key_field("replay")
    version: str | None = key_field("1.0.0")
    settings: ReplaySettings = key_field(ReplaySettings)


def _own_venv() -> EngineEnvironment:
    return EngineEnvironment(kind=EnvironmentKind.venv)


@dataclass
class VllmEngineConfig(EngineConfig):
    key: str = key_field("vllm")
    environment: EngineEnvironment = key_field(_own_venv)
    settings: VllmSettings = key_field(VllmSettings)


@dataclass
class SglangEngineConfig(EngineConfig):
    key: str = key_field("sglang")
    environment: EngineEnvironment = key_field(_own_venv)
    settings: SglangSettings = key_field(SglangSettings)


@dataclass
class TensorrtLlmEngineConfig(EngineConfig):
    key: str = key_field("tensorrt_llm")
    environment: EngineEnvironment = key_field(_own_venv)
    settings: TensorrtLlmSettings = key_field(TensorrtLlmSettings)


ENGINE_SCHEMAS: dict[str, type[EngineConfig]] = {
    "openai_endpoint": EndpointEngineConfig,
    "replay": ReplayEngineConfig,
    "sglang": SglangEngineConfig,
    "tensorrt_llm": TensorrtLlmEngineConfig,
    "torch": TorchEngineConfig,
    "vllm": VllmEngineConfig,
}
