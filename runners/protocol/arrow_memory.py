"""How Arrow's allocator treats memory in a process whose event loop measures.

mimalloc gives unused memory back in one go, a few times a second: 10 to 18 ms of the thread that happens to
allocate (measured beside 512 streams), which is the event loop while it packs what it captured.
"""

import importlib
import os

_PURGE_DELAY = "MIMALLOC_PURGE_DELAY"
_NEVER = "-1"


def load_arrow_that_keeps_its_memory() -> None:
    """Load Arrow with an allocator that gives nothing back. To be called before anything imports Arrow.

    The allocator reads the variable once, when it is loaded; engines started later do not inherit it.
    """
    if _PURGE_DELAY in os.environ:  # somebody's own choice
        return
    os.environ[_PURGE_DELAY] = _NEVER
    try:
        importlib.import_module("pyarrow")
    finally:
        del os.environ[_PURGE_DELAY]
