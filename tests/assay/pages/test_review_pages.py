"""Pages of reviews: what they say, what may be done on them by whom, and how many queries they take."""

from collections.abc import Callable
from uuid import uuid4

import pytest
from django.contrib.auth.models import User
from django.db import transaction
from django.test import Client
from django.urls import reverse

from assay.accounts.models import Role, Team
from assay.review import annotating, discussing, steps
from assay.review.anchors import Anchor, AnchorKind
from assay.review.models import Comment, Note, Review, Tag, Thread
from assay.review.process import VerdictKind
from tests.assay.pages.conftest import page
from tests.assay.pages.factory import Laboratory
from tests.assay.review.people import (
    accept_every_gap,
    access_of,
    author,
    maintainer,
    reviewer,
    second_reviewer,
    signed_off,
    submitted,
)

Counted = Callable[..., object]
GAP = "server record of load-0022.A1"


def client_of(access: object) -> Client:
    client = Client()
    client.force_login(access.user)  # type: ignore[attr-defined]
    return client


@pytest.fixture
def review(lab: Laboratory) -> Review:
    return submitted(lab.run)


def step_url(review: Review, step: str) -> str:
    name = {"retract": "review-manage"}.get(step)
    judged = {"approve", "request_changes", "reject", "accept_gap", "sign_off"}
    return reverse(
        name or ("review-judge" if step in judged else "review-step"), args=[review.pk, step]
    )


def test_a_review_shows_what_it_waits_for_and_what_the_archive_answers(review: Review) -> None:
    text = page(client_of(reviewer()), reverse("review", args=[review.pk]))

    for words in (
        "At four at a time TTFT stays below 200 ms",
        "2 open gaps to accept",
        GAP,
        "identity.json: without evidence: parallel_layout",
        "Approval is refused yet",
        review.subjects.get().bundle_id[:12],
    ):
        assert words in text


def test_a_set_is_submitted_from_its_study_page(lab: Laboratory) -> None:
    client = client_of(author())
    form = page(client, f"{reverse('review-submit')}?study={lab.study.pk}")
    assert form.count('name="run"') == 3

    response = client.post(
        reverse("review-submit"),
        {
            "run": [str(run.pk) for run in lab.sweep],
            "title": "Sweep",
            "statement": "Output rate grows with concurrency (E1).",
            "study": str(lab.study.pk),
        },
    )

    made = Review.objects.get()
    assert response["Location"] == reverse("review", args=[made.pk])
    assert made.subjects.count() == 3
    text = page(client, response["Location"])
    assert "Were all runs measured under one definition" in text


def test_a_refused_submission_keeps_what_was_typed(lab: Laboratory) -> None:
    response = client_of(author()).post(
        reverse("review-submit"), {"run": str(lab.run.pk), "title": "Only a title"}
    )

    text = response.content.decode()
    assert response.status_code == 422
    assert "statement" in text
    assert "1 to 20000 characters" in text
    assert 'value="Only a title"' in text


def test_a_refused_step_stands_on_the_page_with_its_remedy(review: Review) -> None:
    response = client_of(reviewer()).post(
        step_url(review, "approve"), {"words": "all of it is fine"}
    )

    text = response.content.decode()
    assert response.status_code == 422
    assert "Accept each by name with a reason" in text
    assert "all of it is fine</textarea>" in text


def test_a_review_goes_its_way_by_plain_forms(review: Review) -> None:
    ada, ben, eve = (client_of(a) for a in (author(), reviewer(), second_reviewer()))

    def post(client: Client, step: str, **form: str) -> None:
        response = client.post(step_url(review, step), form)
        assert response.status_code == 302, response.content.decode()

    post(ben, "comment", words="which level?")
    post(ben, "request_changes", words="say the level")
    assert "your answer to requested changes" in page(ada, reverse("reviews"))
    post(ada, "answer_changes", words="E1, as in the statement")
    for gap in ("process_returned: no memory reading after the engine stopped", GAP):
        post(ben, "accept_gap", what=gap, words="not needed for E1")
    for item in review.items.exclude(automatic="holds"):
        post(ada, "answer_item", item=item.key, answer="not_applicable", words="see statement")
    post(ben, "approve", words="yes")
    post(eve, "sign_off", words="may be quoted")

    text = page(ada, reverse("review", args=[review.pk]))
    assert "signed this off" in text
    assert "may be quoted" in text


