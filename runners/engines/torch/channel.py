"""JSON lines over the socket between front end and model loop: the loop's side.

A thread reads, so that a message gets its arrival time while a step runs, and so that the end of the other
side is noticed at once. The end of the socket arrives as a message of kind ``end``.
"""

import json
import queue
import socket
import threading
from typing import Any

from runners.engines.torch.events import now_ns

END = "end"


class LoopChannel:
    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._arrived: queue.SimpleQueue[tuple[int, dict[str, Any]]] = queue.SimpleQueue()
        self._reader = threading.Thread(target=self._read, name="channel", daemon=True)
        self._reader.start()

    def receive(self, timeout_s: float | None) -> tuple[int, dict[str, Any]] | None:
        """The next message and its arrival in ns, or None after ``timeout_s`` (0: only what is there)."""
        try:
            if not timeout_s:
                return self._arrived.get_nowait()
            return self._arrived.get(timeout=timeout_s)
        except queue.Empty:
            return None

    def send(self, message: dict[str, Any]) -> None:
        """Raises OSError when the front end is gone."""
        self._connection.sendall(encode(message))

    def interrupt(self) -> None:
        """Put an end into the queue, from a signal handler."""
        self._arrived.put((now_ns(), {"kind": END, "reason": "SIGTERM"}))

    def _read(self) -> None:
        with self._connection.makefile("rb") as lines:
            try:
                for line in lines:
                    self._arrived.put((now_ns(), json.loads(line)))
            except OSError:
                pass
        self._arrived.put((now_ns(), {"kind": END, "reason": "front end gone"}))


def encode(message: dict[str, Any]) -> bytes:
    return json.dumps(message, separators=(",", ":")).encode() + b"\n"
