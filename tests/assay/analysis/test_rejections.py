"""Rejections are counted at the level that the reply shows."""

import pytest

from assay.analysis.rejections import rejections
from assay.analysis.wire.attempt import Attempt, AttemptIds
from runners.protocol.events import ClientState

NGINX = {"server": "nginx/1.22.1", "content-type": "text/html"}
ENGINE = {"server": "uvicorn", "content-type": "application/json"}
RELAYED = {"server": "nginx/1.22.1", "via": "1.1 edge", "content-type": "application/json"}


def rejected(status: int, headers: dict[str, str]) -> Attempt:
    attempt = Attempt(ids=AttemptIds(attempt_id="a"), clock_domain="c", headers=headers)
    attempt.status, attempt.state = status, ClientState.rejected
    return attempt


@pytest.mark.req("2.14")
def test_rejections_stand_at_the_level_that_gave_them() -> None:
    seen = [
        rejected(503, NGINX),
        rejected(503, NGINX),
        rejected(429, ENGINE),
        rejected(503, RELAYED),
        rejected(503, {"server": "nginx"}),  # a bare status names nobody
        rejected(429, {}),
    ]
    done = Attempt(ids=AttemptIds(attempt_id="b"), clock_domain="c", state=ClientState.completed)

    found = [(r["level"], r["status"], r["attempts"]) for r in rejections([*seen, done])]

    assert found == [
        ("engine front end", 429, 1),
        ("engine front end", 503, 1),
        ("gateway", 503, 2),
        ("not evidenced", 429, 1),
        ("not evidenced", 503, 1),
    ]
    assert sum(count for _, _, count in found) == len(seen)


def test_a_run_without_rejections_lists_none() -> None:
    assert rejections([]) == []