@pytest.mark.parametrize(
    ("step", "least"),
    [
        ("comment", Role.author),
        ("answer_item", Role.author),
        ("ask", Role.author),
        ("accept_gap", Role.reviewer),
        ("approve", Role.reviewer),
        ("request_changes", Role.reviewer),
        ("reject", Role.reviewer),
        ("sign_off", Role.reviewer),
        ("retract", Role.maintainer),
    ],
)
def test_each_step_asks_for_its_role(review: Review, step: str, least: Role) -> None:
    allowed = []
    for role in Role:
        with transaction.atomic():
            client = client_of(access_of("zoe", role))
            status = client.post(step_url(review, step), {"words": "w", "what": GAP}).status_code
            transaction.set_rollback(True)  # as if nobody had asked before
        if status != 403:  # 302 done, 422 refused for another reason
            allowed.append(role)

    ranks = list(Role)
    assert allowed == ranks[ranks.index(least) :]


@pytest.mark.parametrize("step", ["comment", "approve", "sign_off", "retract", "withdraw"])
def test_nobody_else_reaches_a_review(review: Review, step: str) -> None:
    other = access_of("kim", Role.maintainer, Team.objects.create(slug="other", name="Other"))

    assert client_of(other).post(step_url(review, step), {"words": "w"}).status_code == 404
    assert client_of(other).get(reverse("review", args=[review.pk])).status_code == 404
    assert Client().post(step_url(review, step), {"words": "w"}).status_code == 302
    assert not Thread.objects.exists()


def test_a_form_without_its_token_is_refused(review: Review) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(reviewer().user)  # type: ignore[arg-type]

    assert client.post(step_url(review, "reject"), {"words": "w"}).status_code == 403


def test_an_author_is_offered_no_verdict(review: Review) -> None:
    text = page(client_of(author()), reverse("review", args=[review.pk]))

    assert "Your verdict" not in text
    assert "Withdraw this review" in text


def test_a_stale_sign_off_says_so_and_offers_a_new_submission(lab: Laboratory) -> None:
    from assay.ledger.models import Interpretation

    review = signed_off(lab.run)
    Interpretation.objects.create(
        bundle=lab.bundle, definition_version="2099.1.1", digest="ab" * 32
    )

    text = page(client_of(author()), reverse("review", args=[review.pk]))

    assert "what was signed is no longer what its runs show" in text
    assert f"run={lab.run.pk}&amp;supersedes={review.pk}" in text


def test_the_list_shows_what_waits_first(review: Review) -> None:
    assert "your verdict" in page(client_of(reviewer()), reverse("reviews"))
    assert review.title in page(client_of(author()), f"{reverse('reviews')}?show=mine")
    assert "No review here" in page(client_of(reviewer()), f"{reverse('reviews')}?state=stale")
    assert review.title in page(client_of(reviewer()), f"{reverse('reviews')}?q=smollm2&show=all")


def test_a_place_is_discussed_and_the_thread_leads_back_to_it(lab: Laboratory) -> None:
    client = client_of(author())
    anchor = Anchor(kind=AnchorKind.gap, key=GAP)
    evidence = page(client, reverse("run-evidence", args=[lab.run.pk]))
    assert f'id="{anchor.fragment}"' in evidence

    response = client.post(
        reverse("run-discussion", args=[lab.run.pk]),
        {"kind": "gap", "key": GAP, "text": "Is one attempt enough to matter?"},
    )

    thread = Thread.objects.get()
    assert response["Location"].endswith(f"#thread-{thread.id}")
    text = page(client, reverse("run-discussion", args=[lab.run.pk]))
    assert f"{reverse('run-evidence', args=[lab.run.pk])}#{anchor.fragment}" in text
    assert "1 thread" in page(client, reverse("run-evidence", args=[lab.run.pk]))
    assert client.get(reverse("thread", args=[thread.id])).status_code == 302


