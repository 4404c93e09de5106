"""Which steps of the wire parser an input takes: pairs of lines that follow each other in one function."""

import sys
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any

Step = tuple[CodeType, int, int]
_PARTS = ("assay/analysis/wire/", "assay/analysis/interchange")


def steps(call: Callable[[bytes], None], data: bytes) -> set[Step]:
    found: set[Step] = set()
    before: dict[FrameType, int] = {}

    def enter(frame: FrameType, event: str, argument: Any) -> Any:
        if not any(part in frame.f_code.co_filename for part in _PARTS):
            return None
        before[frame] = 0
        return line

    def line(frame: FrameType, event: str, argument: Any) -> Any:
        if event == "line":
            found.add((frame.f_code, before[frame], frame.f_lineno))
            before[frame] = frame.f_lineno
        elif event == "return":
            del before[frame]
        return line

    sys.settrace(enter)
    try:
        call(data)
    finally:
        sys.settrace(None)
    return found
