"""Config group ``artifact``: the exact bytes that are served, and what they mean.

An artifact is identified by immutable ids and file hashes, never by a model name.
Everything here is verified against the bytes on disk before an engine starts.
"""

from dataclasses import dataclass
from enum import StrEnum

from experiments.schema.roles import (
    MISSING,
    context_field,
    key_field,
    unknown_field,
    unknown_part,
)


class SourceKind(StrEnum):
    hf = "hf"
    package = "package"
    folder = "folder"
    endpoint = "endpoint"  # nobody has seen the bytes: whatever an endpoint elsewhere serves


class ReproducibilityLevel(StrEnum):
    """Named levels, strictest evidence last is not implied: see docs/glossary.md."""

    input = "input"
    numeric = "numeric"
    distribution = "distribution"
    semantic = "semantic"


@dataclass
class ArtifactSource:
    """Where the bytes come from.

    ``hf``: ``repository`` and a 40-hex commit sha as ``artifact.revision``.
    ``package``: ``package``, ``version``, ``wheel_sha256`` and ``path`` inside it.
    ``folder``: ``path`` below an allowed root, absolute or relative to one; the revision is the hash of its
    sorted file list. ``ASSAY_HOME/artifacts`` is always one.
    ``endpoint``: not known; revision, files, config, precision, tokenizer and template are null or empty.
    """

    kind: SourceKind = key_field()
    repository: str | None = key_field(None)
    package: str | None = key_field(None)
    version: str | None = key_field(None)
    wheel_sha256: str | None = key_field(None)
    path: str | None = context_field(None)
    upstream_repository: str | None = unknown_field()
    upstream_revision: str | None = unknown_field()


@dataclass
class ArtifactParent:
    """For a converted artifact: what it was made from, how, and by which tools.

    ``digest`` is the parent's artifact digest, ``tools`` maps each tool to its version. Null as a whole says
    that no parent is claimed; a quantized file of unknown making is then a gap, never a filled-in parent.
    """

    digest: str = key_field()
    recipe: str = key_field()
    tools: dict[str, str] = key_field(dict)


@dataclass
class WeightFile:
    path: str = key_field()
    sha256: str = key_field()
    bytes: int = key_field()
    format: str = key_field()  # gguf | safetensors | bin


@dataclass
class MoeConfig:
    experts: int = key_field()
    experts_per_token: int = key_field()
    capacity_factor: float | None = key_field(None)


@dataclass
class ModelConfig:
    """Work-determining fields of the model's own configuration.

    Units: layers, heads and dimensions are counts; ``max_length`` is tokens.
    ``h_kv`` has no default: a capacity claim without it cannot be reviewed.
    """

    architecture: str = key_field()
    L: int = key_field()
    d_model: int = key_field()
    h: int = key_field()
    h_kv: int = key_field()
    d_head: int = key_field()
    d_ff: int = key_field()
    V: int = key_field()
    max_length: int = key_field()
    position_encoding: str = key_field()
    rope_theta: float | None = key_field(None)
    norm: str = key_field("rmsnorm")
    activation: str = key_field("silu")
    gated_mlp: bool = key_field(True)
    tie_word_embeddings: bool = key_field()
    attention_bias: bool = key_field(False)
    quantization_fields: dict[str, str] = key_field(dict)
    moe: MoeConfig | None = key_field(None)
    recurrent_state: str | None = key_field(None)


@dataclass
class ScaleFactors:
    """Scale metadata of a quantized tensor: elements per scale, and the scale's own dtype."""

    block: int = key_field()
    dtype: str = key_field()
    zero_point: bool = key_field(False)


@dataclass
class Precision:
    """One of the four precisions. ``dtype`` alone is not a description: say all of it.

    ``granularity`` is tensor | channel | token | block | none; ``bits`` are stored bits per element without
    scales. ``excluded_layers`` are name patterns, ``excluded_dtypes`` the dtype of each of them.
    """

    dtype: str = key_field()
    bits: float = key_field()
    granularity: str = key_field()
    scale: ScaleFactors | None = key_field(None)
    excluded_layers: list[str] = key_field(list)
    excluded_dtypes: dict[str, str] = key_field(dict)


@dataclass
class Precisions:
    weights: Precision = key_field(Precision)
    activations: Precision = key_field(Precision)
    accumulation: Precision = key_field(Precision)
    kv: Precision = key_field(Precision)


@dataclass
class TokenizerIdentity:
    """``sha256`` is over the canonical JSON of vocabulary, merges, types, special ids and splitting rules.

    The document that is hashed is made by ``runners.artifacts.tokenizer``.
    """

    sha256: str = key_field()
    vocabulary: int = key_field()
    special_tokens: dict[str, int] = key_field(dict)
    normalization: str = key_field()
    pre_tokenization: str = key_field()


@dataclass
class ChatTemplateIdentity:
    """``sha256`` is over the template's text in UTF-8; the other fields are a reader's description of it."""

    sha256: str = key_field()
    version: str = key_field()
    roles: str = key_field()
    system_position: str = key_field()
    separators: str = key_field()
    tool_expansion: str = key_field()


@dataclass
class ToolDefinitions:
    """Tool definitions are an identity item of their own, apart from the template."""

    sha256: str | None = key_field(None)
    names: list[str] = key_field(list)


@dataclass
class GenerationConfig:
    """Sampling and stop rules that apply unless the workload says otherwise."""

    temperature: float = key_field(0.0)
    top_p: float = key_field(1.0)
    top_k: int = key_field(0)
    repetition_penalty: float = key_field(1.0)
    eos_token_ids: list[int] = key_field(list)
    stop: list[str] = key_field(list)


@dataclass
class Reproducibility:
    claimed: ReproducibilityLevel = key_field(ReproducibilityLevel.input)
    evidence: str = context_field("")


@dataclass
class ArtifactConfig:
    name: str = context_field()
    revision: str | None = unknown_field(MISSING)
    license: str = context_field("")
    source: ArtifactSource = key_field(ArtifactSource)
    parent: ArtifactParent | None = key_field(None)
    files: list[WeightFile] = key_field(list)
    config: ModelConfig | None = unknown_part(ModelConfig)
    precision: Precisions | None = unknown_part(Precisions)
    tokenizer: TokenizerIdentity | None = unknown_part(TokenizerIdentity)
    chat_template: ChatTemplateIdentity | None = unknown_part(ChatTemplateIdentity)
    tools: ToolDefinitions = key_field(ToolDefinitions)
    generation: GenerationConfig = key_field(GenerationConfig)
    reproducibility: Reproducibility = key_field(Reproducibility)
