"""An endpoint that somebody else runs: what may be declared of it, and what must stay unknown."""

from typing import Any

import pytest

from experiments.checks.policy import LOOPBACK, Policy
from experiments.compose import compose
from experiments.diff import Verdict, compare
from experiments.plan import check
from tests.runners.engines.openai_endpoint.declared import spec

PIN = "sha256:" + "a" * 64


def fields(document: dict[str, Any], policy: Policy | None = None) -> list[str]:
    return [f.field for f in check(document, policy=policy or Policy())]


def test_a_quick_look_is_a_whole_declaration() -> None:
    assert check(spec()) == []


def test_the_shipped_groups_declare_the_same_kind_of_run() -> None:
    groups = ("study=smollm2_smoke", "artifact=endpoint", "engine=openai_endpoint")

    composed = compose([*groups, "boundary=endpoint", "engine.settings.model=small"])

    assert check(composed.document) == []


@pytest.mark.forbids
@pytest.mark.parametrize(
    ("part", "value"), [("revision", PIN), ("files", [{"path": "x"}]), ("config", {"L": 30})]
)
def test_nothing_may_be_stated_of_bytes_that_nobody_has_seen(part: str, value: Any) -> None:
    document = spec()
    document["artifact"][part] = value

    # a half declared part also lacks its other fields, which is found before anything else
    assert any(f.startswith(f"artifact.{part}") for f in fields(document))


@pytest.mark.forbids
def test_only_an_endpoint_serves_an_unknown_artifact() -> None:
    document = dict(compose(["study=smollm2_smoke", "artifact=endpoint"]).document)

    assert "artifact.source.kind" in fields(document)


@pytest.mark.forbids
@pytest.mark.parametrize(
    "url",
    ["http://models.example", "ftp://127.0.0.1", "http://u:p@127.0.0.1", "http://[", "", None],
)
def test_a_url_that_is_not_allowed_is_refused(url: str | None) -> None:
    document = spec()
    document["engine"]["environment"]["url"] = url

    assert fields(document) == ["engine.environment.url"]


def test_the_allowlist_of_the_installation_adds_to_loopback() -> None:
    policy = Policy.from_environment({"ASSAY_ENDPOINT_ALLOWLIST": " Models.example, other.example"})

    assert policy.url_hosts == (*LOOPBACK, "models.example", "other.example")
    assert fields(spec("https://models.example/v1"), policy) == []


@pytest.mark.forbids
def test_a_key_in_the_place_of_its_name_is_refused_and_not_repeated() -> None:
    document = spec()
    document["engine"]["settings"]["authorization_env"] = "sk-not-to-be-seen"

    [finding] = check(document)

    assert finding.field == "engine.settings.authorization_env"
    assert "sk-not-to-be-seen" not in str(finding)


@pytest.mark.forbids
@pytest.mark.req("5.24")
def test_an_unknown_artifact_equals_nothing_not_even_itself() -> None:
    compared = compare(spec(), spec())

    unknown = {f.path for f in compared.with_verdict(Verdict.unknown)}
    assert {f"artifact.{p}" for p in ("config", "precision", "tokenizer", "revision")} <= unknown
    assert "engine.version" in unknown


def test_a_known_artifact_beside_an_unknown_one_is_compared_part_by_part() -> None:
    known = compose(["study=smollm2_smoke"]).document
    beside = {f.path: f.verdict for f in compare(known, spec()).fields}

    assert beside["artifact.config"] is Verdict.unknown
    assert not [path for path in beside if path.startswith("artifact.config.")]
