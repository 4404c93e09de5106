"""The resolved configuration that vLLM prints at its start, as far as the run's identity asks for it.

The line is Python's own rendering of many objects and is not parsed whole: each value is looked for by its
name, at the top level or inside ``compilation_config``.
"""

import re
from collections.abc import Mapping
from typing import Any

_TOP = {
    "dtype": r"torch\.(\w+)",
    "max_seq_len": r"(\d+)",
    "tensor_parallel_size": r"(\d+)",
    "pipeline_parallel_size": r"(\d+)",
    "data_parallel_size": r"(\d+)",
    "quantization": r"(\w+)",
    "enforce_eager": r"(True|False)",
    "kv_cache_dtype": r"(\w+)",
    "device_config": r"(\w+)",
    "seed": r"(\d+)",
    "enable_prefix_caching": r"(True|False)",
    "enable_chunked_prefill": r"(True|False)",
    "speculative_config": r"(None|\w+\(.*?\))",
    "load_format": r"(\w+)",
}
_COMPILATION = {
    "mode": r"<CompilationMode\.(\w+): \d+>",
    "cudagraph_mode": r"<CUDAGraphMode\.(\w+): [^>]+>",
    "cudagraph_capture_sizes": r"(\[[\d, ]*\])",
    "backend": r"'(\w*)'",
    "custom_ops": r"(\[[^\]]*\])",
}
_PLAIN: Mapping[str, Any] = {"True": True, "False": False, "None": None}


def resolved(text: str) -> dict[str, Any]:
    """Values by name; what the line does not hold in its known form is left out."""
    found: dict[str, Any] = {}
    for name, form in _TOP.items():
        if (match := re.search(rf"(?:^|, ){name}={form}(?:,|$)", text)) is not None:
            found[name] = _plain(match[1])
    start = text.find("compilation_config={")
    if start < 0:
        return found
    inner = text[start:]
    for name, form in _COMPILATION.items():
        if (match := re.search(rf"'{name}': {form}", inner)) is not None:
            found[f"compilation.{name}"] = _plain(match[1])
    return found


def _plain(text: str) -> Any:
    if text in _PLAIN:
        return _PLAIN[text]
    if re.fullmatch(r"\[[\d, ]*\]", text):
        return [int(part) for part in re.findall(r"\d+", text)]
    return int(text) if text.isdigit() else text
