"""A declaration that cannot be run as written is refused: field, value seen, values allowed, remedy."""

from typing import Any

import pytest

from experiments.checks.policy import Policy
from experiments.compose import compose
from experiments.errors import Refusal
from experiments.plan import check, plan
from tests.experiments.declarations import STUDY, changed, example

SHA = "a" * 64
PARENT = {"digest": SHA, "recipe": "llama-quantize Q4_1", "tools": {"llama.cpp": "b4000"}}


def findings(path: str, value: Any, policy: Policy | None = None) -> dict[str, str]:
    found = check(changed(example(), path, value), policy=policy or Policy())
    return {f.field: f"{f.seen} | {f.allowed} | {f.remedy}" for f in found}


def test_the_example_has_no_findings() -> None:
    assert check(example()) == []


@pytest.mark.forbids
@pytest.mark.req("5.01", "5.02")
@pytest.mark.parametrize(
    "revision", ["main", "v1.0", "latest", "SmolLM2-135M-Instruct", "abc1234", ""]
)
def test_a_name_or_branch_instead_of_a_revision_is_refused(revision: str) -> None:
    with pytest.raises(Refusal) as caught:
        plan([compose([STUDY, f"artifact.revision='{revision}'"])])

    assert [f.field for f in caught.value.findings] == ["artifact.revision"]
    assert caught.value.findings[0].seen == revision
    assert "pin the immutable id" in caught.value.findings[0].remedy


def hf(revision: str, repository: str = "HuggingFaceTB/SmolLM2-135M-Instruct") -> dict[str, Any]:
    document = changed(example(), "artifact.source.kind", "hf")
    document["artifact"]["source"]["repository"] = repository
    return changed(document, "artifact.revision", revision)


@pytest.mark.forbids
@pytest.mark.req("5.02")
@pytest.mark.parametrize("revision", ["main", "refs/pr/1", "12fd25f", "A" * 40, "g" * 40, "a" * 41])
def test_a_repository_needs_a_commit_of_forty_hex_digits(revision: str) -> None:
    assert [f.field for f in check(hf(revision))] == ["artifact.revision"]


def test_a_repository_with_a_commit_is_accepted() -> None:
    assert check(hf("12fd25f77366fa6b3b4b768ec3050bf629380bac")) == []


@pytest.mark.parametrize("repository", ["SmolLM2", "../../etc", "a/b/c"])
def test_a_repository_is_organisation_and_model(repository: str) -> None:
    assert [f.field for f in check(hf("1" * 40, repository))] == ["artifact.source.repository"]


@pytest.mark.forbids
@pytest.mark.parametrize(
    "path", [None, "/etc", "/srv/models/../../etc", "../folder", "/srv/models-other/x"]
)
def test_a_folder_outside_the_allowed_roots_is_refused(path: str | None) -> None:
    document = changed(example(), "artifact.source.kind", "folder")
    document["artifact"]["revision"] = f"sha256:{SHA}"

    found = check(
        changed(document, "artifact.source.path", path),
        policy=Policy(artifact_roots=("/srv/models",)),
    )

    assert [f.field for f in found] == ["artifact.source.path"]
    assert "/srv/models" in found[0].allowed


def test_a_folder_below_an_allowed_root_is_accepted() -> None:
    document = changed(example(), "artifact.source.kind", "folder")
    document["artifact"]["revision"] = f"sha256:{SHA}"
    document["artifact"]["source"]["path"] = "/srv/models/smol"

    assert check(document, policy=Policy(artifact_roots=("/srv/models",))) == []


@pytest.mark.forbids
@pytest.mark.parametrize(
    "url",
    [
        "http://169.254.169.254/latest/meta-data",
        "http://evil.example:8000",
        "ftp://127.0.0.1/",
        "file:///etc/passwd",
        "http://user:secret@127.0.0.1/",
        "http://127.0.0.1.evil.example/",
        "http://[::1",
        "",
    ],
)
def test_a_url_outside_the_allow_list_is_refused(url: str) -> None:
    document = changed(example(), "engine.environment.kind", "url")

    found = check(changed(document, "engine.environment.url", url))

    assert [f.field for f in found] == ["engine.environment.url"]
    assert "secret" not in str(found[0])


