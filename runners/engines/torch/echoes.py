"""What the engine says of itself once it is loaded: one document for log, /server_info and event log.

Each label is one line of the engine's log, so that evidence can point at a line.
"""

import os
import platform
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import torch

from runners.engines.torch import attention_names, versions
from runners.engines.torch.paged_cache import PagedCache
from runners.engines.torch.pooling import STATED
from runners.engines.torch.settings import EngineSettings, ServerConfig
from runners.protocol import host

LABELS = (
    "engine_version",
    "launch_configuration",
    "model_runner",
    "attention_gemm_backend",
    "graph_compile_mode",
    "hardware_runtime",
    "precision_path",
    "parallel_layout",
    "model",
    "kv_cache",
    "load_times",
)


def server_info(
    config: ServerConfig,
    *,
    model: Mapping[str, Any],
    cache: PagedCache,
    load_times: Mapping[str, float],
    eos_token_ids: Sequence[int],
) -> dict[str, Any]:
    """The resolved configuration by label; each value is asked of what was loaded where that can be asked."""
    settings = config.settings
    return {
        "engine_version": version_document() | _modified(settings),
        "launch_configuration": {
            "settings": asdict(settings),
            "generation": asdict(config.generation),
            "model_name": config.model_name,
            "eos_token_ids": list(eos_token_ids),
            "entry": "python -m runners.engines.torch",
            "environment": _environment(),
            "affinity": sorted(os.sched_getaffinity(0)),
        },
        "model_runner": {
            "runner": "flattened batch of variable lengths over a paged KV cache, logits of last rows only",
            "class": model["class"],
            "transformers": versions.installed("transformers"),
            "layers": model["layers"],
            "scheduler": "token budget, chunked prefill, first in first out",
            "when_out_of_blocks": settings.when_out_of_blocks,
            "logits_vocabulary": model["vocabulary"],
            "pooling": STATED,
        },
        "attention_gemm_backend": {
            "attention": model["attention"],
            "attention_inner": "torch.nn.functional.scaled_dot_product_attention",
            "linear": model["linear_class"],
            "blas": _blas(),
        },
        "graph_compile_mode": {
            "mode": "eager",
            "torch_compile": False,
            "graphs": False,
            "inference_mode": True,
        },
        "hardware_runtime": hardware(),
        "precision_path": {
            "weights_in_file": config.weight_format,
            "weights_in_memory": settings.weights,
            "weight_tensors_by_dtype": model["weight_tensors_by_dtype"],
            "weight_bytes_in_memory": model["weight_bytes_in_memory"],
            "compute": settings.dtype,
            "kv": settings.kv_dtype,
            "float32_matmul_precision": torch.get_float32_matmul_precision(),
        },
        "parallel_layout": {
            "tensor_parallel": 1,
            "pipeline_parallel": 1,
            "data_parallel": 1,
            "communication": None,
            "torch_distributed_initialised": torch.distributed.is_available()
            and torch.distributed.is_initialized(),
        },
        "kv_cache": {
            "blocks": settings.kv_blocks,
            "block_tokens": settings.block_tokens,
            "tokens": settings.kv_tokens,
            "longest_request": settings.longest_request,
            "dtype": settings.kv_dtype,
            "bytes_allocated": cache.allocated_bytes,
            "prefix_cache": False,
        },
        "load_times": dict(load_times),
        "model": dict(model),
    }


def version_document() -> dict[str, Any]:
    """The body of /version, with the versions of everything on the request's path."""
    torch_version = versions.installed("torch") or torch.__version__
    return {
        "version": versions.public(torch_version),
        "engine": versions.NAME,
        "build": versions.build_digest(),
        "torch_commit": torch.version.git_version,
        "python": platform.python_version(),
        **versions.recorded(),
        "attention": attention_names.IMPLEMENTATION,
    }


def _modified(settings: EngineSettings) -> dict[str, str]:
    """Nothing for the engine that its version names; else what was done to it."""
    return {"modified": settings.modification} if settings.modification else {}


def hardware() -> dict[str, Any]:
    described = host.describe()
    return {
        "cpu_model": described["cpu_model"],
        "cpu_identity": described["cpu_identity"],
        "cpu_capability": torch.backends.cpu.get_cpu_capability(),
        "instruction_sets": described["instruction_sets"],
        "logical_cpus": described["logical_cpus"],
        "machine": described["machine"],
        "kernel": platform.release(),
        "device": "cpu",
        "torch_threads": torch.get_num_threads(),
        "torch_interop_threads": torch.get_num_interop_threads(),
        "mkl": torch.backends.mkl.is_available(),
        "onednn": torch.backends.mkldnn.is_available(),
        "openmp": torch.backends.openmp.is_available(),
        "torch_build": [line.strip(" -") for line in torch.__config__.show().splitlines()],
    }


def _blas() -> str | None:
    """The BLAS that torch was built with, by its own build line; which kernel runs below aten is not seen."""
    found = re.search(r"BLAS_INFO=(\w+)", torch.__config__.show())
    return found.group(1) if found else None


def _environment() -> dict[str, str]:
    """Variables that change how torch computes. Nothing else of the environment is recorded."""
    prefixes = ("OMP_", "KMP_", "MKL_", "ONEDNN_", "DNNL_", "ATEN_", "TORCH_", "GOMP_", "KINETO_")
    names = ("LD_PRELOAD", "MALLOC_CONF", "MALLOC_ARENA_MAX")
    return {
        name: value
        for name, value in sorted(os.environ.items())
        if name.startswith(prefixes) or name in names
    }
