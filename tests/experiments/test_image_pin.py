"""``REPOSITORY@sha256:DIGEST`` is one word for people and two fields of a declaration."""

import pytest

from experiments.compose import compose
from experiments.errors import Refusal
from experiments.plan import plan
from tests.experiments.declarations import STUDY

DIGEST = "sha256:" + "ab" * 32


def planned(*overrides: str) -> dict[str, object]:
    (spec,) = plan([compose([STUDY, "engine.environment.kind=container", *overrides])])
    found: dict[str, object] = spec.document["engine"]["environment"]
    return found | {"digest": spec.digest}


def test_one_word_is_taken_apart_and_its_digest_alone_is_identity() -> None:
    written = planned(f"engine.environment.image='registry.example:5000/team/torch@{DIGEST}'")
    mirrored = planned(f"engine.environment.image='mirror.example/torch@{DIGEST}'")

    assert written["image"] == "registry.example:5000/team/torch"
    assert written["image_digest"] == DIGEST
    assert written["digest"] == mirrored["digest"]
    other = planned(f"engine.environment.image='team/torch@sha256:{'0' * 64}'")
    assert other["digest"] != written["digest"]


@pytest.mark.forbids
def test_two_digests_that_differ_are_refused() -> None:
    with pytest.raises(Refusal, match=r"engine\.environment\.image"):
        planned(
            f"engine.environment.image='team/torch@{DIGEST}'",
            f"engine.environment.image_digest='sha256:{'0' * 64}'",
        )
