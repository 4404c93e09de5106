"""Lines of vLLM's log about single requests, as events of the vocabulary that every engine's record uses.

The engine names a request ``chatcmpl-<X-Request-Id>``, inside with eight hexadecimal digits behind it; the
header carries the attempt's id, so that the ledgers join on it.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from runners.engines.stated_facts import LogLine
from runners.protocol.events import EngineEvent

_PREFIX = re.compile(r"^(?:chatcmpl|cmpl|resp|msg|embd|rerank|score|classify|pool)-")
_INSIDE = re.compile(r"-[0-9a-f]{8}$")
_OF_COMPLETION = re.compile(r"-\d+$")  # /v1/completions numbers the prompts of one call

_ADDED = re.compile(r"Added request (?P<inside>\S+)\.")
_RECEIVED = re.compile(r"Received request (?P<name>\S+): params: .*", re.S)
_ABORTED = re.compile(r"Aborted request\(s\) (?P<insides>\S+)\.")
_LEFT = re.compile(r"Request (?P<name>\S+) aborted\.")
_REFUSED = re.compile(r"Request (?P<name>\S+) failed \(bad request\): (?P<reason>.*)\.", re.S)
_FAILED = re.compile(
    r"Request (?P<name>\S+) failed "
    r"(?:\((?P<kind>engine dead|input error)\)(?:: .*)?|due to (?P<reason>.*))\.",
    re.S,
)
_GENERATED = re.compile(
    r"Generated response (?P<name>\S+)(?: \(streaming complete\))?: output: .*, "
    r"finish_reason: (?P<reason>\w+)",
    re.S,
)
STREAMED = "streaming_complete"  # what is said of a stream in place of its finish reason


def events_of(line: LogLine) -> Iterator[tuple[EngineEvent, str, Mapping[str, Any]]]:
    """(event, attempt id, value) for each request that the line speaks of."""
    message = line.message
    if match := _RECEIVED.fullmatch(message):
        yield EngineEvent.front_received, attempt_id(match["name"]), {}
    elif match := _ADDED.fullmatch(message):
        yield EngineEvent.queued, attempt_id(_INSIDE.sub("", match["inside"])), {}
    elif match := _ABORTED.fullmatch(message):
        for inside in match["insides"].split(","):
            reason = {"reason": "the engine aborted it"}
            yield EngineEvent.cancelled, attempt_id(_INSIDE.sub("", inside)), reason
    elif match := _LEFT.fullmatch(message):
        yield EngineEvent.front_disconnected, attempt_id(match["name"]), {}
    elif match := _REFUSED.fullmatch(message):
        yield EngineEvent.rejected, attempt_id(match["name"]), {"reason": match["reason"]}
    elif match := _FAILED.fullmatch(message):
        reason = {"reason": match["kind"] or match["reason"]}
        yield EngineEvent.failed, attempt_id(match["name"]), reason
    elif match := _GENERATED.fullmatch(message):
        said = None if match["reason"] == STREAMED else match["reason"]
        yield EngineEvent.finished, attempt_id(match["name"]), {"reason": said}


def attempt_id(name: str) -> str:
    """``chatcmpl-a1`` -> ``a1``; ``cmpl-a1-0`` -> ``a1``."""
    bare = _PREFIX.sub("", name)
    return _OF_COMPLETION.sub("", bare) if name.startswith("cmpl-") else bare
