"""Sampling rules, and a generator for each request."""

from dataclasses import replace

import pytest
import torch

from runners.engines.torch.calls import Sampling
from runners.engines.torch.sampling import Sampler, distribution, penalised
from runners.engines.torch.scheduler import Running
from tests.runners.engines.torch.steps import GREEDY, call

pytestmark = pytest.mark.engine
WARM = replace(GREEDY, temperature=1.0)


def entry(request: str, sampling: Sampling) -> Running:
    return Running(call=call(request, [1], 5, sampling=sampling), tokens=[1])


def test_greedy_takes_the_first_maximum() -> None:
    logits = torch.tensor([[0.0, 3.0, 3.0], [9.0, 1.0, 2.0]])

    assert Sampler().next_tokens([entry("a", GREEDY), entry("b", GREEDY)], logits) == [1, 0]


def test_top_k_keeps_the_k_likeliest() -> None:
    scores = torch.tensor([0.0, 1.0, 2.0, 3.0])

    probabilities = distribution(scores, replace(WARM, top_k=2))

    # e^2 / (e^2 + e^3) = 1 / (1 + e) = 0.268941
    assert probabilities.tolist() == pytest.approx([0, 0, 0.268941, 0.731059], abs=1e-6)


def test_top_p_keeps_up_to_the_token_that_reaches_it() -> None:
    scores = torch.tensor([0.1, 0.5, 0.4]).log()

    # sorted 0.5, 0.4, 0.1; the sum before 0.4 is 0.5 < 0.6, before 0.1 it is 0.9
    probabilities = distribution(scores, replace(WARM, top_p=0.6))

    assert probabilities.tolist() == pytest.approx([0, 5 / 9, 4 / 9], abs=1e-6)


def test_a_low_temperature_sharpens() -> None:
    scores = torch.tensor([0.0, 1.0])

    # 1 / (1 + e^(1/0.5)) = 0.119203
    assert distribution(scores, replace(WARM, temperature=0.5))[0].item() == pytest.approx(
        0.119203, abs=1e-6
    )


def test_the_repetition_penalty_lowers_what_was_seen() -> None:
    scores = torch.tensor([2.0, -2.0, 2.0])

    # positive: 2 / 1.25 = 1.6; negative: -2 * 1.25 = -2.5; token 2 was not seen
    assert penalised(scores, [0, 1, 1], 1.25).tolist() == pytest.approx([1.6, -2.5, 2.0])


def test_a_seed_gives_the_same_answer_whoever_shares_the_batch() -> None:
    torch.manual_seed(3)
    rows = torch.randn(20, 50)

    def draw(company: int) -> list[int]:
        sampler = Sampler()
        others = [entry(f"o{n}", replace(WARM, seed=n)) for n in range(company)]
        mine = entry("mine", replace(WARM, seed=1234))
        got = []
        for row in rows:
            logits = torch.cat([torch.randn(company, 50), row[None]])
            got.append(sampler.next_tokens([*others, mine], logits)[-1])
        return got

    assert draw(0) == draw(3)
    assert len(set(draw(0))) > 5  # it does sample


def test_two_seeds_give_two_answers_and_a_forgotten_request_starts_anew() -> None:
    rows = torch.zeros(20, 50)

    def draw(sampler: Sampler, seed: int) -> list[int]:
        one = entry("a", replace(WARM, seed=seed))
        return [sampler.next_tokens([one], row[None])[0] for row in rows]

    sampler = Sampler()
    first = draw(sampler, 1)
    sampler.forget("a")

    assert draw(sampler, 1) == first
    assert draw(Sampler(), 2) != first


@pytest.mark.parametrize("share", [0.3, 0.7])
def test_draws_follow_the_distribution(share: float) -> None:
    sampler = Sampler()
    logits = torch.tensor([[share, 1 - share]]).log()
    one = entry("a", replace(WARM, seed=9))

    ones = sum(sampler.next_tokens([one], logits)[0] for _ in range(4000))

    # four standard deviations of a share over 4000 draws: 4 * sqrt(0.21 / 4000) = 0.029
    assert ones / 4000 == pytest.approx(1 - share, abs=0.029)
