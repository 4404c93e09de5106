"""Retention: what a policy names goes, what anybody cites never does, and each removal stays on record."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
from django.db import DatabaseError, connection, transaction

from assay.accounts.services import local_user
from assay.archive.paths import Home
from assay.archive.remote.location import remote_at
from assay.archive.remote.sending import holds, send
from assay.cli.main import main
from assay.ledger.ids import uuid7
from assay.ledger.models import Bundle, Interpretation, Run, Study
from assay.operations import retention
from assay.operations.fsck import fsck
from assay.operations.models import Removal
from assay.operations.retention import Policy, RefusedPolicy, carry_out, plan
from assay.regressions.models import BaselineRecord, FreshStart
from assay.review.models import Review, Subject, Tag, Thread
from assay.versions.models import Confirmation
from tests.assay.operations.conftest import TakeIn
from tests.assay.pages.factory import finding_of

OLD, NEW = "2026-01-01T00:00:00Z", "2026-11-29T00:00:00Z"
NOW = datetime(2026, 11, 30, tzinfo=UTC)
AFTER_90_DAYS = Policy(older_than_s=90 * 86_400)


def going(policy: Policy) -> list[str]:
    return [c.digest for c in plan(policy, now=NOW).going]


def by_review(bundle: Bundle) -> None:
    assert bundle.run is not None
    review = Review.objects.create(
        id=uuid7(), project=bundle.run.study.project, title="t", statement="s", author=local_user()
    )
    reading = Interpretation.objects.get(bundle=bundle)
    Subject.objects.create(
        review=review,
        run=bundle.run,
        bundle=bundle,
        definition_version=reading.definition_version,
        interpretation_digest=reading.digest,
    )


def by_discussion(bundle: Bundle) -> None:
    Thread.objects.create(id=uuid7(), run=bundle.run, kind="run", by=local_user())


def by_finding(bundle: Bundle) -> None:
    assert bundle.run is not None
    finding_of(bundle.run)


def baseline_of(bundle: Bundle, *, only_listed: bool) -> None:
    """The baseline's last run is another one where the bundle's is only in its list."""
    assert bundle.run is not None
    other = Bundle.objects.exclude(digest=bundle.digest).get().run
    assert other is not None
    watch = finding_of(other).schedule.watches.get()
    BaselineRecord.objects.create(
        watch=watch, segment="s", kind="first", level=1.0, scale=0.1, starts=12,
        runs=[str(bundle.run_id)], last_run=other if only_listed else bundle.run,
    )  # fmt: skip


def by_fresh_start(bundle: Bundle) -> None:
    assert bundle.run is not None
    other = Bundle.objects.exclude(digest=bundle.digest).get().run
    assert other is not None
    finding_of(other)
    FreshStart.objects.create(suspect=other, study=bundle.run.study, side="B", number=0)


def by_version_record(bundle: Bundle) -> None:
    assert bundle.run is not None
    Confirmation.objects.create(
        record="vllm 0.32.0", run=bundle.run, bundle=bundle, strength="log", evidence=[]
    )


CITED = {
    "review": by_review,
    "discussion": by_discussion,
    "finding": by_finding,
    "baseline": lambda b: baseline_of(b, only_listed=False),
    "starts of a baseline": lambda b: baseline_of(b, only_listed=True),
    "fresh start of a finding": by_fresh_start,
    "version record": by_version_record,
}


@pytest.mark.forbids
@pytest.mark.parametrize("way", CITED)
def test_what_is_cited_never_goes(home: Home, take_in: TakeIn, way: str) -> None:
    bundle, _recent = take_in(sealed_at=OLD), take_in(sealed_at=NEW)
    CITED[way](bundle)
    found = plan(AFTER_90_DAYS, now=NOW)

    carry_out(found.digest, AFTER_90_DAYS, home, None, by="ada")

    assert found.going == ()
    assert list(found.protected) == [bundle.digest]
    assert home.bundle(bundle.digest).is_dir()
    assert not Removal.objects.exists()


@pytest.mark.forbids
def test_what_is_cited_after_the_plan_was_shown_stays(
    home: Home, take_in: TakeIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    bundle = take_in(sealed_at=OLD)
    shown, as_planned = plan(AFTER_90_DAYS).digest, retention.plan

    def plan_then_review(policy: Policy) -> retention.Plan:
        found = as_planned(policy)
        by_review(bundle)
        return found

    monkeypatch.setattr(retention, "plan", plan_then_review)

    carry_out(shown, AFTER_90_DAYS, home, None, by="ada")

    assert home.bundle(bundle.digest).is_dir()


def test_the_old_go_and_everything_said_of_them_stays(
    home: Home, take_in: TakeIn, tmp_path: Path
) -> None:
    old, new = take_in(sealed_at=OLD), take_in(sealed_at=NEW)
    remote = remote_at(str(tmp_path / "archive"))
    for one in (old, new):
        send(remote, home.bundle(one.digest))

    carry_out(plan(AFTER_90_DAYS).digest, AFTER_90_DAYS, home, remote, by="ada")

    assert not home.bundle(old.digest).exists()
    assert not holds(remote, old.digest)
    assert home.bundle(new.digest).is_dir()
    assert holds(remote, new.digest)
    removal = Removal.objects.get()
    assert (removal.bundle_id, removal.by, removal.bytes) == (old.digest, "ada", old.bytes)
    assert removal.policy["older_than_s"] == 90 * 86_400
    assert Interpretation.objects.filter(bundle=old).exists()
    assert list(fsck(home, remote)) == []


def test_a_policy_names_by_state_size_and_tag(home: Home, take_in: TakeIn) -> None:
    failed, good, tagged = (take_in(sealed_at=OLD, state=s) for s in ("failed", "sealed", "sealed"))
    assert tagged.run is not None
    Tag.objects.create(run=tagged.run, name="golden", by=local_user())
    Study.objects.filter(runs__bundles=failed).update(tags=["scratch"])

    assert going(Policy(states=("failed",))) == [failed.digest]
    assert set(going(Policy(older_than_s=1, keep_tags=("golden",)))) == {failed.digest, good.digest}
    assert going(Policy(tags=("scratch",))) == [failed.digest]
    assert going(Policy(larger_than_bytes=good.bytes)) == []
    assert len(going(Policy(larger_than_bytes=good.bytes - 1))) == 3


def test_the_oldest_go_until_the_total_fits(home: Home, take_in: TakeIn) -> None:
    bundles = [take_in(sealed_at=f"2026-0{month}-01T00:00:00Z") for month in (3, 1, 2)]
    size = bundles[0].bytes

    # Three of the same size; room for two and a half: only January's goes.
    assert going(Policy(keep_total_bytes=size * 5 // 2)) == [bundles[1].digest]


@pytest.mark.forbids
def test_a_policy_that_says_nothing_is_refused(take_in: TakeIn) -> None:
    take_in(sealed_at=OLD)

    with pytest.raises(RefusedPolicy, match="everything"):
        plan(Policy(keep_tags=("golden",)))


@pytest.mark.forbids
def test_a_plan_that_was_not_shown_is_not_carried_out(home: Home, take_in: TakeIn) -> None:
    bundle = take_in(sealed_at=OLD)
    shown = plan(AFTER_90_DAYS).digest
    take_in(sealed_at="2026-01-02T00:00:00Z")

    with pytest.raises(RefusedPolicy, match="Look at the plan again"):
        carry_out(shown, AFTER_90_DAYS, home, None, by="ada")

    assert home.bundle(bundle.digest).is_dir()


def test_a_removal_that_was_cut_is_finished_by_the_next(home: Home, take_in: TakeIn) -> None:
    bundle = take_in(sealed_at=OLD)
    Removal.objects.create(bundle=bundle, bytes=1, policy={}, plan="p" * 64, by="ada")

    carry_out(plan(AFTER_90_DAYS).digest, AFTER_90_DAYS, home, None, by="ada")

    assert not home.bundle(bundle.digest).exists()
    assert Removal.objects.count() == 1


def test_the_verb_shows_the_plan_first_and_carries_it_out_by_its_digest(
    home: Home, take_in: TakeIn, capsys: pytest.CaptureFixture[str]
) -> None:
    bundle = take_in(sealed_at=OLD)
    asked = ["retain", "--older-than", "90d", "--json"]

    assert main(asked) == 0
    shown = json.loads(capsys.readouterr().out)
    there_after_the_plan = home.bundle(bundle.digest).is_dir()
    assert main([*asked, "--apply", shown["plan"]]) == 0

    assert there_after_the_plan
    assert [row["digest"] for row in shown["going"]] == [bundle.digest]
    assert json.loads(capsys.readouterr().out)["applied"] is True
    assert not home.bundle(bundle.digest).exists()


@pytest.mark.parametrize("statement", ["UPDATE {} SET plan = 'x'", "DELETE FROM {}"])
def test_the_record_of_a_removal_cannot_be_changed(bundle: Bundle, statement: str) -> None:
    Removal.objects.create(bundle=bundle, bytes=1, policy={}, plan="p" * 64, by="ada")

    with (
        pytest.raises(DatabaseError, match="cannot be changed"),
        transaction.atomic(),
        connection.cursor() as cursor,
    ):
        cursor.execute(statement.format("operations_removal"))


def test_every_way_that_a_finding_can_hang_on_a_run_is_tried() -> None:
    """Whoever adds another relation to a run or a bundle has to say here whether it cites."""
    known = {
        *("bundles", "interpretations", "executions", "shown_measures", "uploads", "removal"),
        *("review_subjects", "threads", "findings", "checks", "fresh_starts", "confirmations"),
        *("notes", "tags", "foreign_history", "+"),
    }
    relations = [*Bundle._meta.related_objects, *Run._meta.related_objects]

    assert {r.get_accessor_name() or "+" for r in relations} <= known