@pytest.mark.parametrize(
    ("kind", "key"),
    [
        ("gap", "no such gap"),
        ("ledger_row", "load-9999.A1"),
        ("measure", "ttft.first_content.client · p51 · completed attempts, load"),
        ("residual", "decode_step_s · batch=99"),
        ("file", "../../etc/passwd"),
        ("chart", "latency/pie"),
        ("cell", "identity/colour"),
        ("rule", "ttft.best"),
        ("statement", ""),
        ("planet", "mars"),
        ("gap", "x" * 700),
        ("run", "a key where none belongs"),
    ],
)
def test_a_thread_hangs_on_nothing_that_is_not_there(lab: Laboratory, kind: str, key: str) -> None:
    response = client_of(author()).post(
        reverse("run-discussion", args=[lab.run.pk]), {"kind": kind, "key": key, "text": "t"}
    )

    assert response.status_code == 422
    assert not Thread.objects.exists()


@pytest.mark.parametrize(
    ("kind", "key", "place"),
    [
        ("run", "", "run"),
        ("ledger_row", "load-0006.A1", "run-attempt"),
        ("measure", "ttft.first_content.client ·  · completed attempts, load", "run-latency"),
        ("residual", "decode_step_s · batch=4", "run-residuals"),
        ("chart", "latency/ecdf", "run-latency"),
        ("cell", "identity/precision_path", "run-identity"),
        ("rule", "ttft.first_content.client", "rules"),
        ("file", "engine.log", "run-files"),
    ],
)
def test_every_kind_of_place_is_discussed_and_found_again(
    lab: Laboratory, kind: str, key: str, place: str
) -> None:
    client = client_of(author())

    response = client.post(
        reverse("run-discussion", args=[lab.run.pk]), {"kind": kind, "key": key, "text": "t"}
    )

    assert response.status_code == 302
    arguments = {"rules": []}.get(place, [lab.run.pk])
    if place == "run-attempt":
        arguments = [lab.run.pk, key]
    url = reverse(place, args=arguments)
    assert f'href="{url}' in page(client, reverse("run-discussion", args=[lab.run.pk]))
    fragment = key if kind == "rule" else Anchor(kind=AnchorKind(kind), key=key).fragment
    if kind != "run":
        assert f'id="{fragment}"' in page(client, url)


def test_an_edit_is_a_row_of_its_own_and_only_for_ones_own_words(lab: Laboratory) -> None:
    thread = discussing.start_thread(author(), lab.run, Anchor(kind=AnchorKind.run), "frist words")
    first = thread.comments.get()
    url = reverse("thread-turn", args=[thread.id, "edit"])

    ada = client_of(author()).post(url, {"comment": first.pk, "text": "first words"})
    ben = client_of(reviewer()).post(url, {"comment": first.pk, "text": "mine now"})

    assert (ada.status_code, ben.status_code) == (302, 422)
    assert Comment.objects.count() == 2
    text = page(client_of(reviewer()), reverse("run-discussion", args=[lab.run.pk]))
    assert "first words" in text
    assert "frist words" in text
    assert "edited" in text


def test_a_thread_is_resolved_once_and_reopened(lab: Laboratory) -> None:
    thread = discussing.start_thread(author(), lab.run, Anchor(kind=AnchorKind.run), "why?")
    client = client_of(reviewer())

    def turn(name: str) -> int:
        return client.post(reverse("thread-turn", args=[thread.id, name])).status_code

    assert (turn("resolve"), turn("resolve"), turn("reopen"), turn("say")) == (302, 422, 302, 422)


def test_a_thread_is_answered_from_where_it_was_read_and_leads_nowhere_else(
    lab: Laboratory,
) -> None:
    thread = discussing.start_thread(author(), lab.run, Anchor(kind=AnchorKind.run), "why?")
    url = reverse("thread-turn", args=[thread.id, "say"])
    client = client_of(author())

    assert client.post(url, {"text": "a", "back": "/reviews"})["Location"] == "/reviews"
    for evil in ("https://evil.example/", "//evil.example/", "javascript:alert(1)"):
        assert client.post(url, {"text": "a", "back": evil})["Location"].startswith("/threads/")


