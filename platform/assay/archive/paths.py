"""Where state lives below ``ASSAY_HOME``. Every path of the platform is named here, once."""

import os
from dataclasses import dataclass
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[3]
PYTHON_PATH = os.pathsep.join([str(CHECKOUT / "platform"), str(CHECKOUT)])  # of our subprocesses


@dataclass(frozen=True, slots=True)
class Home:
    """The state folder of one installation."""

    root: Path

    @property
    def store(self) -> Path:
        return self.root / "store"

    @property
    def derived(self) -> Path:
        return self.root / "derived"

    @property
    def quarantine(self) -> Path:
        return self.root / "quarantine"

    @property
    def executions(self) -> Path:
        """Working folders of live executions, one per execution id."""
        return self.root / "executions"

    @property
    def devices(self) -> Path:
        """Micro-benchmarks of machines, one JSON file each."""
        return self.root / "devices"

    @property
    def artifacts(self) -> Path:
        """Artifacts made on this machine; always an allowed root."""
        return self.root / "artifacts"

    @property
    def engines(self) -> Path:
        """Environments of engine versions, each with its parser dump; the runner makes them."""
        return self.root / "engines"

    @property
    def studies(self) -> Path:
        """Group files of one's own: ``study/NAME.yaml``, ``load/NAME.yaml``, ..."""
        return self.root / "studies"

    @property
    def models(self) -> Path:
        """Model configurations of one's own, ``<organisation>__<model>.json``."""
        return self.root / "models"

    @property
    def calibrations(self) -> Path:
        """What the load client's own error was, by host, client version and concurrency."""
        return self.root / "calibrations"

    @property
    def step_calibrations(self) -> Path:
        """Fitted parameters of a step, by host; one JSON file each, never changed."""
        return self.root / "step_calibrations"

    @property
    def broker(self) -> Path:
        return self.root / "broker"

    @property
    def searches(self) -> Path:
        """Records of searches for the highest load that meets an SLO, one JSON file each."""
        return self.root / "searches"

    @property
    def scratch(self) -> Path:
        """On the same file system as the store, so that a finished folder is renamed into place."""
        return self.root / "tmp"

    @property
    def machine_lock(self) -> Path:
        return self.root / "machine.lock"

    def bundle(self, digest: str) -> Path:
        return self.store / digest[:2] / digest


def studies_from_environment() -> Path | None:
    """The folder of one's own group files: ``ASSAY_STUDIES``, or ``studies`` of the home if it is there."""
    named = os.environ.get("ASSAY_STUDIES")
    if named:
        return Path(named).resolve()
    folder = home_from_environment().studies
    return folder if folder.is_dir() else None


def home_from_environment() -> Home:
    """``ASSAY_HOME``, or ``var/`` of the checkout."""
    return Home(Path(os.environ.get("ASSAY_HOME") or CHECKOUT / "var").resolve())
