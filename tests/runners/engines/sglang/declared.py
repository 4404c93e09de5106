"""An SGLang declaration of the shipped groups, and an environment as an installation leaves it, fileless."""

import json
from pathlib import Path
from typing import Any

import yaml

from runners.environments import locks, records
from runners.environments.parsers import Flag, ParserDump
from runners.environments.pins import EnginePin

ROOT = Path(__file__).resolve().parents[4]
CONF = ROOT / "experiments" / "conf"
FIXTURES = ROOT / "tests" / "data" / "fixtures" / "sglang-0.5.23-cpu"
PIN = EnginePin(key="sglang", version="0.5.23", variant="cpu")
# Flags that take no value, of those that the tests use; the list of names does not say it.
SWITCHES = ("--enable-", "--disable-", "--log-requests", "--skip-server-warmup")
_REST: dict[str, Any] = {"choices": None, "default": "None", "deprecated": False}


def spec(**settings: Any) -> dict[str, Any]:
    """A RunSpec of the ready study's own groups, with some engine settings changed."""
    artifact = yaml.safe_load((CONF / "artifact" / "smollm2_135m_bf16.yaml").read_text())
    engine = yaml.safe_load((CONF / "engine" / "sglang.yaml").read_text())
    evidence = yaml.safe_load((CONF / "evidence" / "smoke.yaml").read_text())
    engine["settings"] |= settings
    engine["parallel"] = {"data": 1, "tensor": 1, "pipeline": 1, "expert": 1}
    device = {"name": "any", "kind": "cpu", "count": 1, "placement": {}}
    return {"artifact": artifact, "engine": engine, "device": device, "evidence": evidence}


def parser_dump(version: str = "0.5.23", *, without: tuple[str, ...] = ()) -> dict[str, Any]:
    """A dump with the flags that the recorded version listed."""
    names = [n for n in (FIXTURES / "cli_flags.txt").read_text().split() if n not in without]
    rows = [{"names": [n], "takes_value": not _is_switch(n)} | _REST for n in names]
    return {"version": version, "build": None, "flags": rows}


def dump(*, without: tuple[str, ...] = ()) -> ParserDump:
    document = parser_dump(without=without)
    flags = [
        Flag(names=tuple(r["names"]), takes_value=r["takes_value"], choices=(), deprecated=False)
        for r in document["flags"]
    ]
    return ParserDump(version="0.5.23", build=None, flags={n: f for f in flags for n in f.names})


def _is_switch(name: str) -> bool:
    return name.startswith(SWITCHES) and not name.startswith("--log-requests-")


def install(home: Path, pin: EnginePin = PIN, **changed: Any) -> records.Environment:
    """An environment record below ``home`` with the shipped lock and a parser dump."""
    folder = home / "engines" / pin.name
    (folder / "bin").mkdir(parents=True)
    (folder / "bin" / "python").touch()
    lock = locks.shipped(PIN)
    (folder / records.LOCK).write_bytes(lock.path.read_bytes())
    (folder / records.PARSER).write_text(json.dumps(parser_dump(pin.version, **changed)))
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
