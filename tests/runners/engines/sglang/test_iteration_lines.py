"""Step lines of the recorded burst, and what is not counted of another form."""

import pytest

from runners.engines.sglang.iteration_lines import is_step, step
from runners.engines.sglang.log_lines import lines_of
from tests.runners.engines.sglang import recorded

BURST = [
    line.message
    for line in lines_of(recorded.log("requests_burst.log").splitlines())
    if is_step(line.message)
]


def test_every_step_of_the_burst_is_read() -> None:
    assert all(step(message) for message in BURST)


def test_prompts_and_cached_tokens_of_the_burst_add_up() -> None:
    # c09..: 4; r1: 38; r2: 43 of which 24 cached; r3: 3; r5: 37 of which 24 cached. r4 was never prefilled
    found = [(s.prefill_tokens, s.cached_tokens) for m in BURST if (s := step(m)) and not s.decodes]

    assert found == [(4, 0), (38, 0), (19, 24), (3, 0), (13, 24)]


def test_a_step_with_a_number_and_a_graph() -> None:
    found = step(
        "Decode batch [17], #running-req: 3, #token: 96, token usage: 0.01, cuda graph: True, "
        "gen throughput (token/s): 61.20, #queue-req: 2"
    )

    assert found is not None
    assert (found.number, found.running, found.kv_tokens, found.graph) == (17, 3, 96, True)


@pytest.mark.req("7.10")
@pytest.mark.forbids
@pytest.mark.parametrize(
    "message",
    [
        BURST[0].replace("#new-token", "#tokens"),
        # speculative: how many tokens a step computed is not printed
        "Decode batch, #running-req: 1, #token: 9, token usage: 0.00, accept len: 2.10, accept rate: 0.70, "
        "cuda graph: True, gen throughput (token/s): 9.00, #queue-req: 0",
    ],
)
def test_a_step_line_of_another_form_is_no_step(message: str) -> None:
    assert is_step(message)
    assert step(message) is None
