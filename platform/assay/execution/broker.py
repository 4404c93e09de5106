"""The embedded broker: kombu's filesystem transport, with whole messages only.

Kombu writes a message in place, so that a reader can catch it half written and its worker stops with a parse
error; and it moves what it reads through the system's temporary folder. Here a message is written aside and
renamed, and nothing leaves the broker's folder. The database is the queue of record: a message is a nudge.
"""

import time
import uuid
from pathlib import Path
from queue import Empty
from typing import Any

from kombu.transport import TRANSPORT_ALIASES, filesystem, virtual
from kombu.utils.json import dumps, loads

SCHEME = "assay-folder"


class Channel(filesystem.Channel):  # type: ignore[misc,unused-ignore]
    # kombu's own two base classes name this argument differently
    def _put(self, queue: str, payload: dict[str, Any], **_kwargs: Any) -> None:  # type: ignore[override]
        name = f"{time.time_ns():020d}_{uuid.uuid4().hex}.{queue}.msg"
        folder = Path(self.data_folder_out)
        partial = folder / f".{name}.partial"
        partial.write_text(dumps(payload), encoding="utf-8")
        partial.rename(folder / name)

    def _get(self, queue: str, timeout: float | None = None) -> Any:
        taken = Path(self.processed_folder)
        for path in sorted(Path(self.data_folder_in).glob(f"*.{queue}.msg")):
            mine = taken / path.name
            try:
                path.rename(mine)
            except FileNotFoundError:
                continue  # another worker was first
            try:
                return loads(mine.read_text(encoding="utf-8"))
            finally:
                mine.unlink()
        raise Empty


class Transport(filesystem.Transport):  # type: ignore[misc,unused-ignore]
    Channel = Channel
    global_state = (
        virtual.BrokerState()
    )  # what this process has declared, not shared with kombu's own


def install(folder: Path) -> tuple[str, dict[str, str]]:
    """Make the transport known to kombu. Returns the broker URL and its transport options."""
    TRANSPORT_ALIASES[SCHEME] = f"{__name__}:Transport"
    options = {}
    for key, name in (
        ("data_folder_in", "messages"),
        ("data_folder_out", "messages"),
        ("processed_folder", "taken"),
        ("control_folder", "control"),
    ):
        (folder / name).mkdir(parents=True, exist_ok=True)
        options[key] = str(folder / name)
    return f"{SCHEME}://", options
