"""A tiny random llama: as a model in memory, as a safetensors folder, and as a GGUF file."""

import json
from pathlib import Path
from typing import Any, cast

import gguf
import numpy as np
import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM

from runners.engines.torch import attention, attention_names
from runners.engines.torch.kv_blocks import BlockPool
from runners.engines.torch.model_runner import ModelRunner
from runners.engines.torch.scheduler import Running, Segment
from tests.runners.engines.torch.launched import spec
from tests.runners.engines.torch.steps import call, settings

VOCABULARY = 300
LAYERS, HEADS, H_KV, D_HEAD = 2, 4, 2, 16


def config(**changed: Any) -> LlamaConfig:
    values: dict[str, Any] = {
        "vocab_size": VOCABULARY,
        "hidden_size": HEADS * D_HEAD,
        "intermediate_size": 128,
        "num_hidden_layers": LAYERS,
        "num_attention_heads": HEADS,
        "num_key_value_heads": H_KV,
        "head_dim": D_HEAD,
        "max_position_embeddings": 512,
        "tie_word_embeddings": True,
        "bos_token_id": 0,
        "eos_token_id": 1,
        "initializer_range": 0.4,  # wide, so that answers differ and are no ties
    }
    return LlamaConfig(**(values | changed))


def model(*, paged: bool, dtype: torch.dtype = torch.float32) -> LlamaForCausalLM:
    """The same weights each time; ``paged`` attends over the engine's cache, else as transformers does."""
    attention.register()
    torch.set_num_threads(1)  # for so little work a second thread only waits
    torch.manual_seed(7)
    made: Any = LlamaForCausalLM(config())
    made.to(dtype).eval().requires_grad_(False)
    made.set_attn_implementation(attention_names.IMPLEMENTATION if paged else "eager")
    return cast(LlamaForCausalLM, made)


def runner(dtype: str = "float32", **changed: Any) -> ModelRunner:
    used = settings(dtype=dtype, **{"kv_dtype": dtype, **changed})
    return ModelRunner(model(paged=True, dtype=getattr(torch, dtype)), used)


def last_logits(made: ModelRunner, tokens: list[int], *, block_tokens: int = 4) -> torch.Tensor:
    """Logits after ``tokens``, computed alone and in one piece."""
    pool = BlockPool(total=len(made.cache.keys[0]), block_tokens=block_tokens)
    entry = Running(call=call("alone", tokens, 1), tokens=list(tokens))
    pool.take("alone", pool.blocks_for(len(tokens)))
    segment = Segment(running=entry, start=0, count=len(tokens), phase="prefill", recomputed=0)
    return made.logits([segment], pool)[0]


def tokenizer() -> Tokenizer:
    """Bytes and nothing else, after two special tokens."""
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {letter: number + 2 for number, letter in enumerate(letters)}
    made = Tokenizer(models.BPE(vocab={"<s>": 0, "</s>": 1, **vocabulary}, merges=[]))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    made.add_special_tokens(["<s>", "</s>"])
    return made


def save(folder: Path) -> Path:
    """A Hugging Face folder; returns its weight file."""
    model(paged=False).save_pretrained(folder)
    tokenizer().save(str(folder / "tokenizer.json"))
    template = "{% for m in messages %}{{ m['content'] }}\n{% endfor %}"
    settings_beside = {"eos_token": "</s>", "bos_token": "<s>", "chat_template": template}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings_beside))
    return folder / "model.safetensors"


def tiny_spec(**changed: Any) -> dict[str, Any]:
    """A RunSpec that serves the saved folder."""
    declared = spec(**{"kv_blocks": 64, "max_length": 512, "threads": 1, **changed})
    declared["artifact"] |= {
        "name": "tiny",
        "files": [
            {"path": "model.safetensors", "sha256": "0" * 64, "bytes": 1, "format": "safetensors"}
        ],
    }
    declared["artifact"]["generation"]["eos_token_ids"] = [1]
    return declared


def write_gguf(path: Path, weight_type: gguf.GGMLQuantizationType) -> LlamaForCausalLM:
    """A GGUF file of the model, llama.cpp's row order in q and k included; returns the model it came from."""
    made = model(paged=False)
    writer = gguf.GGUFWriter(path, "llama")
    _metadata(writer)
    for name, values in made.state_dict().items():
        array = _llama_cpp_rows(name, values.numpy())
        target = _NAMES.get(name) or _layer_name(name)
        if target is None:
            continue
        if array.ndim == 1:
            writer.add_tensor(target, array.astype(np.float32))
            continue
        kind = gguf.GGMLQuantizationType.Q8_0 if "embed" in name else weight_type
        writer.add_tensor(target, gguf.quants.quantize(array, kind), raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return made


_NAMES = {
    "model.embed_tokens.weight": "token_embd.weight",
    "model.norm.weight": "output_norm.weight",
}
_PARTS = {
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
    "input_layernorm": "attn_norm",
    "post_attention_layernorm": "ffn_norm",
}


def _layer_name(name: str) -> str | None:
    if not name.startswith("model.layers."):
        return None
    number, _, part = name.removeprefix("model.layers.").removesuffix(".weight").partition(".")
    return f"blk.{number}.{_PARTS[part]}.weight"


def _llama_cpp_rows(name: str, array: np.ndarray) -> np.ndarray:
    """The order in which llama.cpp's converter writes rotary rows: halves interleaved."""
    heads = {"q_proj": HEADS, "k_proj": H_KV}.get(name.split(".")[-2])
    if heads is None:
        return array
    rows = array.reshape(heads, 2, array.shape[0] // heads // 2, -1)
    return np.ascontiguousarray(rows.swapaxes(1, 2).reshape(array.shape))


def _metadata(writer: gguf.GGUFWriter) -> None:
    made = config()
    writer.add_context_length(made.max_position_embeddings)
    writer.add_block_count(LAYERS)
    writer.add_embedding_length(made.hidden_size)
    writer.add_feed_forward_length(made.intermediate_size)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(H_KV)
    writer.add_rope_dimension_count(D_HEAD)
    writer.add_rope_freq_base(10000.0)
    writer.add_layer_norm_rms_eps(made.rms_norm_eps)
    writer.add_vocab_size(VOCABULARY)
    letters = tokenizer().get_vocab()
    tokens = sorted(letters, key=letters.__getitem__)
    tokens += [f"<unused{number}>" for number in range(VOCABULARY - len(tokens))]
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list(tokens)
    writer.add_token_types([3, 3] + [1] * (VOCABULARY - 2))
    writer.add_token_merges(["a b"])
    writer.add_bos_token_id(0)
    writer.add_eos_token_id(1)
