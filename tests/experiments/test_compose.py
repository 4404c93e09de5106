"""A declaration is composed from group files and plain overrides, and from nothing else."""

import threading
from pathlib import Path

import pytest
from hydra.core.global_hydra import GlobalHydra

from experiments.compose import CONF, GROUPS, choices, compose, compose_sweep
from experiments.errors import Refusal
from experiments.plan import plan
from tests.experiments.declarations import STUDY, example


def refused(*overrides: str) -> str:
    with pytest.raises(Refusal) as caught:
        compose([STUDY, *overrides])
    return str(caught.value)


def test_the_example_study_composes_with_every_group_chosen() -> None:
    composed = compose([STUDY])

    assert set(composed.choices) == set(GROUPS)
    assert composed.choices["load"] == "smollm2_small"
    assert composed.document["artifact"]["config"]["h_kv"] == 3
    assert composed.document["workload"]["output_tokens"] == 24


def test_a_group_and_its_fields_can_be_swapped_on_the_command_line() -> None:
    document = example("workload.output_tokens=64", "load=closed", "load.concurrency=4")

    assert document["workload"]["output_tokens"] == 64
    assert document["load"]["kind"] == "closed"
    assert document["load"]["concurrency"] == 4


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("artifact.revision", "0" * 40),
        ("artifact.config.h_kv", "9"),
        ("load.concurrency", "3"),
        ("workload.output_tokens", "12"),
    ],
)
def test_override_paths_stay_stable(path: str, value: str) -> None:
    node: object = example(f"{path}={value}")

    for part in path.split("."):
        assert isinstance(node, dict)
        node = node[part]
    assert str(node) == value


@pytest.mark.parametrize("study", choices()["study"])
def test_every_shipped_study_can_be_planned(study: str) -> None:
    specs = plan([compose([f"study={study}"])])

    assert len(specs) == 1
    assert specs[0].document["study"]["name"] == study


@pytest.mark.parametrize(
    ("group", "choice"), [(g, c) for g, names in choices().items() for c in names]
)
def test_every_shipped_group_file_fits_its_schema(group: str, choice: str) -> None:
    chosen = [f"{group}={choice}"] if group == "study" else [STUDY, f"{group}={choice}"]

    assert compose(chosen).choices[group] == choice


def test_no_shipped_file_references_or_instantiates_anything() -> None:
    for path in CONF.rglob("*.yaml"):
        text = path.read_text(encoding="utf-8")
        assert "${" not in text, path
        assert "_target_" not in text, path


@pytest.mark.forbids
@pytest.mark.parametrize(
    "written",
    [
        "load.concurency=3",
        "+load.concurency=3",
        "++load.concurency=3",
        "~load.concurency",
    ],
)
def test_an_unknown_key_is_refused_and_the_nearest_is_named(written: str) -> None:
    message = refused(written)

    assert "load.concurency" in message
    assert "unknown key" in message
    assert "Did you mean load.concurrency?" in message


@pytest.mark.forbids
@pytest.mark.parametrize("written", ["+load.concurrency=3", "++load.concurrency=3", "~load"])
def test_plus_and_tilde_are_refused_for_known_keys_too(written: str) -> None:
    assert f"{written} (allowed: load" in refused(written)


@pytest.mark.forbids
@pytest.mark.parametrize(
    "written",
    [
        "hydra.run.dir=/tmp/x",
        "hydra/launcher=basic",
        "hydra=foo",
        "+hydra.searchpath=[file:///tmp]",
        "++hydra.verbose=true",
    ],
)
def test_hydra_settings_cannot_be_touched(written: str) -> None:
    assert "Hydra's own settings" in refused(written)


@pytest.mark.forbids
@pytest.mark.parametrize(
    "written",
    [
        "load.concurrency=${oc.env:HOME}",
        "load=${oc.env:LOAD}",
        "study.title=x${study.name}",
        "workload.texts=[a,'${oc.env:HOME}']",
    ],
)
def test_interpolations_are_refused_unresolved(
    written: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOAD", "closed")

    message = refused(written)

    assert "${" in message
    assert str(Path.home()) not in message


@pytest.mark.forbids
@pytest.mark.parametrize(
    "written",
    [
        "engine={_target_: os.system}",
        "engine.settings={_target_: os.system}",
        "artifact.tokenizer.special_tokens={_target_: os.system}",
        "boundary.buffering={a: {_partial_: true}}",
    ],
)
def test_nothing_is_instantiated(written: str) -> None:
    assert "instantiated" in refused(written)


def test_a_missing_h_kv_is_refused_as_not_reviewable() -> None:
    for written in ("artifact.config.h_kv=null", "artifact.config.h_kv=???"):
        message = refused(written)

        assert message.startswith("artifact.config.h_kv: missing (allowed: a whole number)")
        assert "cannot be reviewed" in message


@pytest.mark.forbids
@pytest.mark.req("5.08")
@pytest.mark.parametrize("word", ["4bit", "FP8", "int4"])
def test_one_word_is_refused_as_a_precision(word: str) -> None:
    message = refused(f"artifact.precision.weights={word}")

    assert f"artifact.precision.weights: {word}" in message
    assert "dtype, bits, granularity, scale, excluded_layers" in message


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("load.concurrency=abc", "load.concurrency: load.concurrency=abc (allowed: a whole number"),
        ("load.concurrency=1.5", "allowed: a whole number"),
        ("load.kind=bursty", "allowed: closed, constant, poisson"),
        ("load=closd", "Did you mean load=closed?"),
        ("load=null", "load: None (allowed: at_once, closed"),
        (
            "load=[closed,poisson]",
            "allowed: at_once, closed, constant, gamma, one_at_a_time, poisson",
        ),
        ("study=nothing", "study: given 2 times"),
        ("load@other=closed", "Leave out the @package part"),
        ("load.concurrency", "allowed: key=value"),
        ("load.concurrency=1,2", "Add -m"),
        ("engine.settings.port=80", "engine.settings.max_request_s"),
        ("engine.settings.max_batsh=4", "Did you mean engine.settings.max_batch?"),
        ("study.notes=a=b", "study.notes: study.notes=a=b (allowed: key=value). Quote a value"),
        ("study.notes=ü", "Quote a value with signs of its own"),
        ("artifact.config.h_kv=~", "artifact.config.h_kv: artifact.config.h_kv=~ (allowed: key=v"),
        ("", "override: an empty word (allowed: key=value)"),
        (" ", "override: an empty word"),
        ("workload.cases.9.output_tokens=3", "workload.cases.9"),
        ("artifact.parent.digest=x", "artifact.parent: artifact.parent.digest=x"),
        ("artifact.parent={digest: x}", "write it whole in a group file"),
        ("workload.cases.0.cancel.after_chunks=3", "workload.cases.0.cancel"),
        ("boundary.buffering.client=x", "boundary.buffering as a whole"),
        ("artifact.files=[{path: x}]", "artifact.files.0.sha256: missing"),
    ],
)
def test_a_bad_override_is_refused_with_field_seen_and_allowed(written: str, expected: str) -> None:
    assert expected in refused(written)


