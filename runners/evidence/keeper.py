"""The keeper: a small process around an engine that outlives the runner and leaves no engine behind.

``python -m runners.evidence.keeper CONFIG`` has its own session and is the subreaper of everything below it.
Its standard input is a pipe from the runner: when that closes, however the runner died, the tree is stopped.
Its standard output tells the runner what happened, one JSON object a line; ``keeper.jsonl`` keeps the same.
Standard library only, so that it starts at once and stays small.
"""

import contextlib
import ctypes
import json
import os
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from runners.evidence import container_end, processes, secrets
from runners.evidence.logs import BoundedLog

JOURNAL = "keeper.jsonl"
CONFIG = "config.json"
_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36
_TICK_S = 0.25
_LOOK_EVERY_S = 1.0  # by parent: cheap, and orphans stay below the subreaper
_GRACE_S = 5.0  # for what a KILL leaves to the kernel, and for the port


@dataclass(frozen=True, slots=True, kw_only=True)
class KeeperConfig:
    """What to start and how to stop it. The engine's environment is the keeper's own: no secret is here."""

    execution_id: str
    command: list[str]
    folder: str
    directory: str  # the engine's working directory
    log_file: str
    log_limit_bytes: int
    stop_timeout_s: float
    port: int | None
    cores: list[int]
    secret_names: list[str]
    docker: str | None = None  # the command, where the engine runs in containers of this execution

    def write(self, path: Path) -> None:
        path.write_text(json.dumps(asdict(self)), encoding="utf-8")


