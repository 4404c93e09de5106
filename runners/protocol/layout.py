"""The files of a bundle and of an execution's working folder. Paths are relative, with forward slashes."""

from enum import StrEnum

FORMAT_VERSION = 1

MANIFEST = "manifest.json"
MANIFEST_DIGEST = "manifest.sha256"
WITHHELD = (
    "withheld.json"  # beside the manifest, outside its digest: which blobs were left out, and why
)
SPEC = "spec.json"
PREDICTIONS = "predictions.json"
IDENTITY = "identity.json"
OBSERVATION = "observation.json"
CLOCKS = "clocks.json"
SESSION = "session.jsonl"
PLAN = "plan.parquet"
PROMPTS = "prompts.parquet"
TOKENIZER = "tokenizer.json.gz"  # of the pinned artifact, to count its output again
ATTEMPTS = "attempts.parquet"
SENT_INPUTS = "sent_inputs.parquet"  # bodies made while the run went, and their token counts
WIRE_FOLDER = "wire"
ENGINE_LOG = "engine.log"
ENGINE_EVENTS = "engine_events.jsonl"
SCRAPES = "scrapes.parquet"
TELEMETRY = "telemetry.parquet"
TRACE_FOLDER = "trace"
PACKAGES = "packages.json"
HOST = "host.json"  # facts and readings of the machine
SERVER_INFO = "server_info.json"  # the engine's own echo of its configuration, as it came
SERIES = "series.json"  # which series of the engine's metrics says what, as its adapter knows them
ENGINE_LOG_TIMES = "engine_log_times.jsonl"  # {"offset", "t_ns"}: when the byte at offset was read
VERSION_NOTES = (
    "version_notes.json"  # what was known of the pinned version's switches before the run
)
KEEPER = "keeper.jsonl"  # processes seen, signals, exits, what was released
REDACTIONS = "redactions.json"  # every replaced secret: file, place and rule
ERROR = "error.json"
# A stream that was recorded elsewhere (the interchange form), in place of attempts, wire and engine events.
RECORDED_WIRE = "recorded/wire.jsonl"
RECORDED_EVENTS = "recorded/events.jsonl"
# Another load client's result: its files whole, and what was read out of them.
FOREIGN_ORIGINAL = "recorded/original"
FOREIGN_TOOL = "recorded/tool.json"
FOREIGN_CALLS = "recorded/calls.jsonl"

# Beside the bundle, never in it: the working folder of a live execution.
BUNDLE_FOLDER = "bundle"
SEGMENTS_FOLDER = "segments"  # Arrow IPC streams, <stream>-<worker>-<number>.arrows
PROGRESS = "progress.jsonl"
CONTEXT = "context.json"
KEEPER_FOLDER = "keeper"


class FileClass(StrEnum):
    """Why a file is in the bundle; export may withhold ``content`` and ``wire`` by class."""

    declaration = "declaration"
    prediction = "prediction"
    identity = "identity"
    observation = "observation"
    plan = "plan"
    content = "content"
    wire = "wire"
    client = "client"
    engine = "engine"
    telemetry = "telemetry"
    trace = "trace"


# Only these may be absent from a bundle that still verifies.
WITHHOLDABLE = frozenset({FileClass.content, FileClass.wire})

FILE_CLASSES: dict[str, FileClass] = {
    SPEC: FileClass.declaration,
    PREDICTIONS: FileClass.prediction,
    IDENTITY: FileClass.identity,
    OBSERVATION: FileClass.observation,
    CLOCKS: FileClass.observation,
    SESSION: FileClass.observation,
    TOKENIZER: FileClass.identity,
    PACKAGES: FileClass.identity,
    HOST: FileClass.identity,
    SERVER_INFO: FileClass.identity,
    SERIES: FileClass.identity,
    VERSION_NOTES: FileClass.identity,
    KEEPER: FileClass.observation,
    REDACTIONS: FileClass.observation,
    ENGINE_LOG_TIMES: FileClass.engine,
    ERROR: FileClass.observation,
    RECORDED_WIRE: FileClass.wire,
    FOREIGN_TOOL: FileClass.client,
    FOREIGN_CALLS: FileClass.client,
    RECORDED_EVENTS: FileClass.engine,
    PLAN: FileClass.plan,
    PROMPTS: FileClass.content,
    SENT_INPUTS: FileClass.content,
    ATTEMPTS: FileClass.client,
    ENGINE_LOG: FileClass.engine,
    ENGINE_EVENTS: FileClass.engine,
    SCRAPES: FileClass.engine,
    TELEMETRY: FileClass.telemetry,
}


def file_class(path: str) -> FileClass:
    """The class of a bundle file by its path; an unlisted top-level file is an observation."""
    if path.startswith(WIRE_FOLDER + "/"):
        return FileClass.wire
    if path.startswith(FOREIGN_ORIGINAL + "/"):
        return FileClass.client
    if path.startswith(TRACE_FOLDER + "/"):
        return FileClass.trace
    return FILE_CLASSES.get(path, FileClass.observation)
