"""Start the engine inside its keeper, wait until it answers, prove that it is the pinned one, stop it."""

import asyncio
import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from runners.evidence import endpoint, pipes, processes
from runners.evidence.keeper import CONFIG, KeeperConfig
from runners.evidence.logs import last_lines
from runners.protocol.errors import Finding, RunFailed

ROOT = Path(__file__).resolve().parents[2]  # the checkout or the site-packages that runners lies in
_POLL_S = 0.1
_LAST_ANSWER_S = 60.0  # a health check under whatever load is left
_KEEPER_PATIENCE_S = 15.0  # beyond the engine's own stop time

# What an engine inherits. Everything else of the caller's environment stays out, so that a run does not
# depend on it unseen; what is passed is recorded.
_PASSED = (
    *("PATH", "HOME", "USER", "LOGNAME", "LANG", "TZ", "TMPDIR", "VIRTUAL_ENV", "LD_LIBRARY_PATH"),
    *("HF_HOME", "XDG_CACHE_HOME", "SSL_CERT_FILE", "SSL_CERT_DIR"),
)
_PASSED_PREFIXES = ("LC_", "CUDA_", "NVIDIA_", "HIP_", "ROCR_")


# What finds docker's engine. Its credentials are for pulls alone, and nothing is pulled here.
_PASSED_TO_DOCKER = (
    *("DOCKER_HOST", "DOCKER_CONTEXT", "DOCKER_CONFIG", "DOCKER_API_VERSION", "XDG_RUNTIME_DIR"),
    *("DOCKER_TLS_VERIFY", "DOCKER_CERT_PATH"),
)


def docker_environment(*, execution_id: str, secret_names: Sequence[str]) -> dict[str, str]:
    """What the docker command inherits. Secrets are among it, because it hands them on by name."""
    names = {*_PASSED, *_PASSED_TO_DOCKER, *secret_names}
    passed = {name: value for name, value in os.environ.items() if name in names}
    return {**passed, processes.MARK: execution_id}


def engine_environment(
    declared: Mapping[str, str], *, execution_id: str, secret_names: Sequence[str]
) -> dict[str, str]:
    """The engine's whole environment: what is passed through, what its adapter declares, and our mark."""
    passed = {
        name: value
        for name, value in os.environ.items()
        if name in _PASSED or name.startswith(_PASSED_PREFIXES) or name in secret_names
    }
    more = declared.get("PYTHONPATH", os.environ.get("PYTHONPATH", "")).split(os.pathsep)
    passed["PYTHONPATH"] = os.pathsep.join(dict.fromkeys([str(ROOT), *filter(None, more)]))
    rest = {name: value for name, value in declared.items() if name != "PYTHONPATH"}
    # unbuffered, so that a line in engine.log has about the time at which it was printed
    return {"PYTHONUNBUFFERED": "1", **passed, **rest, processes.MARK: execution_id}


class EngineProcess:
    """The runner's side of the keeper."""

    def __init__(self, config: KeeperConfig, environment: Mapping[str, str]) -> None:
        self._config = config
        self._environment = environment
        self._keeper: asyncio.subprocess.Process | None = None
        self._reader: asyncio.Task[None] | None = None
        self._told: dict[str, dict[str, Any]] = {}
        self._elsewhere: int | None = None  # first process of a container, which is docker's child
        self.started = asyncio.Event()
        self.exited = asyncio.Event()  # the engine's main process, or its keeper, is gone

    @property
    def keeper_pid(self) -> int | None:
        return None if self._keeper is None else self._keeper.pid

    def how_it_ended(self) -> str:
        """In words; the keeper may have been the one that died."""
        if "exited" in self._told:
            return ending(self.exit_code)
        return "its keeper is gone, and the engine with it"

    @property
    def exit_code(self) -> int | None:
        """Of the engine's main process: negative for a signal, null while it runs or if nobody saw."""
        code = self._told.get("exited", {}).get("code")
        return None if code is None else int(code)

    def told(self, event: str) -> Mapping[str, Any] | None:
        """The keeper's last word of this kind."""
        return self._told.get(event)

    async def start(self) -> None:
        """Returns when the engine's process exists. Raises RunFailed when it cannot be started."""
        path = Path(self._config.folder) / CONFIG
        path.parent.mkdir(parents=True, exist_ok=True)
        self._config.write(path)
        self._keeper = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "runners.evidence.keeper", str(path)),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=ROOT,
            env=dict(self._environment),
            start_new_session=True,
        )
        self._reader = asyncio.create_task(self._listen(self._keeper))
        await self.started.wait()
        if (refusal := self._told.get("not_started")) is not None:
            raise RunFailed(
                Finding(
                    field="engine",
                    seen=f"{self._config.command[0]} could not be started: {refusal['reason']}",
                    allowed="a program that can be executed",
                    remedy="Check the engine's environment: python -m runners doctor",
                )
            )

    async def _listen(self, keeper: asyncio.subprocess.Process) -> None:
        assert keeper.stdout is not None
        while line := await keeper.stdout.readline():
            row = json.loads(line)
            if row["event"] == "exited" and not row["engine"]:
                continue
            self._told[row["event"]] = row
            if row["event"] in ("started", "not_started"):
                self.started.set()
            if row["event"] == "exited":
                self.exited.set()
        self.started.set()
        self.exited.set()

    async def stop(self) -> Mapping[str, Any] | None:
        """Ask the keeper to stop the tree; returns its ``released`` line, null if the keeper gave none."""
        keeper = self._keeper
        if keeper is None:
            return None
        await pipes.say(keeper, b"stop\n")
        try:
            patience_s = self._config.stop_timeout_s + _KEEPER_PATIENCE_S
            await asyncio.wait_for(keeper.wait(), patience_s)
        except TimeoutError:
            keeper.send_signal(signal.SIGKILL)
            await keeper.wait()
        pipes.hang_up(keeper)
        if self._reader is not None:
            await self._reader
        return self._told.get("released")

    def last_words(self, count: int = 12) -> list[str]:
        return last_lines(Path(self._config.log_file), Path(self._config.folder), count=count)

    def adopt(self, pid: int | None) -> None:
        """Name the first process of the container that the engine runs in."""
        self._elsewhere = pid

    def owns(self, pid: int) -> bool:
        roots = [root for root in (self.keeper_pid, self._elsewhere) if root is not None]
        return any(pid == root or pid in processes.descendants(root) for root in roots)


