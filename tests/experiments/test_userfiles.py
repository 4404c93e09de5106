"""A user's own study files are data: they may choose and set, and nothing else."""

from pathlib import Path

import pytest

from experiments.compose import choices, compose
from experiments.errors import Refusal

MINE = """# @package _global_
defaults:
  - override /artifact: smollm2_135m_q4_1
  - override /engine: torch
  - override /workload: smollm2_smoke
  - override /load: burst
  - _self_

study:
  name: mine
  tags: [own]
"""
BURST = "kind: constant\nrate_per_s: 7.5\nconcurrency: null\n"


def folder(tmp_path: Path, **files: str) -> Path:
    for name, text in files.items():
        path = tmp_path / "studies" / (name.replace("__", "/") + ".yaml")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return tmp_path / "studies"


def refused(studies: Path) -> str:
    with pytest.raises(Refusal) as caught:
        compose(["study=mine"], studies=studies)
    return str(caught.value)


def test_a_study_and_a_load_of_ones_own_can_be_chosen(tmp_path: Path) -> None:
    studies = folder(tmp_path, study__mine=MINE, load__burst=BURST)

    composed = compose(["study=mine"], studies=studies)

    assert composed.choices["load"] == "burst"
    assert composed.document["load"]["rate_per_s"] == 7.5
    assert composed.document["study"]["tags"] == ["own"]
    assert "burst" in choices(studies=studies)["load"]


def test_a_folder_with_a_quote_in_its_name_is_read(tmp_path: Path) -> None:
    studies = folder(tmp_path / "it's mine, really", study__mine=MINE, load__burst=BURST)

    assert compose(["study=mine"], studies=studies).choices["study"] == "mine"


def test_ones_own_group_can_still_be_swapped_on_the_command_line(tmp_path: Path) -> None:
    studies = folder(tmp_path, study__mine=MINE, load__burst=BURST)

    composed = compose(["study=mine", "load=closed", "load.concurrency=3"], studies=studies)

    assert composed.document["load"]["concurrency"] == 3


@pytest.mark.forbids
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("kind: constant\nrate_per_s: ${oc.env:HOME}\n", "${oc.env:HOME}"),
        ("kind: constant\n_target_: os.system\n", "_target_"),
        ("# @package hydra\nkind: constant\n", "@package"),
        ("# @package _global_\nkind: constant\n", "@package"),
        ("defaults: [/hydra/launcher: basic]\nkind: constant\n", "defaults"),
        ("kind: [constant\n", "readable YAML"),
        ("- constant\n", "a mapping"),
        ("!!python/object/apply:os.system [ls]\n", "readable YAML"),
    ],
)
def test_a_group_file_that_is_more_than_data_is_refused(
    tmp_path: Path, text: str, expected: str
) -> None:
    studies = folder(tmp_path, study__mine=MINE, load__burst=text)

    message = refused(studies)

    assert "load/burst.yaml" in message
    assert expected in message


def test_an_unknown_key_in_a_file_is_refused_and_the_nearest_is_named(tmp_path: Path) -> None:
    studies = folder(tmp_path, study__mine=MINE, load__burst=BURST + "concurency: 3\n")

    assert "Did you mean load.concurrency?" in refused(studies)


def test_an_artifact_without_h_kv_is_refused(tmp_path: Path) -> None:
    shipped = Path("experiments/conf/artifact/smollm2_135m_q4_1.yaml").read_text(encoding="utf-8")
    studies = folder(
        tmp_path,
        study__mine=MINE.replace("smollm2_135m_q4_1", "own").replace("burst", "closed"),
        artifact__own=shipped.replace("  h_kv: 3\n", ""),
    )

    assert refused(studies).startswith("artifact.config.h_kv: missing")


def test_a_study_file_holds_choices_only(tmp_path: Path) -> None:
    studies = folder(tmp_path, study__mine=MINE + "load:\n  seed: 3\n", load__burst=BURST)

    assert "defaults and study alone" in refused(studies)


def test_a_file_cannot_take_the_name_of_a_shipped_one(tmp_path: Path) -> None:
    studies = folder(tmp_path, study__mine=MINE, load__burst=BURST, load__closed=BURST)

    assert "closed is a shipped file of group load" in refused(studies)


def test_links_are_not_followed(tmp_path: Path) -> None:
    studies = folder(tmp_path, study__mine=MINE, load__burst=BURST)
    (studies / "load" / "other.yaml").symlink_to("/etc/passwd")

    assert "a link or special file" in refused(studies)


@pytest.mark.parametrize("place", ["elsewhere__x", "load__deep__x", "root"])
def test_files_outside_the_groups_are_refused(tmp_path: Path, place: str) -> None:
    studies = folder(tmp_path, study__mine=MINE, load__burst=BURST, **{place: BURST})

    assert "a place outside the groups" in refused(studies)


def test_a_folder_that_is_not_there_is_refused(tmp_path: Path) -> None:
    assert "allowed: a folder" in refused(tmp_path / "nowhere")


def test_a_group_file_that_a_study_chooses_and_that_is_not_there_is_named(tmp_path: Path) -> None:
    studies = folder(tmp_path, study__mine=MINE.replace("burst", "brst"), load__burst=BURST)

    assert "load: brst (allowed: at_once, burst, closed" in refused(studies)
    assert "Did you mean burst?" in refused(studies)
