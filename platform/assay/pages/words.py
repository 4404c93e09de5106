"""Words for people: tones of states, names of ledgers, labels of rules. One literal table each."""

from django.utils.translation import gettext_lazy as _

from runners.protocol.events import LIVE_STATES as LIVE_STATES

# Red is a fact that is bad, grey is unknown; every other state is plain ink.
STATE_TONES: dict[str, str] = {
    # answers of a regression check
    "confirmed": "bad",
    "suspected": "weak",
    "drifts": "bad",
    "unclear": "weak",  # a bisection
    "insufficient": "unknown",
    "missing": "unknown",
    "invalid": "weak",
    "not comparable": "unknown",
    "client limited": "weak",
    "failed": "bad",
    "failure": "bad",
    "lost": "bad",
    "timeout": "bad",
    "rejected": "bad",
    "unknown": "unknown",
    "undetermined": "unknown",
    "unfinalised": "unknown",
}

LEDGER_QUESTIONS = {
    "client": _("What the caller saw"),
    "server": _("What the engine's own record says"),
    "task": _("What the contract makes of it"),
    "resource": _("How far resources came back"),
}

NO_RECORD = {
    "client": _("no client record"),
    "server": _("no server record"),
    "task": _("no task record"),
    "resource": _("no resource record"),
}

NOT_YET = _("not yet")

# Strongest first; a state that is not listed comes last.
STATE_ORDER: dict[str, tuple[str, ...]] = {
    "client": ("completed", "cancelled", "timeout", "rejected", "failed", "unfinalised"),
    "server": (
        "completed",
        "running",
        "queued",
        "received",
        "cancelled",
        "rejected",
        "failed",
        "undetermined",
    ),
    "task": ("success", "partial_success", "failure", "undetermined"),
    "resource": (
        "process_returned",
        "blocks_reusable",
        "blocks_dropped",
        "computing_stopped",
        "released",
        "held",
        "unknown",
    ),
}

RUN_STATES = {
    "queued": _("waits for a worker"),
    "running": _("is being carried out"),
    "sealed": _("ended; its bundle is sealed"),
    "failed": _("ended in failure; sealed with its evidence"),
    "aborted": _("stopped by a person; sealed as far as it came"),
    "lost": _("its worker died; sealed from what was left"),
    "refused": _("refused before anything was launched"),
}

IDENTITY_LABELS = {
    "engine_version": _("Engine name, version and commit"),
    "launch_configuration": _("Entry point and launch configuration"),
    "model_runner": _("Model runner"),
    "attention_gemm_backend": _("Attention and GEMM back end"),
    "graph_compile_mode": _("Graph and compile mode"),
    "hardware_runtime": _("Hardware, driver and runtime libraries"),
    "precision_path": _("Precision path executed"),
    "parallel_layout": _("Parallel layout and communication"),
}

LEVEL_MEANING = {
    "E0": _("no device was used: arithmetic and parsing only"),
    "E1": _("the caller's view only; the inside of the engine was not seen"),
    "E2": _("the inside of the engine was seen"),
}

RELEASE_MEANING = {
    "computing_stopped": _("no more work is scheduled for it"),
    "blocks_dropped": _("the request holds no blocks"),
    "blocks_reusable": _("its blocks may be given to others"),
    "process_returned": _("the process gave memory back to the device"),
}


def tone(state: str) -> str:
    return STATE_TONES.get(state, "plain")


def in_order(ledger: str, states: dict[str, int]) -> list[tuple[str, int]]:
    """Counts of one ledger in the fixed order of its states."""
    order = STATE_ORDER[ledger]
    return sorted(
        states.items(), key=lambda item: (order.index(item[0]) if item[0] in order else 99, item[0])
    )