def refuse_taken_port(port: int) -> None:
    """Raise RunFailed when somebody listens there already, and say who."""
    if processes.listening(port):
        raise _port_conflict(port, processes.listener(port))


def _port_conflict(port: int, holder: processes.ProcessId | None) -> RunFailed:
    who = f"process {holder.pid} ({holder.command})" if holder else "a process we may not see"
    return RunFailed(
        Finding(
            field="port",
            seen=f"{port} is held by {who}",
            allowed="a port nobody listens on",
            remedy="Run it again: prepare looks for a free port each time.",
        )
    )


async def await_ready(
    engine: EngineProcess,
    *,
    base_url: str,
    path: str,
    port: int,
    timeout_s: float,
    tell: Callable[[str], None],
) -> None:
    """Ask the health path until it answers 200.

    ``tell`` gets the engine's last line. Raises RunFailed, with its last words, when the engine ends, does
    not answer in time, or somebody else answers on its port.
    """
    deadline = time.monotonic() + timeout_s
    answer = "nothing asked yet"
    while time.monotonic() < deadline:
        if engine.exited.is_set():
            raise _died(engine, port)
        left_s = max(min(deadline - time.monotonic(), 5.0), 0.1)
        reply = await asyncio.to_thread(endpoint.ask, base_url, path, timeout_s=left_s)
        if reply.ok:
            holder = processes.listener(port)
            if holder is not None and not engine.owns(holder.pid):
                raise _port_conflict(port, holder)
            return
        answer = reply.error or f"status {reply.status}"
        tell((engine.last_words(1) or ["the engine has written nothing yet"])[0])
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(engine.exited.wait(), _POLL_S)
    raise RunFailed(
        Finding(
            field="engine.ready_timeout_s",
            seen=f"not ready after {timeout_s:g} s; {path} last gave: {answer}"
            + _words(engine.last_words()),
            allowed=f"200 on {path} within the time",
            remedy="Read engine.log; give a slow start more time with engine.ready_timeout_s.",
        )
    )


async def check_answers(engine: EngineProcess, *, base_url: str, path: str) -> None:
    """Raise RunFailed unless the engine is still healthy when nothing more is asked of it.

    A part of it may have died while its server lives on, answers with errors and then ends in order.
    """
    reply = await asyncio.to_thread(endpoint.ask, base_url, path, timeout_s=_LAST_ANSWER_S)
    if reply.ok:
        return
    raise RunFailed(
        Finding(
            field="engine",
            seen=f"no longer healthy after the last request: {path} gave "
            f"{reply.error or f'status {reply.status}'}" + _words(engine.last_words()),
            allowed="an engine that stays up until it is stopped",
            remedy="Read engine.log in the bundle.",
        )
    )


def _died(engine: EngineProcess, port: int) -> RunFailed:
    holder = processes.listener(port)
    if holder is not None and not engine.owns(holder.pid):
        return _port_conflict(port, holder)
    return RunFailed(
        Finding(
            field="engine",
            seen=f"ended ({engine.how_it_ended()}) before it was ready"
            + _words(engine.last_words()),
            allowed="an engine that stays up",
            remedy="Read engine.log in the bundle.",
        )
    )


def ending(code: int | None) -> str:
    """How a process ended, in words."""
    if code is None:
        return "nobody saw how"
    if code < 0:
        with contextlib.suppress(ValueError):
            return f"killed by {signal.Signals(-code).name}"
    return f"exit code {code}"


def _words(lines: list[str]) -> str:
    return "; last lines: " + " | ".join(lines) if lines else "; it wrote nothing"


async def read_back_version(*, base_url: str, path: str, pin: str) -> str:
    """The version the running engine states. Raises RunFailed unless it equals the pin."""
    reply = await asyncio.to_thread(endpoint.ask, base_url, path, timeout_s=10.0)
    body = reply.json()
    version = body.get("version") if isinstance(body, dict) else None
    if version == pin:
        return pin
    seen = f"{path} gave {reply.error or f'status {reply.status} without a version'}"
    raise RunFailed(
        Finding(
            field="engine.version",
            seen=seen if version is None else f"version is {version}, pin says {pin}",
            allowed=pin,
            remedy="Declare the version that is installed, or install the pinned one.",
        )
    )
