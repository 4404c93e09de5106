"""A TensorRT-LLM declaration of the shipped group, and an environment as an installation would leave it.

Nothing here was recorded: flags are those that the 1.2 line documents.
"""

import hashlib
import json
from pathlib import Path
from typing import Any

import yaml

from runners.environments import records
from runners.environments.parsers import Flag, ParserDump
from runners.environments.pins import EnginePin

CONF = Path(__file__).resolve().parents[4] / "experiments" / "conf"
PIN = EnginePin(key="tensorrt_llm", version="1.2.1", variant="cuda")
LOCK = b"tensorrt-llm==1.2.1 \\\n    --hash=sha256:" + b"0" * 64 + b"\n"
SWITCHES = ("--trust_remote_code", "--enable_chunked_prefill")
OPTIONS = (
    *("--tokenizer", "--custom_tokenizer", "--host", "--port", "--backend", "--log_level"),
    *("--max_beam_width", "--max_batch_size", "--max_num_tokens", "--max_seq_len", "--tp_size"),
    *("--pp_size", "--cp_size", "--ep_size", "--cluster_size", "--gpus_per_node", "--revision"),
    *("--kv_cache_free_gpu_memory_fraction", "--num_postprocess_workers", "--config"),
    *("--extra_llm_api_options", "--reasoning_parser", "--tool_parser", "--otlp_traces_endpoint"),
)


def spec(**settings: Any) -> dict[str, Any]:
    """A RunSpec of the shipped groups on a GPU, with some engine settings changed."""
    artifact = yaml.safe_load((CONF / "artifact" / "smollm2_135m_bf16.yaml").read_text())
    engine = yaml.safe_load((CONF / "engine" / "tensorrt_llm.yaml").read_text())
    engine["environment"]["lock_sha256"] = hashlib.sha256(LOCK).hexdigest()
    engine["settings"] |= settings
    engine["parallel"] = {"data": 1, "tensor": 1, "pipeline": 1, "expert": 1}
    device = {"name": "any", "kind": "cuda", "count": 1, "placement": {}}
    return {"artifact": artifact, "engine": engine, "device": device}


def parser_dump() -> dict[str, Any]:
    rest: dict[str, Any] = {"choices": None, "default": "None", "deprecated": False}
    rows = [{"names": [n], "takes_value": n not in SWITCHES} | rest for n in (*OPTIONS, *SWITCHES)]
    return {"version": "1.2.1", "build": None, "flags": rows}


def dump() -> ParserDump:
    flags = [
        Flag(names=tuple(r["names"]), takes_value=r["takes_value"], choices=(), deprecated=False)
        for r in parser_dump()["flags"]
    ]
    return ParserDump(version="1.2.1", build=None, flags={n: f for f in flags for n in f.names})


def install(home: Path) -> records.Environment:
    """An environment record below ``home``, with a lock of one's own."""
    folder = home / "engines" / PIN.name
    (folder / "bin").mkdir(parents=True)
    (folder / "bin" / "python").touch()
    (folder / records.LOCK).write_bytes(LOCK)
    (folder / records.PARSER).write_text(json.dumps(parser_dump()))
    made = records.Environment(
        folder=folder,
        pin=PIN,
        lock_sha256=hashlib.sha256(LOCK).hexdigest(),
        build=None,
        python="3.11.7",
        installed_at="2026-11-30T00:00:00+00:00",
        files_sha256=records.files_digest(folder),
    )
    records.write(made, folder)
    return made