def test_notes_and_tags_lie_beside_the_run(lab: Laboratory) -> None:
    client = client_of(author())
    url = reverse("run-notes", args=[lab.run.pk])

    client.post(url, {"note": "fan was loud"})
    client.post(url, {"tag": "Baseline"})
    client.post(url, {"tag": "baseline"})
    client.post(reverse("study-notes", args=[lab.study.pk]), {"note": "first sweep"})

    assert Note.objects.count() == 2
    assert [t.name for t in Tag.objects.all()] == ["baseline"]
    assert "fan was loud" in page(client, reverse("run-discussion", args=[lab.run.pk]))
    assert "first sweep" in page(client, reverse("study", args=[lab.study.pk]))
    client.post(url, {"untag": "baseline"})
    assert not Tag.objects.exists()
    assert client.post(url, {"tag": "no spaces!"}).status_code == 422
    assert client_of(access_of("zoe", Role.viewer)).post(url, {"note": "x"}).status_code == 403


def test_what_people_write_is_shown_as_text(lab: Laboratory) -> None:
    hostile = '<script>alert(1)</script><img src=x onerror=alert(1)> {{ 7|add:"1" }}'
    review = submitted(lab.run)
    client_of(reviewer()).post(step_url(review, "comment"), {"words": hostile})
    annotating.note(author(), lab.run, hostile)
    steps.give_verdict(reviewer(), review.pk, VerdictKind.reject, hostile)

    for url in (
        reverse("review", args=[review.pk]),
        reverse("run-discussion", args=[lab.run.pk]),
    ):
        text = page(client_of(maintainer()), url)
        assert "<script>alert" not in text
        assert "<img src=x" not in text
        assert "&lt;script&gt;alert(1)" in text


def test_a_runs_page_shows_the_state_of_its_review(lab: Laboratory) -> None:
    client = client_of(author())
    url = reverse("run", args=[lab.run.pk])
    assert "Submit for review" in page(client, url)
    assert "Submit for review" not in page(client, reverse("run", args=[lab.by_state["queued"].pk]))

    review = signed_off(lab.run)

    text = page(client, url)
    assert reverse("review", args=[review.pk]) in text
    assert "signed_off" in text


def test_a_review_takes_as_many_queries_for_three_runs_as_for_one(
    lab: Laboratory, django_assert_max_num_queries: Counted
) -> None:
    one, three = submitted(lab.run), submitted(*lab.sweep)
    accept_every_gap(one, reviewer())
    accept_every_gap(three, reviewer())
    client = client_of(reviewer())

    for review in (one, three):
        with django_assert_max_num_queries(38):  # type: ignore[attr-defined]
            page(client, reverse("review", args=[review.pk]))
    with django_assert_max_num_queries(12):  # type: ignore[attr-defined]
        page(client, reverse("reviews"))


def test_an_unknown_review_is_not_found(lab: Laboratory, somebody: Client) -> None:
    page(somebody, reverse("review", args=[uuid4()]), 404)
    assert somebody.post(reverse("review-judge", args=[uuid4(), "approve"])).status_code == 404
    assert somebody.post(reverse("thread-turn", args=[uuid4(), "say"])).status_code == 404


def test_who_sits_at_the_machine_alone_cannot_sign_off(lab: Laboratory, somebody: Client) -> None:
    local = User.objects.get(is_superuser=True)
    lab.study.__class__.objects.update(owner=local.username)
    somebody.post(
        reverse("review-submit"),
        {"run": str(lab.run.pk), "title": "Mine", "statement": "It is fast (E1)."},
    )
    made = Review.objects.get()

    response = somebody.post(step_url(made, "approve"), {"words": "I like it"})

    assert response.status_code == 422
    assert "Ask another person" in response.content.decode()
