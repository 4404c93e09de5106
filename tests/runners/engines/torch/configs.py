"""Server configurations for tests that need no adapter."""

from pathlib import Path
from typing import Any

from runners.engines.torch.settings import GenerationDefaults, ServerConfig
from tests.runners.engines.torch.steps import settings


def server_config(weight_file: Path, weight_format: str, **changed: Any) -> ServerConfig:
    return ServerConfig(
        engine_version="2.13.0",
        execution_id="execution-1",
        host="127.0.0.1",
        port=1,
        model_name="served",
        weight_file=str(weight_file),
        weight_sha256=None,
        weight_format=weight_format,
        events_file="/nowhere",
        trace_folder="/nowhere",
        settings=settings(**changed),
        generation=GenerationDefaults(
            temperature=0.0,
            top_p=1.0,
            top_k=0,
            repetition_penalty=1.0,
            eos_token_ids=(),
            stop=(),
        ),
    )