def test_a_url_on_an_allowed_host_is_accepted() -> None:
    document = changed(example(), "engine.environment.kind", "url")
    document["engine"]["environment"]["url"] = "https://gpu-7.lab:8000/"

    assert check(document, policy=Policy(url_hosts=("gpu-7.lab",))) == []


@pytest.mark.forbids
@pytest.mark.parametrize(
    ("parent", "field"),
    [
        ({**PARENT, "digest": "unknown"}, "artifact.parent.digest"),
        ({**PARENT, "recipe": " "}, "artifact.parent.recipe"),
        ({**PARENT, "tools": {}}, "artifact.parent.tools"),
        ({**PARENT, "tools": {"llama.cpp": ""}}, "artifact.parent.tools"),
    ],
)
def test_a_converted_artifact_names_parent_recipe_and_tool_versions(
    parent: dict[str, Any], field: str
) -> None:
    assert list(findings("artifact.parent", parent)) == [field]


def test_a_whole_parent_is_accepted() -> None:
    assert findings("artifact.parent", PARENT) == {}


@pytest.mark.forbids
@pytest.mark.req("5.08")
@pytest.mark.parametrize("word", ["4bit", "4 bit", "4-bit", "FP8", "fp8", "int", "quantized", "Q4"])
@pytest.mark.parametrize("item", ["weights", "activations", "accumulation", "kv"])
def test_a_word_is_not_a_dtype(word: str, item: str) -> None:
    found = findings(f"artifact.precision.{item}.dtype", word)

    assert found[f"artifact.precision.{item}.dtype"].startswith(f"{word} | ")


@pytest.mark.req("5.06")
@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("weights.bits", 8),
        ("weights.granularity", "none"),
        ("weights.granularity", "roughly"),
        ("weights.scale", None),
        ("weights.scale.block", 0),
        ("weights.scale.dtype", "half"),
        ("weights.excluded_dtypes", {"token_embd.weight": "Q8_0"}),
        ("weights.excluded_dtypes", {"token_embd.weight": "8bit", "*_norm.weight": "F32"}),
        ("activations.bits", 16),
    ],
)
def test_an_incomplete_precision_is_refused(path: str, value: Any) -> None:
    assert findings(f"artifact.precision.{path}", value)


@pytest.mark.req("5.07")
def test_the_engine_cannot_contradict_the_declared_execution_precision() -> None:
    found = findings("engine.settings.kv_dtype", "bfloat16")

    assert list(found) == ["engine.settings.kv_dtype"]
    assert "artifact.precision.kv.dtype" in found["engine.settings.kv_dtype"]


@pytest.mark.forbids
@pytest.mark.parametrize("rate", ["-1", "0", "-0.5", "null"])
@pytest.mark.parametrize("load", ["constant", "poisson"])
def test_a_rate_that_is_not_above_zero_is_refused(load: str, rate: str) -> None:
    with pytest.raises(Refusal, match=r"load\.rate_per_s"):
        plan([compose([STUDY, f"load={load}", f"load.rate_per_s={rate}"])])


@pytest.mark.parametrize("concurrency", ["0", "-1", "null"])
def test_a_closed_loop_needs_workers(concurrency: str) -> None:
    with pytest.raises(Refusal, match=r"load\.concurrency"):
        plan([compose([STUDY, f"load.concurrency={concurrency}"])])


@pytest.mark.forbids
def test_a_closed_loop_has_no_rate_and_an_open_one_no_concurrency() -> None:
    with pytest.raises(Refusal, match="null in a closed loop"):
        plan([compose([STUDY, "load.rate_per_s=2"])])
    with pytest.raises(Refusal, match="null in an open loop"):
        plan([compose([STUDY, "load=poisson", "load.concurrency=2"])])


