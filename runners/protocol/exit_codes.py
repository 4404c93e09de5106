"""Exit codes of runner and command line, and which one each final state of a run has. Scripts rely on it."""

from runners.protocol.events import RunState

DONE = 0
FAILED = 1  # the run ended but failed, or a check did not hold
REFUSED = 2  # refused input
LACKING = 3  # the environment lacks something
INTERRUPTED = 130

OF_STATE = {
    RunState.sealed: DONE,
    RunState.failed: FAILED,
    RunState.lost: FAILED,
    RunState.refused: REFUSED,
    RunState.aborted: INTERRUPTED,
}
