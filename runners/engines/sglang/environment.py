"""The environment variables of an SGLang start, and what stands in for packages without a CPU build."""

from pathlib import Path

from runners.engines.sglang.settings import SglangSettings
from runners.protocol import layout

# No build of these fits a CPU start; empty modules of ours are imported in their place. That is no supported
# configuration of SGLang, and every record of such a run says so.
STAND_INS = ("torchvision", "sgl_kernel")
STAND_INS_FOLDER = Path(__file__).parent / "stand_ins"
UNSUPPORTED = (
    "not a supported configuration: SGLang on a CPU without its CUDA packages, with empty stand-ins for "
    + " and ".join(STAND_INS)
)


def variables(
    settings: SglangSettings, *, device: str, bundle: Path, scratch: Path
) -> dict[str, str]:
    """Only what is set here and what the runner passes through reaches the engine."""
    chosen = {
        "HF_HUB_OFFLINE": "1",  # nothing is fetched: the artifact is on disk and verified
        "TOKENIZERS_PARALLELISM": "false",
        "TZ": "UTC",
        "SGLANG_LOG_MS": "1",  # printed times to the millisecond
        "SGLANG_LOG_FORWARD_ITERS": "1",  # each step with its number
        "SGLANG_LOG_REQUEST_HEADERS": "x-request-id",  # the attempt's id: the ledgers join on it
        "SGLANG_TORCH_PROFILER_DIR": str(bundle / layout.TRACE_FOLDER),
        # empty at every start: compilation is never found done
        "TORCHINDUCTOR_CACHE_DIR": str(scratch / "inductor"),
        "TRITON_CACHE_DIR": str(scratch / "triton"),
    }
    if device == "cpu":
        chosen |= {"SGLANG_USE_CPU_ENGINE": "1", "PYTHONPATH": str(STAND_INS_FOLDER)}
        if settings.threads is not None:
            chosen["OMP_NUM_THREADS"] = str(settings.threads)
    return chosen


def unsupported(device: str) -> str | None:
    """What every record of a run on this device says of its configuration; null if it is supported."""
    return UNSUPPORTED if device == "cpu" else None
