"""One step after another: what is recorded, how requests join, leave and are cancelled."""

import pytest

from tests.runners.engines.torch.steps import answer, call, rig


def test_every_token_and_step_is_recorded() -> None:
    made = rig()
    made.submit(call("a", range(6), 3))

    made.drain()

    names = [row["event"] for row in made.events.rows if row["event"] != "iteration"]
    # 6 prompt tokens need 2 blocks of 4; the 9th token is never stored, the 8th still fits
    assert names == [
        *("queued", "scheduled", "kv_taken", "first_token", "token", "token", "finished"),
        "kv_released",
    ]
    first = made.events.of("iteration")[0]
    assert first["requests"] == [
        {
            "request": "a",
            "tokens_in": 6,
            "tokens_out": 1,
            "context": 6,
            "phase": "prefill",
            "recomputed": 0,
        }
    ]
    assert [row["index"] for row in made.events.of("token")] == [1, 2]
    assert made.events.of("finished")[0]["tokens_out"] == 3
    assert made.events.of("kv_released")[0] == {
        "event": "kv_released",
        "request": "a",
        "t_ns": made.events.of("kv_released")[0]["t_ns"],
        "blocks": 2,
        "used": 0,
        "total": 32,
        "level": "blocks_reusable",
    }


def test_times_of_a_request_are_in_order() -> None:
    made = rig()
    made.submit(call("a", range(6), 3))

    made.drain()

    rows = [row for row in made.events.rows if row["event"] != "queued"]
    iterations = made.events.of("iteration")
    assert all(row["t_ns"] >= iterations[0]["t_ns"] for row in rows)
    ends = [row["t_ns"] + row["duration_ns"] for row in iterations]
    assert [row["t_ns"] for row in made.events.of("first_token")] == ends[:1]
    assert [row["t_ns"] for row in made.events.of("token")] == ends[1:]


def test_a_join_and_a_leave_in_mid_decode_change_nothing_for_the_others() -> None:
    made = rig()
    made.submit(call("a", range(5), 12))
    for _ in range(4):
        made.step()
    made.submit(call("b", range(7, 20), 3))

    made.drain()

    assert made.tokens == {"a": answer(range(5), 12), "b": answer(range(7, 20), 3)}
    shared = [step for step in made.model.steps if len(step) == 2]
    assert len(shared) == 3  # b's prompt with a's fifth token, then two tokens more


def test_the_end_token_ends_an_answer_unless_it_is_ignored() -> None:
    prompt = range(5)
    end = answer(prompt, 3)[2]
    made = rig(eos=[end])
    made.submit(call("a", prompt, 10, ignore_eos=False), call("b", prompt, 10))

    made.drain()

    assert made.tokens["a"] == answer(prompt, 3)
    assert made.finished == {"a": "stop", "b": "length"}
    assert len(made.tokens["b"]) == 10


@pytest.mark.req("8.10", "8.11")
def test_a_cancel_inside_a_shared_batch_leaves_the_others_unchanged_and_returns_its_blocks() -> (
    None
):
    made = rig()
    made.submit(*(call(name, range(at, at + 6), 10) for at, name in enumerate("abc")))
    for _ in range(4):
        made.step()
    held = len(made.core.pool.table("b"))
    steps_before, used_before = len(made.model.steps), made.core.pool.used

    assert made.core.cancel("b", asked_ns=11)

    cancelled = made.events.of("cancelled")[0]
    assert (cancelled["tokens_out"], cancelled["phase"]) == (4, "decode")
    released = made.events.of("kv_released", "b")[0]
    assert (released["blocks"], released["used"]) == (held, used_before - held)
    made.drain()
    assert all("b" not in dict(step) for step in made.model.steps[steps_before:])
    assert made.tokens["a"] == answer(range(6), 10)
    assert made.tokens["c"] == answer(range(2, 8), 10)
    assert made.model.forgotten.count("b") == 1


@pytest.mark.req("8.13")
def test_a_cancel_names_the_phase_it_met() -> None:
    made = rig(max_batch=2, token_budget=8)
    made.submit(call("a", range(4), 9), call("b", range(30), 9), call("c", range(4), 9))
    made.step()

    for request in "abc":
        made.core.cancel(request, asked_ns=0)

    phases = {row["request"]: row["phase"] for row in made.events.of("cancelled")}
    assert phases == {"a": "decode", "b": "prefill", "c": "queued"}
    assert made.events.of("kv_released", "c") == []  # it never held any
    assert made.core.idle


def test_a_cancel_of_an_ended_request_is_no_cancel() -> None:
    made = rig()
    made.submit(call("a", range(4), 1))
    made.drain()

    assert not made.core.cancel("a", asked_ns=0)
    assert made.events.of("cancelled") == []


def test_at_the_end_every_open_request_gets_its_last_event() -> None:
    made = rig(max_batch=1)
    made.submit(call("a", range(4), 9), call("b", range(4), 9))
    made.step()

    made.core.fail_all("engine stopped")

    assert {row["request"]: row["tokens_out"] for row in made.events.of("failed")} == {
        "a": 1,
        "b": 0,
    }
    assert made.core.idle
    made.core.pool.check()
    assert made.core.pool.used == 0


@pytest.mark.req("8.07")
def test_the_time_limit_ends_each_late_request_in_whatever_phase_and_frees_its_blocks() -> None:
    """Limit 1 s. At 1.5 s those of 0 s and 0.1 s are late, one running, one still waiting; 0.6 s is not."""
    made = rig(max_batch=2, max_request_s=1.0)
    for name, queued_s in (("old", 0.0), ("young", 0.6), ("queued", 0.1)):
        made.core.submit(call(name, [1, 2, 3], 50), round(queued_s * 1e9))
    made.step()  # the first two run, the third waits

    late = made.core.expire(round(1.5e9))

    assert sorted(late) == ["old", "queued"]
    ends = {row["request"]: row for row in made.events.of("failed")}
    assert {row["reason"] for row in ends.values()} == {"time limit: max_request_s 1"}
    assert (ends["old"]["phase"], ends["queued"]["phase"]) == ("decode", "queued")
    assert made.core.requests == ["young"]
    released = {row["request"] for row in made.events.of("kv_released")}
    assert released == {row["request"] for row in made.events.of("kv_taken")} - {"young"}
    made.drain()
    assert made.tokens["young"] == answer([1, 2, 3], 50)  # its neighbours' end changed nothing
    assert made.core.pool.used == 0


def test_without_a_time_limit_nothing_ends_by_itself() -> None:
    made = rig()
    made.core.submit(call("old", [1], 2), 0)

    assert made.core.expire(10**18) == []


def test_a_declared_delay_is_waited_in_steps_that_decode_and_told_step_by_step() -> None:
    made = rig(injected_delay_s=0.01)
    made.submit(call("a", range(6), 3))

    made.drain()

    first, *others = made.events.of("iteration")
    assert "injected_ns" not in first  # the prompt alone
    assert len(others) == 2
    for row in others:
        assert 10_000_000 <= row["injected_ns"] <= row["duration_ns"]


def test_without_a_delay_no_step_speaks_of_one() -> None:
    made = rig()
    made.submit(call("a", range(6), 3))

    made.drain()

    assert all("injected_ns" not in row for row in made.events.of("iteration"))