@pytest.mark.parametrize(
    ("override", "own", "strange"),
    [
        (
            "engine.settings.colour=1",
            "engine.settings.token_budget",
            "engine.settings.max_num_seqs",
        ),
        # a setting of another engine is none of this one
        (
            "engine.settings.max_num_seqs=4",
            "engine.settings.kv_blocks",
            "engine.settings.page_size",
        ),
    ],
)
def test_an_unknown_setting_names_the_settings_of_the_chosen_engine_alone(
    override: str, own: str, strange: str
) -> None:
    message = refused(override)

    key = override.partition("=")[0]
    assert message.startswith(f"{key}: {override} (unknown key)")
    allowed = message.partition("(allowed: ")[2]
    assert own in allowed
    assert strange not in allowed


def test_an_unknown_setting_of_another_chosen_engine_names_that_ones() -> None:
    with pytest.raises(Refusal) as caught:
        compose(["study=smollm2_vllm", "engine.settings.colour=1"])

    assert "engine.settings.max_num_seqs" in str(caught.value)
    assert "engine.settings.kv_blocks" not in str(caught.value)


def test_an_unknown_study_names_those_that_exist() -> None:
    with pytest.raises(Refusal, match="smollm2_torch"):
        compose(["study=smollm_torch"])


def test_no_study_at_all_is_refused() -> None:
    with pytest.raises(Refusal, match="nothing chosen"):
        compose([])


def test_list_entries_can_be_set_by_index() -> None:
    assert example("workload.cases.2.output_tokens=8")["workload"]["cases"][2]["output_tokens"] == 8


def test_every_finding_is_reported_at_once() -> None:
    with pytest.raises(Refusal) as caught:
        compose([STUDY, "load.foo=1", "~load", "workload.output_tokns=2"])

    assert len(caught.value.findings) == 3


def test_a_sweep_gives_one_declaration_for_each_cell() -> None:
    swept = compose_sweep([STUDY, "load.concurrency=1,2,4"])

    assert [c.document["load"]["concurrency"] for c in swept] == [1, 2, 4]
    assert [c.moved for c in swept] == [(f"load.concurrency={n}",) for n in (1, 2, 4)]


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("load.concurrency=range(1,4)", [1, 2, 3]),
        ("load.concurrency=choice(5,7)", [5, 7]),
        ("load.concurrency=range(2,9,3)", [2, 5, 8]),
    ],
)
def test_ranges_and_choices_are_swept(written: str, expected: list[int]) -> None:
    swept = compose_sweep([STUDY, written])

    assert [c.document["load"]["concurrency"] for c in swept] == expected


def test_a_pattern_sweeps_the_choices_of_a_group() -> None:
    swept = compose_sweep([STUDY, "load=glob(c*)"])

    assert [c.choices["load"] for c in swept] == ["closed", "constant"]


@pytest.mark.parametrize(
    "written", ["load.concurrency=interval(1,4)", "load.concurrency=shuffle(1,2)"]
)
def test_sweeps_without_cells_or_with_a_hidden_order_are_refused(written: str) -> None:
    with pytest.raises(Refusal):
        compose_sweep([STUDY, written])


def test_a_sweep_beyond_reason_is_refused() -> None:
    with pytest.raises(Refusal, match="at most 1000"):
        compose_sweep([STUDY, "load.concurrency=range(1,2000)"])


def test_composing_leaves_no_trace_in_hydras_process_wide_state() -> None:
    before = GlobalHydra.instance().hydra

    compose([STUDY])
    with pytest.raises(Refusal):
        compose([STUDY, "load.kind=bursty"])

    assert GlobalHydra.instance().hydra is before


def test_threads_may_compose_at_the_same_time() -> None:
    seen: list[int] = []

    def work(concurrency: int) -> None:
        seen.append(example(f"load.concurrency={concurrency}")["load"]["concurrency"])

    threads = [threading.Thread(target=work, args=(n,)) for n in range(1, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(seen) == [1, 2, 3, 4]