@pytest.mark.forbids
@pytest.mark.parametrize(
    ("written", "field"),
    [
        ("workload.input_tokens=9000", "workload"),
        ("workload.output_tokens=2000", "workload"),
        ("workload.cases.1.input_tokens=2040", "workload.cases.1"),
        ("workload.warmup_input_tokens=2048", "workload.warmup"),
        ("evidence.trace.input_tokens=2048", "evidence.trace"),
        ("engine.settings.max_length=1000", "workload.cases.1"),
        ("engine.settings.kv_blocks=32", "workload.cases.1"),
    ],
)
def test_a_prompt_with_its_answer_must_fit_the_context(written: str, field: str) -> None:
    with pytest.raises(Refusal) as caught:
        plan([compose([STUDY, written])])

    assert {f.field for f in caught.value.findings} == {field}


@pytest.mark.forbids
@pytest.mark.parametrize("count", [0, -5])
@pytest.mark.parametrize(
    "field",
    [
        "workload.output_tokens",
        "workload.cases.1.input_tokens",
        "workload.warmup_output_tokens",
        "evidence.trace.output_tokens",
    ],
)
def test_a_length_that_is_not_above_zero_is_refused_by_its_own_name(field: str, count: int) -> None:
    assert findings(field, count)[field].startswith(f"{count} | at least 1 | ")


def test_exactly_the_context_fits() -> None:
    # 2048 = 2024 in + 24 out, the engine's max_length
    assert plan([compose([STUDY, "workload.input_tokens=2024"])])
    with pytest.raises(Refusal, match="2025 input"):
        plan([compose([STUDY, "workload.input_tokens=2025"])])


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("engine.version", "latest"),
        ("engine.version", ">=2.0"),
        ("engine.port", 80),
        ("engine.settings.threads", 0),
        ("engine.settings.token_budget", 4),
        ("device.kind", "tpu"),
        ("device.count", 0),
        ("device.host_memory_bytes", 0),
        ("workload.structure", "tool_use"),
        ("workload.call_type", "embedding"),
        ("workload.requests", -1),
        ("workload.temperature", -0.1),
        ("workload.top_p", 0),
        ("workload.top_k", -1),
        ("workload.texts", ["a text beside synthetic prompts"]),
        ("workload.shared_prefix_tokens", 64),
        ("workload.cases.3.cancel", {"after_chunks": None, "after_s": None}),
        ("workload.cases.3.cancel", {"after_chunks": 3, "after_s": 1.0}),
        ("workload.cases.3.cancel.after_chunks", 256),
        ("workload.cases.0.name", "long_input"),
        ("load.think_time_s", -1),
        ("load.timeouts.total_s", 0),
        ("load.retry.count", 1),
        ("load.retry.jitter", 2),
        ("contract.deadline_s", 0),
        ("contract.degradation", "somewhat"),
        ("contract.success", "mostly"),
        ("boundary.sut", " "),
        ("boundary.included", []),
        ("prediction.coverage", 1.0),
        ("evidence.content", "digest"),
        ("evidence.scrape_interval_s", 0),
        ("evidence.stream_limit_bytes", 100),
        ("artifact.files", []),
        ("artifact.files.0.path", "../../etc/passwd"),
        ("artifact.files.0.path", "/etc/passwd"),
        ("artifact.files.0.sha256", "unknown"),
        ("artifact.files.0.bytes", 0),
        ("artifact.files.0.format", "pickle"),
        ("artifact.config.L", 0),
        ("artifact.config.h_kv", 2),
        ("artifact.source.wheel_sha256", "unknown"),
        ("artifact.source.path", "../outside"),
        ("artifact.tools.names", ["search"]),
        ("artifact.tokenizer.sha256", ""),
    ],
)
def test_each_of_these_is_refused(path: str, value: Any) -> None:
    assert findings(path, value)


