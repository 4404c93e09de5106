"""Compose and plan a declaration for a server: in a process beside it, bounded in time and size.

Hydra's state is one for a whole process, and composing a sweep holds the interpreter busy for seconds. So
each web process keeps one composer, asks it one thing at a time, and ends it when an answer takes too long.
"""

import atexit
import json
import os
import selectors
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from django.conf import settings

from assay.archive.paths import Home
from assay.execution.answers import finding
from experiments.errors import Refusal, refuse
from experiments.plan import RunSpec

MAX_CELLS = 64
MAX_RUNS = 1000
MAX_OVERRIDES = 200
REMEMBERED = 16  # declarations that were composed lately
MAX_TEXT = 20_000  # characters of all overrides together
LIMIT_S = 60.0
COMMAND = (sys.executable, "-P", "-m", "experiments.composer")


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What somebody wants composed; ``sweep`` is the command line's ``-m``."""

    overrides: tuple[str, ...]
    sweep: bool


class _Composer:
    """The composing process of this process, started when it is first asked."""

    def __init__(self, limit_s: float = LIMIT_S) -> None:
        self._limit_s = limit_s
        self._one_at_a_time = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._owner = 0

    def ask(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """The answer to one request. Raises Refusal when it does not come in time."""
        deadline = time.monotonic() + self._limit_s
        if not self._one_at_a_time.acquire(timeout=self._limit_s):
            raise _too_slow(f"others were asking for {self._limit_s:g} s")
        try:
            return self._asked(json.dumps(request).encode() + b"\n", deadline)
        except OSError as error:
            self._end()
            raise _too_slow(f"the composing process is gone ({error})") from error
        finally:
            self._one_at_a_time.release()

    def close(self) -> None:
        """End the process, if there is one."""
        with self._one_at_a_time:
            self._end()

    def _asked(self, line: bytes, deadline: float) -> dict[str, Any]:
        process = self._running()
        assert process.stdin is not None
        process.stdin.write(line)
        process.stdin.flush()
        answer = _line(process, deadline)
        if answer is None:
            self._end()
            raise _too_slow(f"no answer within {self._limit_s:g} s")
        found: dict[str, Any] = json.loads(answer)
        return found

    def _running(self) -> subprocess.Popen[bytes]:
        if self._owner != os.getpid():  # a fork of the process that started it
            self._process = None
            self._owner = os.getpid()
            atexit.register(self.close)
        if self._process is None or self._process.poll() is not None:
            self._end()
            self._process = subprocess.Popen(
                list(COMMAND),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env={**os.environ, "PYTHONPATH": settings.SUBPROCESS_PATH},
                start_new_session=True,
            )
        return self._process

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                stream.close()


_composer = _Composer()


def planned(wanted: Wanted) -> tuple[RunSpec, ...]:
    """Every run of the declaration, in run order. Raises Refusal with all findings."""
    _check_size(wanted.overrides)
    return _planned(wanted, _state_of(studies_folder()))


@lru_cache(maxsize=REMEMBERED)
def _planned(wanted: Wanted, _state: tuple[tuple[str, int, int], ...]) -> tuple[RunSpec, ...]:
    """``_state`` makes a changed file of one's own another question."""
    studies = studies_folder()
    answer = _composer.ask(
        {
            "overrides": wanted.overrides,
            "sweep": wanted.sweep,
            "studies": str(studies) if studies else None,
            "artifact_roots": [str(root) for root in settings.ARTIFACT_ROOTS],
            "url_hosts": list(settings.ENDPOINT_HOSTS),
            "max_cells": MAX_CELLS,
            "max_runs": MAX_RUNS,
        }
    )
    if "findings" in answer:
        raise Refusal([finding(raw) for raw in answer["findings"]])
    if "broke" in answer:
        raise refuse(
            field="declaration",
            seen=str(answer["broke"]),
            allowed="a declaration that can be composed",
            remedy="Try it on the command line, and report it.",
        )
    return _specs(answer)


def studies_folder() -> Path | None:
    """The folder of this installation's own group files, if there is one."""
    folder = Path(settings.STUDIES) if settings.STUDIES else Home(settings.HOME).studies
    return folder if folder.is_dir() else None


def _state_of(folder: Path | None) -> tuple[tuple[str, int, int], ...]:
    if folder is None:
        return ()
    files = [(str(path), path.lstat()) for path in sorted(folder.rglob("*"))]
    return tuple((name, stat.st_mtime_ns, stat.st_size) for name, stat in files)


def _specs(answer: Mapping[str, Any]) -> tuple[RunSpec, ...]:
    cells = answer["cells"]
    return tuple(
        RunSpec(
            text=cells[cell]["text"].encode(),
            digest=cells[cell]["digest"],
            variables=cells[cell]["variables"],
            overrides=tuple(cells[cell]["overrides"]),
            choices=cells[cell]["choices"],
            cell=cell,
            repetition=repetition,
            position=position,
        )
        for position, (cell, repetition) in enumerate(answer["order"])
    )


def _check_size(overrides: Sequence[str]) -> None:
    length = sum(map(len, overrides))
    if len(overrides) > MAX_OVERRIDES or length > MAX_TEXT:
        raise refuse(
            field="overrides",
            seen=f"{len(overrides)} overrides of {length} characters",
            allowed=f"at most {MAX_OVERRIDES}, of {MAX_TEXT} characters",
            remedy="Write a group file of your own: assay new study NAME.",
        )


def _line(process: subprocess.Popen[bytes], deadline: float) -> bytes | None:
    """One whole line of the process's output; None when time is up. Raises OSError when it has ended."""
    assert process.stdout is not None
    parts: list[bytes] = []
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        while not (parts and parts[-1].endswith(b"\n")):
            left = deadline - time.monotonic()
            if left <= 0 or not selector.select(left):
                return None
            block = os.read(process.stdout.fileno(), 2**16)
            if not block:
                raise BrokenPipeError("its output ended")
            parts.append(block)
    return b"".join(parts)


def _too_slow(seen: str) -> Refusal:
    return refuse(
        field="declaration",
        seen=seen,
        allowed=f"an answer within {LIMIT_S:g} s",
        remedy="Ask for fewer cells, or use the command line.",
    )
