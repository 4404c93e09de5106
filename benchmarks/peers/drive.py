"""Run one public model of the same job on every configuration it can read, and print what it said as JSON.

    VENV/bin/python benchmarks/peers/drive.py PEER CHECKOUT CONFIGS > OUT.json

PEER is llm-viewer, llm-analysis, genz, infersim or aiconfigurator; CHECKOUT its repository (any folder for
aiconfigurator, which is a package); CONFIGS a folder of config.json files. Conditions: decode, 16-bit weights
and KV cache, 4,096 stored tokens, batch 1 and 32, one device, and the peer's efficiency factors as it ships
them. A configuration that the peer cannot read is an entry with the peer's own error. The figures that stand
in ``tests/data/peers/`` were made with it; docs/side-by-side.md says which versions.
"""

import contextlib
import importlib
import io
import json
import os
import shutil
import sys
import tempfile
from argparse import Namespace
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

CONTEXT = 4096
BATCHES = (1, 32)
Row = dict[str, Any]


def main(peer: str, checkout: str, configs: str) -> int:
    os.environ["HF_HUB_OFFLINE"] = "1"  # a configuration is a file here, or it is not read
    folder = Path(configs).resolve()
    os.chdir(checkout)
    sys.path.insert(0, checkout)
    read = PEERS[peer]
    rows = []
    for path in sorted(folder.glob("*.json")):
        if not path.name.endswith(".hf_quant_config.json"):
            rows.append({"model": path.stem.replace("__", "/"), **_attempt(read, path)})
    json.dump({"peer": peer, "context": CONTEXT, "rows": rows}, sys.stdout, indent=1)
    return 0


def _attempt(read: Callable[[Path], Row], path: Path) -> Row:
    said = io.StringIO()
    try:
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
            return read(path)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever a peer throws is its answer
        words = " ".join(str(error).split()).replace(tempfile.gettempdir(), "")
        return {"error": f"{type(error).__name__}: {words}"[:200]}


@contextlib.contextmanager
def _model_folder(path: Path) -> Iterator[str]:
    """A folder as the Hugging Face library wants it: the configuration under its usual name."""
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(path, Path(folder) / "config.json")
        yield folder


def llm_viewer(path: Path) -> Row:
    """The configuration file for Llama-like models is the one that its own tool picks for most of them."""
    analyzer = importlib.import_module("model_analyzer")
    with _model_folder(path) as folder:
        model = analyzer.ModelAnalyzer(folder, "nvidia_H100", "configs/Llama.py")
    row: Row = {"device": "nvidia_H100", "step_s": {}}
    for batch in BATCHES:
        total = model.analyze(CONTEXT, batch, w_bit=16, a_bit=16)["total_results"]["decode"]
        row["step_s"][batch] = total["inference_time"]
        if batch == 1:
            row["weight_bytes"] = total["load_weight"]
            row["decode_flops"] = total["OPs"]
            row["kv_bytes_per_token"] = total["store_kv_cache"]
    return row


def llm_analysis(path: Path) -> Row:
    """The latency of one forward pass at sequence length 1 has no stored context: taken from its decode."""
    analysis = importlib.import_module("llm_analysis.analysis")
    config = importlib.import_module("llm_analysis.config")
    with _model_folder(path) as folder:
        model = config.get_model_config_by_name(folder)
    made = analysis.LLMAnalysis(
        model_config=model,
        gpu_config=config.get_gpu_config_by_name("h100-sxm-80gb"),
        dtype_config=config.get_dtype_config_by_name("w16a16e16"),
        flops_efficiency=1,
        hbm_memory_efficiency=1,
    )
    row: Row = {
        "device": "h100-sxm-80gb",
        "parameters": made.get_num_params_total(),
        "weight_bytes": made.get_num_params_total() * 2,
        "kv_bytes_per_token": made.get_memory_kv_cache_per_layer(1, 1) * model.num_layers,
        "decode_flops": made.get_num_flops_fwd_total(1, 1),
        "step_s": {},
    }
    for batch in BATCHES:
        done = made.inference(
            batch_size_per_gpu=batch, seq_len=CONTEXT, num_tokens_to_generate=1,
            use_kv_cache=True, layernorm_dtype_bytes=2,
        )  # fmt: skip
        row["step_s"][batch] = done["decode_latency"]
    return row


GENZ_NAMES = {
    "meta-llama/Llama-2-7b-hf": "meta-llama/Llama-2-7B",
    "meta-llama/Llama-3.1-8B": "meta-llama/Llama-3.1-8B",
    "meta-llama/Llama-3.1-70B": "meta-llama/Llama-3.1-70B",
    "meta-llama/Llama-3.1-405B": "meta-llama/Llama-3.1-405B",
    "meta-llama/Llama-4-Scout-17B-16E-Instruct": "meta-llama/Llama-4-Scout-17B-16E",
    "Qwen/Qwen2.5-7B-Instruct": "Qwen/Qwen2.5-7B",
    "Qwen/Qwen3-8B": "Qwen/Qwen3-8B",
    "Qwen/Qwen3-32B": "Qwen/Qwen3-32B",
    "google/gemma-2-9b-it": "google/gemma-2-9B",
    "google/gemma-3-27b-it": "google/gemma-3-27B",
    "mistralai/Mixtral-8x7B-v0.1": "mistralai/Mixtral-8x7B",
    "tiiuae/falcon-7b-instruct": "tiiuae/falcon-7b-instruct",
    "THUDM/glm-4-9b-chat": "THUDM/glm-4-9b-chat",
    "openai-community/gpt2": "openai/gpt2",
    "deepseek-ai/DeepSeek-V3": "deepseek-ai/DeepSeek-V3-Base",
}
MIB, GIB = 2**20, 2**30