def test_a_container_is_pinned_by_digest() -> None:
    document = changed(example(), "engine.environment.kind", "container")

    assert [f.field for f in check(document)] == [
        "engine.environment.image",
        "engine.environment.image_digest",
    ]
    document["engine"]["environment"] |= {"image": "team/torch", "image_digest": f"sha256:{SHA}"}
    assert check(document) == []


@pytest.mark.forbids
@pytest.mark.parametrize("image", ["team/torch:2.13", "team/torch:latest", "Team/Torch", ""])
def test_a_tag_is_no_pin_and_the_way_to_a_digest_is_named(image: str) -> None:
    document = changed(example(), "engine.environment.kind", "container")
    document["engine"]["environment"] |= {"image": image, "image_digest": f"sha256:{SHA}"}

    (finding,) = check(document)

    assert finding.field == "engine.environment.image"
    assert "docker image inspect --format '{{json .RepoDigests}}'" in finding.remedy


def test_an_image_beside_another_kind_of_environment_is_refused() -> None:
    document = changed(example(), "engine.environment.image", "team/torch")

    assert [f.field for f in check(document)] == ["engine.environment.image"]


def test_own_texts_are_sent_once_each() -> None:
    document = changed(example(), "workload.prompt_source", "text")
    document["workload"]["texts"] = ["one", "two", "two"]

    assert [f.field for f in check(document)] == ["workload.requests"]
    document["workload"]["requests"] = 2
    assert check(document) == []


def test_a_key_that_the_schema_does_not_have_is_refused_in_a_stored_spec() -> None:
    document = example()
    document["load"]["bursts"] = 3

    assert [f.field for f in check(document)] == ["load.bursts"]


@pytest.mark.forbids
@pytest.mark.req("5.05")
def test_a_stored_spec_without_h_kv_is_refused_as_not_reviewable() -> None:
    document = example()
    del document["artifact"]["config"]["h_kv"]

    found = check(document)

    assert [(f.field, f.seen) for f in found] == [("artifact.config.h_kv", "missing")]
    assert "cannot be reviewed" in found[0].remedy


@pytest.mark.forbids
@pytest.mark.req("5.18", "5.19")
@pytest.mark.parametrize("level", ["numeric", "distribution", "semantic"])
def test_a_fixed_seed_supports_no_claim_on_results(level: str) -> None:
    document = changed(example(), "artifact.reproducibility.claimed", level)
    document["artifact"]["reproducibility"]["evidence"] = "temperature 0 and seed 1"

    found = check(document)

    assert [f.field for f in found] == ["artifact.reproducibility.claimed"]
    assert "seed is no evidence" in found[0].remedy


@pytest.mark.req("5.18")
def test_a_claim_on_inputs_names_its_level_and_its_evidence() -> None:
    assert list(findings("artifact.reproducibility.evidence", " ")) == [
        "artifact.reproducibility.evidence"
    ]
    with pytest.raises(Refusal, match="input, numeric, distribution, semantic"):
        compose([STUDY, "artifact.reproducibility.claimed=perfect"])


@pytest.mark.req("2.01")
def test_a_boundary_has_its_six_fields() -> None:
    boundary = example()["boundary"]

    assert {
        "sut",
        "included",
        "external_dependencies",
        "dependency_accounting",
        "tool_assumption",
        "exclusions",
    } < set(boundary)
    for field in ("sut", "dependency_accounting", "tool_assumption"):
        assert list(findings(f"boundary.{field}", "")) == [f"boundary.{field}"]


