"""What a machine offers: its processors as one device, accelerators by the driver's own id, engines."""

import json
import subprocess
import sys
from importlib import metadata
from types import ModuleType

import pytest

from runners import offering
from runners.evidence import amd_smi, device_readings
from runners.protocol import clocks


def test_this_machine_is_told_with_its_processors_memory_and_engines() -> None:
    found = offering.offer()

    [processors] = [d for d in found["devices"] if d["kind"] == "cpu"]
    assert found["machine"] == clocks.boot_id()
    assert processors["id"] == f"{clocks.boot_id()}/cpu"
    assert found["memory_bytes"] > 2**28
    assert {"key": "torch", "version": metadata.version("torch").partition("+")[0]}.items() <= next(
        e for e in found["engines"] if e["key"] == "torch"
    ).items()
    assert json.loads(json.dumps(found)) == found


@pytest.mark.parametrize("maker", [device_readings, amd_smi])
def test_accelerators_bear_the_id_of_their_driver(
    monkeypatch: pytest.MonkeyPatch, maker: ModuleType
) -> None:
    fact = device_readings.DeviceFacts(
        index=3, name="NVIDIA H200", uuid="GPU-1", memory_bytes=150_754_820_096, power_limit_w=700.0
    )
    monkeypatch.setattr(maker, "facts", lambda: [fact])

    [device] = [d for d in offering.offer()["devices"] if d["kind"] == "cuda"]

    assert device == {
        "id": "GPU-1",
        "kind": "cuda",
        "index": 3,
        "name": "NVIDIA H200",
        "memory_bytes": 150_754_820_096,
    }


def test_its_network_is_the_one_of_its_own_loopback() -> None:
    alone = subprocess.run(
        ["unshare", "--user", "--net", sys.executable, "-m", "runners", "offer"],
        capture_output=True,
        text=True,
        check=False,
    )
    if alone.returncode != 0 and "unshare" in alone.stderr:
        pytest.skip(f"no network of one's own to be had here: {alone.stderr.strip()}")

    here, there = offering.offer(), json.loads(alone.stdout)
    assert here["network"].startswith(f"{here['machine']}/")
    assert here["machine"] == there["machine"]
    assert here["network"] != there["network"]
