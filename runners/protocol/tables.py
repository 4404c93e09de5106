"""Arrow schemas of a bundle's tables. All ``*_ns`` are absolute times of the run's client clock domain."""

import pyarrow as pa

PLAN = pa.schema(
    [
        ("sequence", pa.int32()),
        ("phase", pa.string()),
        ("segment", pa.string()),
        ("case", pa.string()),  # archive case name, or null
        ("task_id", pa.string()),
        ("session_id", pa.string()),
        ("request_id", pa.string()),
        ("model_call_id", pa.string()),
        ("call_type", pa.string()),
        ("endpoint", pa.string()),  # a key of runners/load/bodies.py's FORMS
        ("offset_ns", pa.int64()),  # from the start of its segment; null in a closed loop
        ("slot", pa.int32()),  # closed loop: which worker sends it; null in an open loop
        ("prompt_ref", pa.string()),  # sha256 of the canonical JSON of the messages
        ("input_sha256", pa.string()),  # sha256 of the input token ids as little-endian int32
        ("input_tokens", pa.int32()),
        ("output_cap", pa.int32()),
        ("sampling_seed", pa.int64()),
        ("temperature", pa.float64()),
        ("top_p", pa.float64()),
        ("top_k", pa.int32()),
        ("stop", pa.list_(pa.string())),
        ("ignore_eos", pa.bool_()),
        ("cancel_after_chunks", pa.int32()),
        ("cancel_after_ns", pa.int64()),
        # Requests that follow others. ``after``: the requests that must have ended before this one is sent;
        # empty: a root, paced by the load. A root with others of its task is sent together with them.
        ("step", pa.string()),  # runners.protocol.events.Step, or null for a request on its own
        ("turn", pa.int32()),  # from 1, in a session
        ("branch", pa.string()),
        ("is_required", pa.bool_()),  # false: its task may succeed without it
        ("after", pa.list_(pa.string())),
        (
            "after_completed",
            pa.int32(),
        ),  # sent as soon as so many of ``after`` completed; null: all
        ("after_least", pa.int32()),  # enough once all of ``after`` have ended; null: all
        ("after_delay_ns", pa.int64()),  # think time, or the injected time of ``dependency``
        ("dependency", pa.string()),  # what the delay stands for: a name of boundary's, or null
        (
            "history_tokens",
            pa.int32(),
        ),  # input beyond what the last message alone takes; null: live
        ("members", pa.string()),  # further members of the body, canonical JSON: tools, formats
        ("on_reply", pa.string()),  # what the client does with the reply, canonical JSON, or null
        ("prefix_group", pa.int32()),  # which declared prefix the prompt begins with; null: none
        ("items", pa.int32()),  # texts to embed, rank or score; null in a generation
    ]
)

PROMPTS = pa.schema(
    [
        ("prompt_ref", pa.string()),
        ("messages", pa.string()),  # canonical JSON
        ("expanded", pa.string()),  # after the chat template
        ("token_ids", pa.list_(pa.int32())),
        ("tokenizer_sha256", pa.string()),
        ("chat_template_sha256", pa.string()),
    ]
)

ATTEMPTS = pa.schema(
    [
        ("attempt_id", pa.string()),
        ("request_id", pa.string()),
        ("task_id", pa.string()),
        ("session_id", pa.string()),
        ("model_call_id", pa.string()),
        ("retry_of", pa.string()),
        ("phase", pa.string()),
        ("segment", pa.string()),
        ("case", pa.string()),
        ("sequence", pa.int32()),
        ("worker", pa.int32()),
        ("scheduled_ns", pa.int64()),  # null in a closed loop
        ("created_ns", pa.int64()),
        ("connect_start_ns", pa.int64()),
        ("connected_ns", pa.int64()),
        ("sent_ns", pa.int64()),  # right after the write; see runners/load/client.py
        # when the kernel had taken the last request byte: sent_ns if at once, null if never
        ("drained_ns", pa.int64()),
        ("first_byte_ns", pa.int64()),
        ("ended_ns", pa.int64()),
        ("end", pa.string()),  # WireKind: closed | timeout | cancel | error; null while open
        ("detail", pa.string()),  # for timeout: which wait; for error: the transport's words
        ("status", pa.int32()),
        ("connection_id", pa.int32()),
        ("connection_reused", pa.bool_()),
        ("bytes_received", pa.int64()),
        ("output_cap", pa.int32()),
    ]
)

# One row per socket read, raw: response head, chunked framing and all.
WIRE = pa.schema(
    [
        ("attempt_id", pa.string()),
        ("t_ns", pa.int64()),
        ("data", pa.binary()),
    ]
)

# One row per request whose body was made while the run went: it holds replies of this very run.
SENT_INPUTS = pa.schema(
    [
        ("request_id", pa.string()),
        ("task_id", pa.string()),
        ("session_id", pa.string()),
        ("model_call_id", pa.string()),
        ("step", pa.string()),
        ("regeneration_of", pa.string()),  # the request asked again, or null
        ("replies_of", pa.list_(pa.string())),  # requests whose replies this input holds
        ("ready_ns", pa.int64()),  # when the last request that it waited for had ended
        ("due_ns", pa.int64()),  # ready, and the declared delay
        ("assembled_ns", pa.int64()),  # when the body was whole
        ("assembly_ns", pa.int64()),  # how long the client took to make it
        ("messages", pa.string()),  # canonical JSON, as sent
        ("call_source", pa.string()),  # tool step before it: reply | scripted; null elsewhere
        ("detail", pa.string()),  # why the reply's own call was not used, and the like
        # Counted with the pinned template and tokenizer after the drive; null until then.
        ("expanded", pa.string()),
        ("token_ids", pa.list_(pa.int32())),
        ("input_sha256", pa.string()),
        ("input_tokens", pa.int32()),
        ("history_tokens", pa.int32()),
    ]
)

SCRAPES = pa.schema(
    [
        ("t_ns", pa.int64()),
        ("duration_ns", pa.int64()),
        ("source", pa.string()),  # "/metrics"
        ("status", pa.int32()),
        ("body", pa.string()),
        ("error", pa.string()),
    ]
)

TELEMETRY = pa.schema(
    [
        ("t_ns", pa.int64()),
        (
            "subject",
            pa.string(),
        ),  # host | client | engine | process name | rapl:PACKAGE | nvml:DEVICE
        ("pid", pa.int32()),
        ("metric", pa.string()),  # cpu_s, rss_bytes, page_faults, available_bytes, ...
        ("value", pa.float64()),
        ("unit", pa.string()),
    ]
)

TelemetryRow = tuple[int, str, int | None, str, float, str]  # the columns of TELEMETRY

STREAMS: dict[str, pa.Schema] = {
    "attempts": ATTEMPTS,
    "wire": WIRE,
    "sent_inputs": SENT_INPUTS,
    "scrapes": SCRAPES,
    "telemetry": TELEMETRY,
}
