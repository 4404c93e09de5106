"""Evidence as lines and rows, downloads, and what is never given out."""

import gzip
import json
from pathlib import Path

import pytest
from django.test import Client
from django.urls import reverse

from assay.pages.contexts.quote import parse_query, quote_lines, quote_rows
from assay.pages.contexts.trace_quote import quote_trace
from runners.protocol import layout
from tests.assay.pages.conftest import page
from tests.assay.pages.factory import Laboratory


def quoted(lab: Laboratory, somebody: Client, query: str) -> str:
    return page(somebody, reverse("run-quote", args=[lab.run.pk]) + "?" + query)


def test_a_log_chip_shows_the_very_line(lab: Laboratory, somebody: Client) -> None:
    text = quoted(lab, somebody, "file=engine.log&line=9")

    this = text[text.index('class="this"') :]
    assert "config max_batch=8" in this[: this.index("</li>")]


def test_a_trace_chip_shows_the_rows_that_answer(lab: Laboratory, somebody: Client) -> None:
    text = quoted(lab, somebody, "file=trace/operators.parquet&query=name%3Daten::mm")

    assert text.count("aten::mm</td>") == 2
    assert "scaled_dot_product" not in text


def test_htmx_gets_the_lines_without_the_page(lab: Laboratory, somebody: Client) -> None:
    url = reverse("run-quote", args=[lab.run.pk]) + "?file=engine.log&line=9"

    text = somebody.get(url, headers={"HX-Request": "true"}).content.decode()

    assert text.lstrip().startswith('<div class="quote">')


@pytest.mark.parametrize(
    ("query", "says"),
    [
        ("file=engine.log&line=999", "the file has no line of that number"),
        ("file=nothing.log&line=1", "the file is not in this copy of the bundle"),
        ("file=../../../secret_key&line=1", "the file is not in this copy of the bundle"),
        ("file=trace/operators.parquet&query=nothing%3D1", "no row of the file answers"),
        ("file=engine.log&query=x%3D1", "this kind of file takes no query"),
        ("", "the file is not in this copy of the bundle"),
    ],
)
def test_evidence_that_leads_nowhere_says_so(
    query: str, says: str, lab: Laboratory, somebody: Client
) -> None:
    assert says in quoted(lab, somebody, query)


def test_a_file_is_given_out_byte_for_byte(lab: Laboratory, somebody: Client) -> None:
    response = somebody.get(reverse("run-file", args=[lab.run.pk, layout.ENGINE_LOG]))

    body = b"".join(response.streaming_content)  # type: ignore[attr-defined]
    stored = lab.home.bundle(lab.bundle.digest) / layout.ENGINE_LOG
    assert body == stored.read_bytes()
    assert response["Content-Type"] == "application/octet-stream"
    assert response["Content-Disposition"].startswith("attachment")
    assert response["X-Content-Type-Options"] == "nosniff"


@pytest.mark.parametrize("path", ["../manifest.json", "nope", "%2e%2e/%2e%2e/db.sqlite3", "wire"])
def test_only_files_of_the_manifest_are_given_out(
    path: str, lab: Laboratory, somebody: Client
) -> None:
    assert somebody.get(f"/runs/{lab.run.pk}/files/{path}").status_code == 404


def test_a_file_that_was_slipped_in_is_not_given_out(lab: Laboratory, somebody: Client) -> None:
    (lab.home.bundle(lab.bundle.digest) / "extra.txt").write_text("x", encoding="ascii")

    assert somebody.get(reverse("run-file", args=[lab.run.pk, "extra.txt"])).status_code == 404


def test_a_link_out_of_the_bundle_is_not_followed(lab: Laboratory, somebody: Client) -> None:
    log = lab.home.bundle(lab.bundle.digest) / layout.ENGINE_LOG
    log.unlink()
    log.symlink_to("/etc/hostname")

    assert (
        somebody.get(reverse("run-file", args=[lab.run.pk, layout.ENGINE_LOG])).status_code == 404
    )


def test_a_withheld_blob_and_a_missing_one_look_different(
    lab: Laboratory, somebody: Client
) -> None:
    folder = lab.home.bundle(lab.bundle.digest)
    (folder / "wire" / "0-0.parquet").unlink()
    (folder / layout.ENGINE_LOG).unlink()
    listed = {"withheld": [{"path": "wire/0-0.parquet", "reason": "exported without content"}]}
    (folder / layout.WITHHELD).write_text(json.dumps(listed), encoding="utf-8")

    text = page(somebody, reverse("run-files", args=[lab.run.pk]))

    assert "withheld: exported without content" in text
    assert text.count(">missing<") == 1


def test_lines_around_the_first_line_are_numbered_from_one(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_bytes(b"one\ntwo\n\xff\xfe\n" + b"x" * 5000 + b"\n")

    found = quote_lines(path, "a.log", 1)

    assert [line.number for line in found.lines] == [1, 2, 3, 4]
    assert found.lines[2].text == "\ufffd\ufffd"
    assert found.lines[3].text.endswith("(3000 more characters)")


def test_a_query_is_pairs_of_key_and_value() -> None:
    assert parse_query("name=aten::mm, calls = 12 and x='a b'") == {
        "name": "aten::mm",
        "calls": "12",
        "x": "a b",
    }


def test_rows_of_a_json_list_are_found(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text(json.dumps({"operators": [{"name": "a"}, {"name": "b", "n": 2}]}))

    assert quote_rows(path, "a.json", "name=b").rows == (("b", 2),)


def trace(tmp_path: Path) -> Path:
    events = [
        {"ph": "X", "name": "step[decode=1 prefill=0 tokens=1 out=1]", "dur": 900.0, "args": {}},
        *(
            {
                "ph": "X",
                "name": "aten::mm",
                "dur": 3.0,
                "args": {"Input Dims": [[1, 576], [576, 9]]},
            }
            for _ in range(3)
        ),
        {"ph": "i", "name": "Record"},
    ]
    path = tmp_path / "torch-01.trace.json.gz"
    path.write_bytes(gzip.compress(json.dumps({"traceEvents": events}).encode()))
    return path


def test_events_of_a_trace_are_counted_by_name(tmp_path: Path) -> None:
    found = quote_trace(trace(tmp_path), "t", 'events named "assay::attention", aten::mm')

    assert found.rows == (("aten::mm", 3, 9.0, "[[1, 576], [576, 9]]", ""),)


def test_a_pattern_of_steps_finds_every_step(tmp_path: Path) -> None:
    [row] = quote_trace(trace(tmp_path), "t", 'events named "step[...]"').rows

    assert row[:2] == ("step[decode=1 prefill=0 tokens=1 out=1]", 1)


def test_a_query_that_names_no_event_says_so_and_shows_what_there_is(tmp_path: Path) -> None:
    found = quote_trace(trace(tmp_path), "t", "events inside steps of c10d, gloo, nccl or mpi")

    assert "No event of this trace" in found.remark
    assert found.rows[0][0] == "aten::mm"


def test_a_damaged_trace_is_a_problem_and_no_crash(tmp_path: Path) -> None:
    path = tmp_path / "a.trace.json.gz"
    path.write_bytes(b"\x1f\x8bnot a gzip")

    assert quote_trace(path, "a", "aten::mm").problem.startswith("unreadable")
