"""Work in a thread beside a block, told to end when the block does, and waited for."""

import threading
from collections.abc import Callable
from types import TracebackType
from typing import Self


class Beside:
    """Runs ``work`` from entry to exit; the event it gets is set when it is to end."""

    def __init__(self, name: str, work: Callable[[threading.Event], None]) -> None:
        self._over = threading.Event()
        self._thread = threading.Thread(target=work, args=(self._over,), name=name, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        self._over.set()
        self._thread.join()
