"""A schedule on new engine versions fires once for each newer one that is installed, and says so."""

import json
from collections.abc import Sequence
from datetime import UTC, datetime, time, timedelta
from typing import Any

import pytest

from assay.accounts.services import main_project
from assay.archive.installed_engines import installed_versions
from assay.archive.paths import Home
from assay.ledger.ids import uuid7
from assay.ledger.models import Study
from assay.regressions import firing, schedules
from assay.regressions.models import Firing, Schedule, Trigger
from assay.regressions.new_versions import write_versions
from tests.assay.regressions.installed import install

pytestmark = pytest.mark.django_db

NOW = datetime(2027, 1, 10, tzinfo=UTC)
ENGINE: dict[str, Any] = {
    "key": "vllm",
    "version": "0.32.0",
    "environment": {"kind": "venv", "lock_sha256": "a" * 64},
}


def schedule(**more: Any) -> Schedule:
    wanted = schedules.Wanted(
        name="on release",
        project_id=main_project().pk,
        overrides=["study=smollm2_vllm"],
        owner="ada",
        trigger=Trigger.engine_version,
        **more,
    )
    return schedules.make(wanted)


def look(one: Schedule, home: Home, at: datetime = NOW) -> list[str]:
    """The versions that this look wrote down a firing for."""
    before = set(one.firings.values_list("version", flat=True))
    write_versions(one, ENGINE["version"], installed_versions(home, ENGINE), at)
    return sorted(set(one.firings.values_list("version", flat=True)) - before)


def test_each_newer_version_fires_once_and_an_older_one_never(assay_home: Home) -> None:
    one = schedule()
    install(assay_home, "vllm", "0.31.0", "0.32.0")
    assert look(one, assay_home) == []

    install(assay_home, "vllm", "0.33.0", "0.33.1")

    assert look(one, assay_home) == ["0.33.0", "0.33.1"]
    assert look(one, assay_home, NOW + timedelta(minutes=1)) == []
    install(assay_home, "vllm", "0.32.5")  # older than what was fired for
    assert look(one, assay_home, NOW + timedelta(minutes=2)) == []


def test_a_version_of_another_engine_or_kind_of_build_does_not_fire(assay_home: Home) -> None:
    one = schedule()
    install(assay_home, "sglang", "0.99.0")
    install(assay_home, "vllm", "0.34.0", variant="cuda13", lock="c" * 64)
    install(assay_home, "vllm", "0.32.0", lock="a" * 64)  # the declared one: its variant counts
    (assay_home.engines / ".vllm-0.35.0-cpu.77").mkdir()  # being made

    assert look(one, assay_home) == []


def test_its_run_declares_that_version_and_the_history_names_it(assay_home: Home) -> None:
    one = schedule()
    install(assay_home, "vllm", "0.33.0")
    submitted: list[Sequence[str]] = []

    def submit(_schedule: Schedule, overrides: Sequence[str]) -> Study:
        submitted.append(overrides)
        return Study.objects.create(id=uuid7(), name="x")

    look(one, assay_home)
    firing.submit_due(NOW, submit)
    firing.submit_due(NOW, submit)

    lock = json.loads((assay_home.engines / "vllm-0.33.0-cpu" / "environment.json").read_text())
    assert submitted == [
        ["engine.version=0.33.0", f"engine.environment.lock_sha256={lock['lock_sha256']}"]
    ]
    found = Firing.objects.get()
    assert (found.version, found.state) == ("0.33.0", "submitted")
    assert found.note == "vllm-0.33.0-cpu has version 0.33.0"


def test_quiet_hours_hold_it(assay_home: Home) -> None:
    one = schedule(quiet_from=time(0), quiet_to=time(6))
    install(assay_home, "vllm", "0.33.0")

    look(one, assay_home)

    assert Firing.objects.get().due_at == NOW + timedelta(hours=6)


def test_what_a_worker_elsewhere_offers_counts_as_installed(assay_home: Home) -> None:
    pin = {"key": "vllm", "version": "0.33.0", "variant": "cpu"}
    offered = [("venv", {"pin": pin, "lock_sha256": "b" * 64}), ("container", {"pin": pin})]

    (found,) = installed_versions(assay_home, ENGINE, offered)

    assert found.overrides == (
        "engine.version=0.33.0",
        f"engine.environment.lock_sha256={'b' * 64}",
    )


def test_the_version_may_move_in_its_series() -> None:
    assert schedule().variable == "engine.version"


def test_the_torch_engine_has_the_version_of_its_distribution(assay_home: Home) -> None:
    declared = {"key": "torch", "version": "2.0.0", "environment": {"kind": "platform"}}

    (found,) = installed_versions(assay_home, declared)

    assert found.overrides == (f"engine.version={found.version}",)
    assert "+" not in found.version
