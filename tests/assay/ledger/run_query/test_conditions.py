"""What a query keeps of real rows, on whichever database runs."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import HealthCheck, given, settings

from assay.archive.paths import Home
from assay.ledger.models import Run, ShownMeasure, Study
from assay.ledger.run_query.conditions import on_runs, on_studies
from assay.ledger.run_query.parse import parse
from tests.assay.ledger.run_query.test_parse import SAID
from tests.assay.pages.factory import Laboratory, laboratory

pytestmark = pytest.mark.django_db
NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)


@pytest.fixture
def lab(db: None, assay_home: Home) -> Laboratory:
    """Three sealed runs of one study (tags cpu and smoke, author local), six of another."""
    made = laboratory(assay_home)
    for number, run in enumerate(Run.objects.order_by("id")):
        Run.objects.filter(pk=run.pk).update(created_at=NOW - timedelta(days=number))
    return made


def runs(text: str) -> int:
    query = parse(text)
    assert query.problems == ()
    return Run.objects.filter(on_runs(query, now=NOW, me="local")).count()


def studies(text: str) -> list[str]:
    query = parse(text)
    assert query.problems == ()
    found = Study.objects.filter(on_studies(query, now=NOW, me="local"))
    return sorted(found.values_list("name", flat=True))


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("", 9),
        ("concurrency", 3),
        ("smollm2 cpu-2core", 9),
        ("-concurrency", 6),
        ("%", 0),
        ("model:smollm2", 9),
        ('model:"smollm2"', 0),
        ('model:"SmolLM2-135M-Instruct Q4_1"', 9),
        ("engine:torch,vllm", 9),
        ("-engine:vllm", 9),
        ("version:2.13", 9),
        ("device:cpu", 9),
        ("state:failed,lost", 2),
        ("state:live", 2),
        ("state:ended", 7),
        ("-state:sealed", 6),
        ("tag:smoke", 3),
        ("tag:smo", 0),
        ("author:me", 3),
        ("-author:me", 6),
        ("project:main", 9),
        ("project:other", 0),
        ('study:"smollm2_torch"', 6),
        ("study:smollm2", 9),
        # created at noon of 30 November and of each of the eight days before
        ("created:2d", 3),
        ("created:>=2026-11-29", 2),
        ("created:>2026-11-29", 1),
        ("created:2026-11-27", 1),
        ("created:2026-11-24..2026-11-26", 3),
        ("-created:2d", 6),
        ("ended:>2020-01-01", 6),
        ("-ended:>2020-01-01", 3),
    ],
)
def test_a_query_keeps_what_it_names(text: str, count: int, lab: Laboratory) -> None:
    assert runs(text) == count


@pytest.mark.parametrize(
    ("text", "count"),
    [
        # TTFT p50 of the three: 142 ms times 0.7, 0.8 and 1.0, so 99.4, 113.6 and 142 ms
        ("ttft<100ms", 1),
        ("ttft.p50<=142ms", 3),
        ("ttft.p50<142ms", 2),
        ("ttft.p50>113ms tag:smoke", 2),
        ("-ttft<100ms", 8),
        ("ttft.first_content.client.p50>0.1s", 2),
        ("ttft.server<1ms", 0),
    ],
)
def test_a_run_is_kept_by_the_number_that_it_shows(text: str, count: int, lab: Laboratory) -> None:
    assert runs(text) == count


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("", ["smollm2_concurrency", "smollm2_torch"]),
        ("concurrency", ["smollm2_concurrency"]),
        ("state:failed", ["smollm2_torch"]),
        # one and the same run would have to be both
        ("state:failed ttft<1s", []),
        ("state:sealed ttft<100ms", ["smollm2_concurrency"]),
        # no run of it may be
        ("-state:failed", ["smollm2_concurrency"]),
        ("tag:cpu -state:failed", ["smollm2_concurrency"]),
        ("tag:cpu state:failed", []),
        ("author:me", ["smollm2_concurrency"]),
        ("model:q4_1", ["smollm2_concurrency", "smollm2_torch"]),
    ],
)
def test_a_study_is_kept_by_what_is_said_of_it_and_of_one_of_its_runs(
    text: str, names: list[str], lab: Laboratory
) -> None:
    assert studies(text) == names


def test_ids_and_digests_find_their_run(lab: Laboratory) -> None:
    for text in (str(lab.run.pk), str(lab.run.pk).replace("-", ""), lab.bundle.digest[:10]):
        kept = Run.objects.filter(on_runs(parse(text), now=NOW, me=""))
        assert [run.pk for run in kept] == [lab.run.pk]


def test_a_tag_with_quotes_and_letters_of_any_script_is_found_whole(lab: Laboratory) -> None:
    Study.objects.filter(pk=lab.study.pk).update(tags=["夜间", "a b"])

    assert runs("tag:夜间") == 3
    assert runs('tag:"a b"') == 3
    assert runs("tag:夜") == 0


def test_without_a_shown_number_a_run_passes_no_comparison(lab: Laboratory) -> None:
    ShownMeasure.objects.all().delete()

    assert runs("ttft<1000s") == 0
    assert runs("-ttft<1000s") == 9


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(SAID)
def test_whatever_was_read_can_be_asked_of_the_database(lab: Laboratory, text: str) -> None:
    query = parse(text)

    assert 0 <= Run.objects.filter(on_runs(query, now=NOW, me="x")).count() <= 9
    assert 0 <= Study.objects.filter(on_studies(query, now=NOW, me="x")).count() <= 2