@pytest.mark.req("3.19")
@pytest.mark.parametrize("point", ["engine", "gateway", "client"])
def test_a_boundary_says_how_replies_are_buffered_at_three_points(point: str) -> None:
    stated = example()["boundary"]["buffering"]

    assert stated[point]
    less = {k: v for k, v in stated.items() if k != point}
    for silent in (less, {**stated, point: " "}, {**stated, point: None}):
        assert list(findings("boundary.buffering", silent)) == [f"boundary.buffering.{point}"]


@pytest.mark.req("1.10", "1.11")
@pytest.mark.parametrize(
    ("path", "values"),
    [
        ("context_location", "client, server_session, kv_reuse"),
        ("structure", "single_turn, linear_session, branching, tool_use"),
    ],
)
def test_where_context_lives_and_how_a_session_is_built_are_named(path: str, values: str) -> None:
    with pytest.raises(Refusal, match=f"allowed: {values}"):
        compose([STUDY, f"workload.{path}=somewhere"])


SEGMENT = {
    "name": "gateway",
    "introduced_by": "platform team",
    "configured_by": "platform team",
    "upgraded_by": "platform team",
    "measurable_alone": True,
    "regression_owner": "release owner",
}


@pytest.mark.req("2.03")
@pytest.mark.parametrize(
    "field", ["introduced_by", "configured_by", "upgraded_by", "regression_owner"]
)
def test_a_segment_says_who_answers_for_it(field: str) -> None:
    assert list(findings("boundary.segments", [SEGMENT])) == []

    found = findings("boundary.segments", [{**SEGMENT, field: " "}])

    assert list(found) == [f"boundary.segments.0.{field}"]


@pytest.mark.req("2.03")
def test_whether_a_segment_can_be_measured_alone_cannot_be_left_out() -> None:
    partly = {k: v for k, v in SEGMENT.items() if k != "measurable_alone"}
    text = ",".join(f"{k}: {v}" for k, v in partly.items())

    with pytest.raises(Refusal, match="measurable_alone"):
        plan([compose([STUDY, f"boundary.segments=[{{{text}}}]"])])


@pytest.mark.forbids
@pytest.mark.req("2.05")
@pytest.mark.parametrize("name", ["other", "Others", "misc", "external"])
def test_an_external_dependency_is_never_a_remainder(name: str) -> None:
    row = {"name": name, "mocked": False, "fixed_delay_s": None}

    found = findings("boundary.external_dependencies", [row])

    assert list(found) == ["boundary.external_dependencies.0.name"]


@pytest.mark.parametrize(
    ("row", "field"),
    [
        ({"name": "search", "mocked": False, "fixed_delay_s": 0.1}, "0.fixed_delay_s"),
        ({"name": "search", "mocked": True, "fixed_delay_s": -1.0}, "0.fixed_delay_s"),
        ({"name": " ", "mocked": True, "fixed_delay_s": None}, "0.name"),
    ],
)
def test_a_dependency_is_declared_without_contradiction(row: dict[str, Any], field: str) -> None:
    assert list(findings("boundary.external_dependencies", [row])) == [
        f"boundary.external_dependencies.{field}"
    ]


@pytest.mark.parametrize(
    ("share", "rule", "field"),
    [
        (0.5, None, "workload.cancel"),
        (0.0, {"after_chunks": 3, "after_s": None}, "workload.cancel"),
        (1.5, {"after_chunks": 3, "after_s": None}, "workload.cancel_share"),
        (0.5, {"after_chunks": None, "after_s": -1.0}, "workload.cancel.after_s"),
        (0.5, {"after_chunks": 10**6, "after_s": None}, "workload.cancel.after_chunks"),
    ],
)
def test_a_share_of_cancels_has_its_rule(share: float, rule: Any, field: str) -> None:
    document = changed(changed(example(), "workload.cancel_share", share), "workload.cancel", rule)

    assert [f.field for f in check(document)] == [field]


@pytest.mark.forbids
def test_a_shared_engine_is_refused_since_every_run_starts_its_own() -> None:
    assert "| fresh |" in findings("engine.reuse", "shared")["engine.reuse"]
