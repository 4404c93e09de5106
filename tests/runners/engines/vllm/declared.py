"""A vLLM declaration of the shipped groups, and an environment as an installation leaves it."""

import json
from pathlib import Path
from typing import Any

import yaml

from runners.environments import locks, records
from runners.environments.pins import EnginePin

ROOT = Path(__file__).resolve().parents[4]
CONF = ROOT / "experiments" / "conf"
FIXTURES = ROOT / "tests" / "data" / "fixtures" / "vllm-0.32.0-cpu"
PIN = EnginePin(key="vllm", version="0.32.0", variant="cpu")
# Flags that take no value, of those that the tests use; the list of names does not say it.
SWITCHES = ("enable-", "enforce-eager", "async-scheduling", "cudagraph-metrics", "kv-cache-metrics")


def spec(**settings: Any) -> dict[str, Any]:
    """A RunSpec of the ready study's own groups, with some engine settings changed."""
    artifact = yaml.safe_load((CONF / "artifact" / "smollm2_135m_bf16.yaml").read_text())
    engine = yaml.safe_load((CONF / "engine" / "vllm.yaml").read_text())
    evidence = yaml.safe_load((CONF / "evidence" / "smoke.yaml").read_text())
    engine["settings"] |= settings
    engine["parallel"] = {"data": 1, "tensor": 1, "pipeline": 1, "expert": 1}
    device = {"name": "any", "kind": "cpu", "count": 1, "placement": {}}
    return {"artifact": artifact, "engine": engine, "device": device, "evidence": evidence}


def parser_dump(version: str = "0.32.0", *, without: tuple[str, ...] = ()) -> dict[str, Any]:
    """A dump with the flags that the recorded version listed."""
    names = [n for n in (FIXTURES / "cli_flags.txt").read_text().split() if n not in without]
    rows = [_row(name) for name in names]
    rows.append({"names": ["--compilation-config", "-cc"], "takes_value": True} | _REST)
    return {"version": version, "build": None, "flags": rows}


_REST: dict[str, Any] = {"choices": None, "default": "None", "deprecated": False}


def _row(name: str) -> dict[str, Any]:
    switch = name.removeprefix("--").startswith(SWITCHES)
    names = [name, name.replace("--", "--no-", 1)] if switch else [name]
    return {"names": names, "takes_value": not switch} | _REST


def install(home: Path, pin: EnginePin = PIN, **dump: Any) -> records.Environment:
    """An environment record below ``home`` with the shipped lock and a parser dump."""
    folder = home / "engines" / pin.name
    (folder / "bin").mkdir(parents=True)
    (folder / "bin" / "python").touch()
    lock = locks.shipped(PIN)
    (folder / records.LOCK).write_bytes(lock.path.read_bytes())
    (folder / records.PARSER).write_text(json.dumps(parser_dump(pin.version, **dump)))
    made = records.Environment(
        folder=folder,
        pin=pin,
        lock_sha256=lock.sha256,
        build=None,
        python="3.11.7",
        installed_at="2026-11-30T00:00:00+00:00",
        files_sha256=records.files_digest(folder),
    )
    records.write(made, folder)
    return made
