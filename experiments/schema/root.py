"""The root of a composed study: one field per config group."""

from dataclasses import dataclass
from typing import Any

from experiments.schema.artifact import ArtifactConfig
from experiments.schema.boundary import BoundaryConfig
from experiments.schema.contract import ContractConfig
from experiments.schema.device import DeviceConfig
from experiments.schema.evidence import EvidenceConfig
from experiments.schema.load import LoadConfig
from experiments.schema.prediction import PredictionConfig
from experiments.schema.roles import context_field, key_field
from experiments.schema.study import StudyConfig
from experiments.schema.workload import WorkloadConfig

SCHEMA_VERSION = 2


@dataclass
class RootConfig:
    schema_version: int = key_field(SCHEMA_VERSION)
    study: StudyConfig = context_field(StudyConfig)
    artifact: ArtifactConfig = key_field(ArtifactConfig)
    engine: Any = key_field()  # a subclass of EngineConfig, by the chosen group file
    device: DeviceConfig = key_field(DeviceConfig)
    workload: WorkloadConfig = key_field(WorkloadConfig)
    load: LoadConfig = key_field(LoadConfig)
    contract: ContractConfig = key_field(ContractConfig)
    prediction: PredictionConfig = context_field(
        PredictionConfig
    )  # stated about a run, no part of it
    evidence: EvidenceConfig = key_field(EvidenceConfig)
    boundary: BoundaryConfig = key_field(BoundaryConfig)
