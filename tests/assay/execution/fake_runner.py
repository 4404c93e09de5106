"""A runner that keeps the contract of ``python -m runners`` and measures nothing: for tests of the platform.

How it behaves is told as JSON (see behaviour.py): {"prepare": 0|2|3, "execute": "seal"|"fail"|"crash"|"hang"|
"deaf"|"unready"|"damage"|"any", "seconds": float, "reap": exit code, "hang_in": "prepare"|"execute"|"seal"|
"interpret", "devices", "engines": what is offered}.
"""

import contextlib
import json
import os
import signal
import socket
import sys
import time
from pathlib import Path
from typing import Any

from runners.protocol import layout, manifest
from tests.assay.execution import behaviour

BEHAVIOUR = behaviour.told()


def prepare(request_path: Path, out: Path) -> int:
    code = int(BEHAVIOUR.get("prepare", 0))
    if code > 3:
        sys.stderr.write("the fake broke down\n")
        return code
    if code:
        finding = {
            "field": "artifact.files",
            "seen": "another sha256",
            "allowed": "the declared one",
            "remedy": "Fetch the file again.",
        }
        print(json.dumps({"ok": False, "findings": [finding]}))
        return code
    request = json.loads(request_path.read_bytes())
    if request["context"]["execution_id"]:  # else it is only a look whether it could start
        behaviour.hang("prepare")
    bundle = out / layout.BUNDLE_FOLDER
    bundle.mkdir(parents=True)
    (bundle / layout.SPEC).write_bytes(manifest.canonical(request["spec"]))
    (bundle / layout.PROMPTS).write_bytes(b"the prompt")
    (bundle / layout.PLAN).write_bytes(b"the plan")
    context = {**request["context"], "spec_digest": request["spec_digest"], "plan_digest": "b" * 64}
    (out / layout.CONTEXT).write_text(json.dumps(context))
    print(json.dumps({"ok": True, "plan_digest": "b" * 64, "plan": {}, "estimated_bytes": 1}))
    return 0


def execute(out: Path) -> int:
    stopped: list[int] = []
    signal.signal(signal.SIGINT, lambda number, _frame: stopped.append(number))
    how, seconds = behaviour.chosen(out)
    _tell(out, "launch", 0, 2, "the engine is starting")
    (out / "runner.pid").write_text(str(os.getpid()))
    if how == "crash":
        os._exit(9)
    behaviour.hang("execute")
    until = time.monotonic() + seconds
    while (how in {"hang", "deaf", "unready"} or time.monotonic() < until) and not stopped:
        time.sleep(0.02)
    if how == "unready":
        return 130
    _tell(out, "measure", 2, 2, "done")
    state = "aborted" if stopped and how != "deaf" else {"fail": "failed"}.get(how, "sealed")
    _seal(out, state)
    if how == "damage":
        (out / layout.BUNDLE_FOLDER / layout.SESSION).write_text("changed afterwards\n")
    return {"sealed": 0, "failed": 1, "aborted": 130}[state]


def reap(out: Path, state: str) -> int:
    with contextlib.suppress(OSError, ValueError):
        os.kill(int((out / "runner.pid").read_text()), signal.SIGKILL)
    if BEHAVIOUR.get("reap"):
        return int(BEHAVIOUR["reap"])  # no room to seal what there is
    if not (out / layout.BUNDLE_FOLDER / layout.MANIFEST).exists():
        _seal(out, state)
    return 0


def _seal(out: Path, state: str) -> None:
    behaviour.hang("seal")
    bundle = out / layout.BUNDLE_FOLDER
    context: dict[str, Any] = json.loads((out / layout.CONTEXT).read_bytes())
    (bundle / layout.SESSION).write_text('{"event": "sealed"}\n')
    if state != "sealed":
        (bundle / layout.ERROR).write_text(json.dumps({"reason": f"it is {state}"}))
    manifest.build(
        bundle,
        header={
            "run_id": context["run_id"],
            "execution_id": context["execution_id"],
            "repetition": context["repetition"],
            "study": context["study"],
            "state": state,
            "spec_digest": context["spec_digest"],
            "plan_digest": context["plan_digest"],
            "level": "E1",
            "sealed_at": "2026-11-29T12:00:00Z",
        },
    )


def _tell(out: Path, phase: str, done: int, total: int, message: str) -> None:
    line = {"t": "", "phase": phase, "done": done, "total": total, "message": message}
    with (out / layout.PROGRESS).open("a") as stream:
        stream.write(json.dumps(line) + "\n")


def offer() -> int:
    """One machine with one processor; ``devices`` and ``engines`` of the behaviour come beside them."""
    processor = {"id": "boot/cpu", "kind": "cpu", "index": 0, "name": "a processor"}
    torch = {"key": "torch", "version": "2.13.0", "environment": "platform"}
    found = {
        "machine": "boot",
        "host": socket.gethostname(),
        "queues": [],
        "memory_bytes": 2**34,
        "devices": [processor, *BEHAVIOUR.get("devices", [])],
        "engines": [torch, {**torch, "version": "1"}, *BEHAVIOUR.get("engines", [])],
    }
    print(json.dumps(found))
    return 0


def main() -> int:
    verb, *rest = sys.argv[1:]
    if verb == "offer":
        return offer()
    if verb == "prepare":
        return prepare(Path(rest[0]), Path(rest[1]))
    if verb == "execute":
        return execute(Path(rest[0]))
    return reap(Path(rest[0]), rest[2])


if __name__ == "__main__":
    sys.exit(main())
