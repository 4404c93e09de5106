"""Public logs and tables that quote what was observed on a device."""

from assay.analysis.devices.figures import SourceKind
from assay.analysis.devices.sheet import Sheet

AICONFIGURATOR = Sheet(
    title="nvidia-smi, as quoted in ai-dynamo/aiconfigurator (commit 095f58a5), systems/*.yaml",
    kind=SourceKind.third_party,
    edition="2026",
)
VLLM_LOG = Sheet(
    title="vLLM 0.19 engine log in casys-kaist/LLMServingSim (commit 5daddb21), bench/examples",
    kind=SourceKind.engine_log,
    edition=None,
)
GPT_FAST = Sheet(
    title="meta-pytorch/gpt-fast README (commit 6ecad9b5)",
    kind=SourceKind.measurement,
    edition=None,
)