class Keeper:
    def __init__(self, config: KeeperConfig) -> None:
        self._config = config
        folder = Path(config.folder)
        folder.mkdir(parents=True, exist_ok=True)
        self._journal = (folder / JOURNAL).open("ab", buffering=0)
        redactor = secrets.from_environment(config.secret_names, os.environ)
        self._redactor = redactor
        self._log = BoundedLog(
            Path(config.log_file), folder, limit_bytes=config.log_limit_bytes, redactor=redactor
        )
        self._selector = selectors.DefaultSelector()
        self._seen: dict[tuple[int, int], processes.ProcessId] = {}
        self._engine: subprocess.Popen[bytes] | None = None
        self._stop_asked = False
        self._exits: dict[int, int] = {}
        self._looked = 0.0

    def run(self) -> int:
        _prctl(_PR_SET_CHILD_SUBREAPER, 1)
        self._listen_to_signals()
        self._selector.register(sys.stdin.fileno(), selectors.EVENT_READ, self._on_control)
        os.set_blocking(sys.stdin.fileno(), False)
        os.set_blocking(sys.stdout.fileno(), False)
        self._note("keeper", **self._row(os.getpid()), runner=self._row(os.getppid()))
        before = processes.available_bytes()
        if self._launch():
            while not self._stop_asked:
                self._turn()
        self._stop_containers()
        self._stop_tree()
        self._await_release(before)
        self._log.close()
        return 0

    def _launch(self) -> bool:
        mine = os.sched_getaffinity(0)
        if self._config.cores:
            os.sched_setaffinity(0, self._config.cores)
        try:
            self._engine = subprocess.Popen(
                self._config.command,
                cwd=self._config.directory,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                preexec_fn=_die_with_keeper,  # safe here: the keeper has one thread
            )
        except OSError as error:
            self._note("not_started", reason=str(error))
            self._stop_asked = True
            return False
        finally:
            os.sched_setaffinity(0, mine)
        assert self._engine.stdout is not None
        output = self._engine.stdout.fileno()
        os.set_blocking(output, False)
        self._selector.register(output, selectors.EVENT_READ, self._on_output)
        if (known := processes.identify(self._engine.pid)) is not None:
            self._seen[known.pid, known.start_ticks] = known
        self._note(
            "started",
            **self._row(self._engine.pid),
            cores=sorted(os.sched_getaffinity(self._engine.pid)),
            t_ns=time.monotonic_ns(),
        )
        return True

    def _turn(self) -> None:
        """One round: serve pipes, collect the dead, notice the new."""
        events = self._selector.select(_TICK_S)
        for key, _ in events:
            key.data(key.fd)
        if not events:
            self._log.flush()
        self._reap()
        if time.monotonic() - self._looked > _LOOK_EVERY_S:
            self._looked = time.monotonic()
            self._notice(processes.identities(processes.descendants(os.getpid())))

    def _on_control(self, descriptor: int) -> None:
        try:
            data = os.read(descriptor, 4096)
        except BlockingIOError:
            return
        if not data:
            self._note("runner_gone")
            self._selector.unregister(descriptor)
        self._stop_asked = True  # any word from the runner means: stop

    def _on_output(self, descriptor: int) -> None:
        try:
            data = os.read(descriptor, 1 << 16)
        except BlockingIOError:
            return
        if data:
            self._log.write(data, time.monotonic_ns())
        else:
            self._selector.unregister(descriptor)

    def _on_wakeup(self, descriptor: int) -> None:
        with contextlib.suppress(BlockingIOError):
            os.read(descriptor, 4096)

    def _listen_to_signals(self) -> None:
        reader, writer = os.pipe()
        for descriptor in (reader, writer):
            os.set_blocking(descriptor, False)
        signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
        self._selector.register(reader, selectors.EVENT_READ, self._on_wakeup)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        signal.signal(signal.SIGPIPE, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, self._on_sigterm)

    def _on_sigterm(self, *_: object) -> None:
        self._stop_asked = True

    def _reap(self) -> None:
        """Collect every dead child, adopted ones included."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            code = os.waitstatus_to_exitcode(status)
            self._exits[pid] = code
            is_engine = self._engine is not None and pid == self._engine.pid
            if is_engine:
                self._drain()
            self._note("exited", pid=pid, code=code, engine=is_engine, t_ns=time.monotonic_ns())

    def _drain(self) -> None:
        """Read what a dead engine still left in the pipe, so that its last words come before its end."""
        assert self._engine is not None
        assert self._engine.stdout is not None
        with contextlib.suppress(OSError):
            while data := os.read(self._engine.stdout.fileno(), 1 << 16):
                self._log.write(data, time.monotonic_ns())
        self._log.flush()

    def _tree(self) -> list[processes.ProcessId]:
        """Everything of this execution but the keeper and the runner."""
        numbers = processes.descendants(os.getpid()) | processes.carrying(self._config.execution_id)
        return processes.identities(numbers - {os.getpid(), os.getppid()})

    def _look(self) -> list[processes.ProcessId]:
        tree = self._tree()
        self._notice(tree)
        return tree

    def _notice(self, tree: list[processes.ProcessId]) -> None:
        for process in tree:
            key = (process.pid, process.start_ticks)
            if key not in self._seen:
                self._seen[key] = process
                self._note("seen", **self._row_of(process))

    def _stop_containers(self) -> None:
        if (cli := self._config.docker) is not None:
            container_end.end(
                cli,
                self._config.execution_id,
                patience_s=self._config.stop_timeout_s,
                call=self._call,
                wait=self._serve,
                note=self._note,
            )

    def _call(self, words: Sequence[str], patience_s: float) -> None:
        """Run docker while the engine's output is still read: a full pipe would hold its end up."""
        assert self._config.docker is not None
        child = subprocess.Popen(
            [self._config.docker, *words],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        deadline = time.monotonic() + patience_s
        while child.pid not in self._exits and time.monotonic() < deadline:
            self._serve(0.05)
        child.returncode = self._exits.get(
            child.pid, 0
        )  # ``_reap`` collected it, or the tree's end will

    def _stop_tree(self) -> None:
        """TERM to the engine, then to what outlives it, then KILL until nothing is left."""
        begun = time.monotonic()
        deadline = begun + self._config.stop_timeout_s
        asked: set[tuple[int, int]] = set()
        while (tree := self._look()) and time.monotonic() < deadline:
            root = self._engine.pid if self._engine is not None else None
            engine_lives = any(p.pid == root for p in tree)
            patience_ends = time.monotonic() > begun + self._config.stop_timeout_s / 2
            for process in tree:
                key = (process.pid, process.start_ticks)
                is_due = process.pid == root or not engine_lives or patience_ends
                if is_due and key not in asked:
                    asked.add(key)
                    processes.send(process, signal.SIGTERM)
                    self._note("signalled", pid=process.pid, signal="TERM")
            self._serve(0.05)
        last = time.monotonic() + _GRACE_S
        killed: set[tuple[int, int]] = set()  # once each: the kernel may be slow, it never forgets
        while (tree := self._look()) and time.monotonic() < last:
            for process in tree:
                if (key := (process.pid, process.start_ticks)) not in killed:
                    killed.add(key)
                    processes.send(process, signal.SIGKILL)
                    self._note("signalled", pid=process.pid, signal="KILL")
            self._serve(0.05)
        self._serve(0)

    def _serve(self, seconds: float) -> None:
        for key, _ in self._selector.select(seconds):
            key.data(key.fd)
        self._reap()

    def _await_release(self, before: int | None) -> None:
        port, deadline = self._config.port, time.monotonic() + _GRACE_S
        while port and processes.listening(port) and time.monotonic() < deadline:
            self._serve(0.05)
        left = [self._row_of(p) for p in self._tree()]
        holder = processes.listener(port) if port and processes.listening(port) else None
        engine = self._engine
        self._note(
            "released",
            t_ns=time.monotonic_ns(),
            processes_left=left,
            **self._containers_left(),
            port=port,
            port_free=None if port is None else not processes.listening(port),
            port_holder=self._row_of(holder) if holder else None,
            available_bytes_before=before,
            available_bytes_after=processes.available_bytes(),
            exit_code=self._exits.get(engine.pid) if engine is not None else None,
            log_bytes=self._log.written,
            log_bytes_lost_to_full_disk=self._log.disk_full_bytes,
        )

    def _containers_left(self) -> dict[str, Any]:
        if (cli := self._config.docker) is None:
            return {}
        left = container_end.left(cli, self._config.execution_id, self._note)
        return {"containers_left": left}  # null: docker did not answer

    def _row(self, pid: int) -> dict[str, Any]:
        known = processes.identify(pid)
        return self._row_of(known) if known else {"pid": pid}

    def _row_of(self, process: processes.ProcessId) -> dict[str, Any]:
        """As written down: a command line may hold a key."""
        return {**process.as_row(), "command": self._redactor.text(process.command)}

    def _note(self, what: str, **fields: Any) -> None:
        line = json.dumps({"event": what, "t": time.time(), **fields}).encode() + b"\n"
        with contextlib.suppress(OSError):  # a full disk must not keep the keeper from its work
            self._journal.write(line)
        with contextlib.suppress(OSError):  # the runner may be gone
            os.write(sys.stdout.fileno(), line)


def _prctl(option: int, value: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(option, value, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl")


def _die_with_keeper() -> None:
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def main() -> int:
    config = KeeperConfig(**json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")))
    return Keeper(config).run()


if __name__ == "__main__":
    sys.exit(main())
