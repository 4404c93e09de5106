"""The declaration behind ``assay load``: an endpoint, a load and little else, without Hydra's composition.

A quick look is a run like any other, so its declaration is a whole one: every field that is not asked for has
its schema's default. No tokenizer and no pinned artifact stand behind it: what is not known is null.
"""

import dataclasses
from dataclasses import dataclass, field
from typing import Any

from experiments.checks.endpoints import unknown_settings
from experiments.plain import plain
from experiments.schema import (
    artifact,
    boundary,
    contract,
    device,
    engine,
    evidence,
    load,
    prediction,
)
from experiments.schema.root import RootConfig
from experiments.schema.study import StudyConfig
from experiments.schema.workload import Endpoint, WorkloadConfig

NAME = "quick_look"
STREAM_LIMIT_BYTES = 4 * 2**30


@dataclass(frozen=True, slots=True, kw_only=True)
class QuickLook:
    """What ``assay load`` is asked for. Either ``concurrency`` or ``rate_per_s``; lengths in tokens.

    ``input_tokens`` is a number of common words here, each about a token: the server counts the real ones.
    """

    url: str
    model: str
    kind: load.LoadKind
    concurrency: int | None
    rate_per_s: float | None
    requests: int
    input_tokens: int
    output_tokens: int
    endpoint: Endpoint = Endpoint.chat
    warmup_requests: int = 0
    ignore_eos: bool = True
    timeout_s: float | None = 120.0
    drain_s: float = 120.0
    processes: int = 1
    seed: int = 0
    authorization_env: str | None = None
    calibrate: bool = False
    slo: contract.ServiceLevel = field(default_factory=contract.ServiceLevel)


def declaration(asked: QuickLook) -> dict[str, Any]:
    """The whole run document of a quick look, as composing the groups would give it."""
    root = RootConfig(
        study=StudyConfig(name=NAME, title=f"A quick look at {asked.model}"),
        artifact=_unknown_artifact(),
        engine=engine.EndpointEngineConfig(
            environment=engine.EngineEnvironment(kind=engine.EnvironmentKind.url, url=asked.url),
            settings=engine.EndpointSettings(
                model=asked.model, authorization_env=asked.authorization_env
            ),
        ),
        device=device.DeviceConfig(name="not known", kind="cpu"),
        workload=_workload(asked),
        load=_load(asked),
        contract=contract.ContractConfig(name="single_request", slo=asked.slo),
        prediction=prediction.PredictionConfig(enabled=False),
        evidence=evidence.EvidenceConfig(
            calibrate_client=asked.calibrate,
            stream_limit_bytes=STREAM_LIMIT_BYTES,
            trace=evidence.TraceConfig(enabled=False),
        ),
        boundary=boundary.BoundaryConfig(
            sut="whatever answers at the declared URL, from the client's socket on",
            included=["network, gateway, TLS and engines between the client and the answer"],
            dependency_accounting="calls that the endpoint makes elsewhere are not seen",
            tool_assumption="no tools are called",
            buffering={
                "client": "none; every socket read is stamped as it arrives",
                "gateway": "not known",
                "engine": "not known",
            },
        ),
    )
    return dict(plain(dataclasses.asdict(root)))


def _unknown_artifact() -> artifact.ArtifactConfig:
    return artifact.ArtifactConfig(
        name="unknown",
        revision=None,
        source=artifact.ArtifactSource(kind=artifact.SourceKind.endpoint),
        config=None,
        precision=None,
        tokenizer=None,
        chat_template=None,
    )


def _workload(asked: QuickLook) -> WorkloadConfig:
    return WorkloadConfig(
        name=NAME,
        endpoint=asked.endpoint,
        input_tokens=asked.input_tokens,
        output_tokens=asked.output_tokens,
        requests=asked.requests,
        # ignoring the end of text is this client's habit, not the asker's wish: only where it can be said
        ignore_eos=asked.ignore_eos and "ignore_eos" not in unknown_settings(asked.endpoint),
        warmup_requests=asked.warmup_requests,
        warmup_input_tokens=asked.input_tokens,
        warmup_output_tokens=asked.output_tokens,
        seed=asked.seed,
    )


def _load(asked: QuickLook) -> load.LoadConfig:
    return load.LoadConfig(
        kind=asked.kind,
        concurrency=asked.concurrency,
        rate_per_s=asked.rate_per_s,
        drain_s=asked.drain_s,
        timeouts=load.Timeouts(
            connect_s=30.0, first_byte_s=asked.timeout_s, total_s=asked.timeout_s
        ),
        processes=asked.processes,
        seed=asked.seed,
    )
