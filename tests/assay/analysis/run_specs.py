"""A run specification with the parts that predictions read, close to the example study."""

from typing import Any

PLAN_DIGEST = "b" * 64


def spec(**load: Any) -> dict[str, Any]:
    return {
        "schema_version": 2,
        "artifact": {
            "config": {
                "architecture": "llama", "L": 30, "d_model": 576, "h": 9, "h_kv": 3, "d_head": 64,
                "d_ff": 1536, "V": 49152, "max_length": 8192, "tie_word_embeddings": True,
                "attention_bias": False, "gated_mlp": True, "moe": None, "recurrent_state": None,
            },
            "files": [{"path": "model.gguf", "bytes": 98362432, "sha256": "c" * 64, "format": "gguf"}],
            "precision": {
                "weights": {
                    "dtype": "Q4_1", "bits": 4, "granularity": "block",
                    "excluded_layers": ["token_embd.weight", "*_norm.weight"],
                    "excluded_dtypes": {"token_embd.weight": "Q8_0", "*_norm.weight": "F32"},
                }
            },
        },
        "engine": {
            "key": "torch",
            "settings": {
                "weights": "dequantized", "dtype": "float32", "kv_dtype": "float32", "max_batch": 8,
                "token_budget": 256, "block_tokens": 16, "kv_blocks": 512, "threads": 2,
            },
        },
        "workload": {
            "input_tokens": 64, "output_tokens": 24, "requests": 16,
            "cases": [
                {"name": "short", "input_tokens": 32, "output_tokens": 16, "cancel": None},
                {"name": "long_input", "input_tokens": 1024, "output_tokens": 16, "cancel": None},
                {"name": "active_cancel", "input_tokens": 64, "output_tokens": 256,
                 "cancel": {"after_chunks": 12}},
            ],
        },
        "load": {"kind": "closed", "concurrency": 4, "rate_per_s": None} | load,
        "prediction": {"enabled": True, "coverage": 0.9},
    }  # fmt: skip
