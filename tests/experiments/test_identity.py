"""The same declaration has the same digest anywhere; what does not identify it does not enter."""

import hashlib
import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from experiments.compose import compose
from experiments.errors import Refusal
from experiments.identity import artifact_digest, canonical, key_document, spec_digest
from experiments.plan import plan
from experiments.schema.fields import leaves
from experiments.schema.roles import Role
from tests.experiments.declarations import STUDY, changed, example

ROOT = Path(__file__).resolve().parents[2]


def test_canonical_json_is_rfc_8785() -> None:
    # keys sorted by UTF-16 code units, numbers in shortest ECMAScript form, no spaces
    assert canonical({"b": 1.0, "a": [1e-7, 0.1, True, None, "é"]}) == (
        '{"a":[1e-7,0.1,true,null,"é"],"b":1}'.encode()
    )


def test_integers_beyond_53_bits_are_strings() -> None:
    # 2**53 - 1 is the largest integer that a double keeps apart from its neighbours
    assert canonical([2**53 - 1, 2**53, -(2**53), 2.0**53]) == (
        b'[9007199254740991,"9007199254740992","-9007199254740992","9007199254740992"]'
    )


@pytest.mark.forbids
@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_numbers_that_are_not_finite_are_refused(value: float) -> None:
    with pytest.raises(Refusal):
        canonical({"x": value})


def reordered(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {k: reordered(value[k]) for k in reversed(list(value))}
    if isinstance(value, list):
        return [reordered(v) for v in value]
    return value


def test_key_order_does_not_matter() -> None:
    document = example()

    assert spec_digest(reordered(document)) == spec_digest(document)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("study.name", "other"),
        ("study.title", "other"),
        ("study.notes", "a note"),
        ("study.tags", ["x"]),
        ("study.seed", 99),
        ("study.repetitions", 7),
        ("artifact.name", "another name"),
        ("workload.name", "another name"),
        ("engine.port", 8123),
        ("engine.ready_timeout_s", 1.0),
        ("engine.environment.url", "http://127.0.0.1:1/"),
        ("artifact.source.path", "elsewhere"),
        ("prediction.coverage", 0.5),
    ],
)
def test_context_does_not_enter_the_digest(path: str, value: Any) -> None:
    document = example()

    assert spec_digest(changed(document, path, value)) == spec_digest(document)


@pytest.mark.req("1.10", "2.13", "2.16")
@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("artifact.revision", "0" * 40),
        ("artifact.files.0.sha256", "0" * 64),
        ("artifact.config.h_kv", 9),
        ("artifact.tokenizer.sha256", "0" * 64),
        ("artifact.chat_template.sha256", "0" * 64),
        ("artifact.tools.names", ["search"]),
        ("engine.version", "2.13.1"),
        ("engine.settings.max_batch", 4),
        ("device.kind", "cuda"),
        ("workload.output_tokens", 25),
        ("workload.seed", 1),
        ("load.concurrency", 5),
        ("load.seed", 2),
        ("contract.deadline_s", 1.0),
        ("evidence.scrape_interval_s", 1.0),
        ("boundary.sut", "something else"),
        ("boundary.buffering", {"gateway": "nginx, buffered"}),
        ("load.connection_reuse", False),
        ("workload.context_location", "kv_reuse"),
        ("schema_version", 3),
    ],
)
def test_what_identifies_a_run_enters_the_digest(path: str, value: Any) -> None:
    document = example()

    assert spec_digest(changed(document, path, value)) != spec_digest(document)


def test_every_identifying_field_of_the_example_enters_the_digest() -> None:
    document = example()
    base = spec_digest(document)

    for leaf in leaves(document):
        other = spec_digest(changed(document, leaf.path, "changed by the test"))
        if leaf.path in ("engine.key",):
            continue  # another engine has another schema
        assert (other != base) is (leaf.role is not Role.context), leaf.path


def test_a_digest_is_the_same_in_another_process_and_folder(tmp_path: Path) -> None:
    program = (
        "from experiments.compose import compose; from experiments.plan import plan;"
        f"print(plan([compose(['{STUDY}'])])[0].digest)"
    )

    other = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT), "PYTHONHASHSEED": "7", "TZ": "Asia/Tokyo", "LC_ALL": "C"},
        capture_output=True,
        text=True,
        check=True,
    )

    assert other.stdout.strip() == plan([compose([STUDY])])[0].digest


def test_a_digest_survives_the_way_through_json() -> None:
    document = example("workload.seed=99999999999999999999")  # beyond 53 bits

    again = json.loads(canonical(document))

    assert spec_digest(again) == spec_digest(document)


def test_the_artifact_digest_is_over_its_identifying_fields() -> None:
    artifact = example()["artifact"]

    expected = hashlib.sha256(canonical(key_document({"artifact": artifact})["artifact"]))
    assert artifact_digest(artifact) == expected.hexdigest()
    assert artifact_digest({**artifact, "name": "x", "license": "y"}) == artifact_digest(artifact)
    assert artifact_digest({**artifact, "revision": "y"}) != artifact_digest(artifact)


@settings(max_examples=50, deadline=None)
@given(
    st.recursive(
        st.none()
        | st.booleans()
        | st.integers()
        | st.text()
        | st.floats(allow_nan=False, allow_infinity=False),
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
        max_leaves=12,
    )
)
def test_canonical_text_is_a_fixed_point(value: Any) -> None:
    text = canonical(value)

    assert canonical(json.loads(text)) == text