def genz(path: Path) -> Row:
    """GenZ reads no configuration: it has a table of models by name, used where it lists the same model."""
    library = importlib.import_module("GenZ")
    model = path.stem.replace("__", "/")
    if model not in GENZ_NAMES:
        return {"error": "reads no configuration file; the model is not in its table"}
    asked = {"model": GENZ_NAMES[model], "input_tokens": CONTEXT, "output_tokens": 0, "Bb": 1}
    asked |= {"system_name": "H100_GPU", "bits": "bf16"}
    _layers, profile = library.decode_moddeling(**asked, batch_size=1, model_profilling=True)
    table = {key: float(value) for key, value in profile.to_dict("records")[0].items()}
    row: Row = {
        "device": "H100_GPU",
        "weight_bytes": table["Total Weights (MB)"] * MIB,
        "kv_bytes_per_token": table["KV Cache (MB)"] * MIB / CONTEXT,
        "decode_flops": 2 * table["MACs (MFLOP)"] * 1e6,
        "step_s": {},
    }
    for batch in BATCHES:
        try:
            done = library.decode_moddeling(**asked, batch_size=batch)
        except ValueError as error:  # it refuses what one device cannot hold
            row["error_step"] = " ".join(str(error).split())[:160]
            break
        row["step_s"][batch] = done["Latency"] / 1e3
    return row


def aiconfigurator(path: Path) -> Row:
    """Its speed-of-light mode is a roofline; its silicon mode interpolates kernels measured on the device."""
    api = importlib.import_module("aiconfigurator.cli.api")
    row: Row = {"device": "h100_sxm", "backend": "vllm", "step_s": {}, "silicon_step_s": {}}
    text = path.read_text(encoding="utf-8")
    experts = {"moe_tp_size": 1, "moe_ep_size": 1} if "expert" in text else {}  # required for them
    with _model_folder(path) as folder:
        for mode, into in (("SOL", "step_s"), ("SILICON", "silicon_step_s")):
            for batch in BATCHES:
                try:
                    done = api.cli_estimate(
                        folder, "h100_sxm", mode="static_gen", backend_name="vllm",
                        database_mode=mode, isl=CONTEXT, osl=2, batch_size=batch, **experts,
                    )  # fmt: skip
                except Exception as error:  # noqa: BLE001 - one mode may lack what the other has
                    row[f"error_{mode.lower()}_{batch}"] = str(error).strip().splitlines()[0][:160]
                    continue
                row[into][batch] = done.tpot / 1e3
                row["backend_version"] = done.backend_version
                memory = done.summary.get_memory()
                row["weight_bytes"] = memory["weights"] * GIB
                row["kv_bytes_per_token"] = memory["kvcache"] * GIB / (batch * (CONTEXT + 2))
    if not row["step_s"]:
        return {"error": row.get("error_sol_1", "no answer")}
    return row


def infersim(path: Path) -> Row:
    config = importlib.import_module("config.model_config").ModelConfig(str(path))
    kind = "hybrid_model.HybridModel" if config.is_hybrid_linear else "model.Model"
    module, _, name = kind.partition(".")
    build = getattr(importlib.import_module(f"models.{module}"), name)
    row: Row = {"device": "H200", "step_s": {}}
    for batch in BATCHES:
        model = build(_infersim_arguments(batch), config)
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            model.print_weights_info()
            model.print_kvcache_info()
            model.print_flops_info()
            model.decoding()
        printed = {
            key.strip(): value.strip()
            for key, _, value in (line.partition(":") for line in said.getvalue().splitlines())
        }
        row["step_s"][batch] = float(printed["TPOT (ms)"]) / 1e3
        row["weight_bytes"] = float(printed["Per GPU params size (GB)"]) * 2**30
        row["kv_bytes_per_token"] = float(printed["Current per-token KV cache size (KB)"]) * 2**10
        row["decode_flops"] = float(printed["Per-token total (GFLOPs)"]) * 1e9
    return row


def _infersim_arguments(batch: int) -> Namespace:
    return Namespace(
        device_type="H200", world_size=1, tp_size=1, num_nodes=1, max_prefill_tokens=4096,
        decode_bs=batch, target_tgs=2560, target_tpot=50, target_isl=CONTEXT, target_osl=0,
        use_fp8_gemm=False, use_fp8_kv=False, enable_deepep=False, enable_tbo=False, sm_ratio=1.0,
        prefill_only=False, decode_only=True,
    )  # fmt: skip


PEERS: dict[str, Callable[[Path], Row]] = {
    "llm-viewer": llm_viewer,
    "llm-analysis": llm_analysis,
    "genz": genz,
    "infersim": infersim,
    "aiconfigurator": aiconfigurator,
}

if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
