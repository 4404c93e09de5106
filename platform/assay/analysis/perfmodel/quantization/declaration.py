"""What a file declares of a quantized model: the fields as they were read, and the formats they mean."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from assay.analysis.perfmodel.errors import ModelRefused
from assay.analysis.perfmodel.precision import StoredFormat
from assay.analysis.perfmodel.quantization.module_patterns import ModulePatterns
from assay.analysis.perfmodel.quantization.weight_formats import Rule, any_tensor
from runners.protocol.errors import Finding

# How a checkpoint was made: no size and no executed type depends on it.
MAKING = frozenset(
    [
        "amp",
        "autoround_version",
        "auto_round_version",
        "backend",
        "batch_size",
        "bits_and_bytes",
        "calibration",
        "cache_block_outputs",
        "cache_examples_on_gpu",
        "damp_percent",
        "damp_auto_increment",
        "data_type",
        "dataset",
        "enable_minmax_tuning",
        "enable_norm_bias_tuning",
        "enable_quanted_input",
        "exllama_config",
        "fuse_max_seq_len",
        "gradient_accumulate_steps",
        "iters",
        "low_gpu_mem_usage",
        "lr",
        "max_input_length",
        "meta",
        "minmax_lr",
        "model_file_base_name",
        "model_name_or_path",
        "model_seqlen",
        "module_name_preceding_first_block",
        "nsamples",
        "pack_dtype",
        "pad_token_id",
        "producer",
        "provider",
        "quant_block_list",
        "quant_library",
        "quantizer",
        "scale_dtype",
        "seqlen",
        "static_groups",
        "tokenizer",
        "true_sequential",
        "use_cuda_fp16",
        "use_exllama",
        "version",
        "block_name_to_quantize",
        "modules_to_fuse",
        "do_fuse",
        "quantization_status_history",
    ]
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Activations:
    """What the products' other operand is stored as. ``dtype`` None: the model's own, unquantized.

    ``scale`` says how its scales are found: ``none``, ``static per tensor``, ``dynamic per token``, ...
    """

    dtype: str | None = None
    scale: str = "none"


UNQUANTIZED = Activations()


@dataclass(frozen=True, slots=True, kw_only=True)
class Quantized:
    """One method's reading of a declaration: where which format is, and what activations become."""

    label: str
    rules: tuple[Rule, ...]
    activations: Activations = UNQUANTIZED
    assumptions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Fields:
    """An object of a file under its name ``where``, so that every refusal names the field."""

    values: Mapping[str, Any]
    where: str

    def get(self, name: str) -> Any:
        return self.values.get(name)

    def check_known(self, known: Iterable[str]) -> None:
        """Refuse a field that nobody here knows, unless it is empty or says how the checkpoint was made."""
        understood = {*known, *MAKING, "quant_method", "kv_cache_scheme"}
        for name, value in self.values.items():
            if name not in understood and value not in (None, False, "", [], {}):
                raise self.refused(name, "; ".join(sorted(set(known))))

    def choice(self, name: str, allowed: Collection[Any], default: Any = None) -> Any:
        """The field's value if it is one of ``allowed``; ``default`` where it is absent or null."""
        value = self.values.get(name)
        if value is None:
            value = default
        if value not in allowed or isinstance(value, bool) is not isinstance(
            next(iter(allowed)), bool
        ):
            raise self.refused(name, ", ".join(str(one) for one in allowed))
        return value

    def count(self, name: str, default: int | None = None) -> int:
        """A positive whole number."""
        value = self.values.get(name, default)
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise self.refused(name, "a positive whole number")
        return value

    def part(self, name: str) -> "Fields":
        """An object inside the object."""
        value = self.values.get(name)
        if not isinstance(value, Mapping):
            raise self.refused(name, "an object")
        return Fields(values=value, where=f"{self.where}.{name}")

    def names(self, *fields: str) -> ModulePatterns:
        """The entries of the first of ``fields`` that has any."""
        for name in fields:
            value = self.values.get(name)
            if value in (None, [], ()):
                continue
            if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
                raise self.refused(name, "a list of module names")
            return ModulePatterns(entries=tuple(value), where=f"{self.where}.{name}")
        return ModulePatterns(entries=(), where=f"{self.where}.{fields[0]}")

    def excluded(self, rest: StoredFormat, *fields: str) -> tuple[Rule, ...]:
        """A rule that keeps what ``fields`` name in ``rest``; none where they name nothing."""
        names = self.names(*fields)
        return (Rule(stored=rest, kind=any_tensor, names=names),) if names.entries else ()

    def refused(self, name: str, allowed: str) -> ModelRefused:
        return ModelRefused(
            Finding(
                field=f"{self.where}.{name}",
                seen=str(self.values.get(name, "absent")),
                allowed=allowed,
                remedy="This is not modelled; pass --weight-dtype to state the executed type.",
            )
        )
