"""The environment variables of a vLLM start, and its log's form: printed to the millisecond, in UTC."""

import json
from pathlib import Path

from runners.engines.vllm import witness
from runners.engines.vllm.settings import VllmSettings

LOGGING_FILE = "vllm_logging.json"
_FORM = (
    "(%(vllm_process_name)s pid=%(process)d) %(levelname)s %(asctime)s.%(msecs)03dZ "
    "[%(fileinfo)s:%(lineno)d] %(message)s"
)

_LOGGERS = {"vllm": "INFO", "uvicorn": "INFO"}


def variables(
    settings: VllmSettings, *, device: str, scratch: Path, events: Path, domain: str
) -> dict[str, str]:
    """Only what is set here and what the runner passes through reaches the engine."""
    chosen = {
        "HF_HUB_OFFLINE": "1",  # nothing is fetched: the artifact is on disk and verified
        "VLLM_NO_USAGE_STATS": "1",
        "DO_NOT_TRACK": "1",
        "VLLM_SERVER_DEV_MODE": "1",  # /server_info: the resolved configuration
        "VLLM_CACHE_ROOT": str(scratch / "vllm_cache"),  # empty: compilation is never found done
        "VLLM_LOGGING_CONFIG_PATH": str(scratch / LOGGING_FILE),
        witness.FILE: str(events),
        witness.DOMAIN: domain,
        "TOKENIZERS_PARALLELISM": "false",
        "TZ": "UTC",
    }
    if device == "cpu":
        chosen |= _cpu(settings)
    if settings.batch_invariant:
        chosen["VLLM_BATCH_INVARIANT"] = "1"
    if settings.model_runner != "chosen":
        chosen["VLLM_USE_V2_MODEL_RUNNER"] = "1" if settings.model_runner == "v2" else "0"
    return chosen


def _cpu(settings: VllmSettings) -> dict[str, str]:
    chosen = {"VLLM_TARGET_DEVICE": "cpu"}
    if settings.kv_cache_gib is not None:
        chosen["VLLM_CPU_KVCACHE_SPACE"] = str(settings.kv_cache_gib)
    if settings.threads is not None:
        chosen["OMP_NUM_THREADS"] = str(settings.threads)
    if settings.thread_binding is not None:
        chosen["VLLM_CPU_OMP_THREADS_BIND"] = settings.thread_binding
    return chosen


def write_logging(scratch: Path) -> None:
    """vLLM's own form of a line, but for the time: its usual one is local and whole seconds."""
    formatter = {
        "()": "vllm.logging_utils.NewLineFormatter",
        "format": _FORM,
        "datefmt": "%Y-%m-%dT%H:%M:%S",
    }
    handler = {
        "class": "logging.StreamHandler",
        "formatter": "vllm",
        "level": "INFO",
        "stream": "ext://sys.stdout",
    }
    document = {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"vllm": formatter},
        "handlers": {"vllm": handler},
        "loggers": {
            name: {"handlers": ["vllm"], "level": level, "propagate": False}
            for name, level in _LOGGERS.items()
        },
    }
    (scratch / LOGGING_FILE).write_text(json.dumps(document, indent=1), encoding="utf-8")
