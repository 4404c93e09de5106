"""``assay review``: submit runs for review, judge them, sign off; what the pages do, for a terminal."""

import argparse
from collections.abc import Callable
from typing import TYPE_CHECKING, Any
from uuid import UUID

from assay.cli.database import open_or_complain
from assay.cli.exits import DONE, REFUSED, complain, print_json, refuse
from experiments.errors import Refusal

if TYPE_CHECKING:
    from assay.accounts.access import Access
    from assay.review.models import Review

HELP = "Reviews of sealed runs: list, show, submit, comment, judge, accept gaps, answer, sign off."
VERDICTS = {"approve": "approve", "request-changes": "request_changes", "reject": "reject"}
# verb -> what it does with --words
WORDED = {
    "comment": "begin a thread about the statement",
    "approve": "the runs bear the statement; every open gap is accepted",
    "request-changes": "something has to be said or done first",
    "reject": "the runs do not bear the statement",
    "answer": "as the author, say what became of requested changes",
    "sign-off": "freeze the statement with its bundles and definition version",
    "withdraw": "as the author, take the review back before it is signed off",
    "retract": "as a maintainer, take a sign-off back",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    verbs = parser.add_subparsers(dest="what", required=True, metavar="WHAT")
    shown = verbs.add_parser("list", help="reviews, those that wait for you first")
    shown.add_argument("--state", help="only those in this state")
    _review_verb(verbs, "show", "one review: state, what it waits for, and its trail")
    submitted = verbs.add_parser("submit", help="put sealed runs up for review")
    submitted.add_argument("run", nargs="+", help="run id or its beginning, or a bundle digest")
    submitted.add_argument("--title", required=True)
    submitted.add_argument("--statement", required=True, help="what is claimed of the runs")
    submitted.add_argument("--reviewer", action="append", default=[], metavar="NAME")
    submitted.add_argument("--supersedes", metavar="REVIEW")
    for verb, text in WORDED.items():
        _review_verb(verbs, verb, text).add_argument("--words", required=True)
    accept = _review_verb(verbs, "accept-gap", "accept an open gap by its name")
    accept.add_argument("gap", help="the gap's name, as `assay review show` prints it")
    accept.add_argument("--words", required=True, metavar="REASON")
    answer = _review_verb(verbs, "answer-item", "answer a question of the checklist")
    answer.add_argument("item", help="the question's key")
    answer.add_argument("answer", help="holds, does_not_hold or not_applicable")
    answer.add_argument("--words", required=True, metavar="NOTE")
    for one in verbs.choices.values():
        one.add_argument("--json", action="store_true", help="JSON on stdout")


def _review_verb(verbs: Any, name: str, text: str) -> argparse.ArgumentParser:
    made: argparse.ArgumentParser = verbs.add_parser(name, help=text)
    made.add_argument("review", help="review id, or its beginning")
    return made


def run(arguments: argparse.Namespace) -> int:
    if (code := open_or_complain()) is not None:
        return code
    from django.core.exceptions import PermissionDenied

    from assay.accounts.access import Access
    from assay.accounts.services import local_user

    access = Access(user=local_user())
    try:
        if arguments.what == "list":
            return _list(arguments, access)
        found = (
            _submit(arguments, access) if arguments.what == "submit" else _step(arguments, access)
        )
    except Refusal as refusal:
        return refuse(refusal.findings, as_json=arguments.json)
    except PermissionDenied as denied:
        complain(f"right: {denied} is not yours here (allowed: ask a maintainer of the project)")
        return REFUSED
    return _show(found, as_json=arguments.json)


def _list(arguments: argparse.Namespace, access: "Access") -> int:
    from assay.review.documents import listed
    from assay.review.queries import (
        in_shown_state,
        reviews_waiting,
        visible_reviews,
        with_shown_state,
    )

    waiting = {w.review.pk: w.awaited for w in reviews_waiting(access)}
    reviews = with_shown_state(visible_reviews(access)).select_related("author")
    if arguments.state:
        reviews = in_shown_state(reviews, arguments.state)
    rows = [listed(r, awaited=waiting.get(r.pk)) for r in reviews.order_by("-created_at")]
    rows.sort(key=lambda row: row["awaited"] is None)
    if arguments.json:
        print_json(rows)
        return DONE
    for row in rows:
        awaited = f"  waits for your {row['awaited']}" if row["awaited"] else ""
        print(f"{row['review']}  {row['state']:<18} {row['title']}{awaited}")  # noqa: T201
    return DONE


def _submit(arguments: argparse.Namespace, access: "Access") -> "Review":
    from assay.cli.lookup import AmbiguousRun, one_run
    from assay.review.submitting import Submission, submit
    from experiments.errors import refuse as refusal_of

    try:
        runs = [one_run(text).id for text in arguments.run]
    except AmbiguousRun as error:
        raise refusal_of(
            field="run", seen=error, allowed="ids of sealed runs", remedy="Give more of the id."
        ) from error
    old = arguments.supersedes
    return submit(
        access,
        Submission(
            runs=runs,
            title=arguments.title,
            statement=arguments.statement,
            reviewers=arguments.reviewer,
            supersedes=one_review(old, access).id if old else None,
        ),
    )


def _step(arguments: argparse.Namespace, access: "Access") -> "Review":
    review = one_review(arguments.review, access)
    if arguments.what != "show":
        _STEPS[arguments.what](arguments, access, review.id)
        review.refresh_from_db()
    return review


def _verdict(arguments: argparse.Namespace, access: "Access", review_id: UUID) -> None:
    from assay.review.process import VerdictKind
    from assay.review.steps import give_verdict

    give_verdict(access, review_id, VerdictKind(VERDICTS[arguments.what]), arguments.words)


def _comment(arguments: argparse.Namespace, access: "Access", review_id: UUID) -> None:
    from assay.review.discussing import start_thread_on_statement
    from assay.review.models import Review

    review = Review.objects.get(id=review_id)
    start_thread_on_statement(access, review, arguments.words)


def _accept(arguments: argparse.Namespace, access: "Access", review_id: UUID) -> None:
    from assay.review.steps import accept_gap

    accept_gap(access, review_id, arguments.gap, arguments.words)


def _answer_item(arguments: argparse.Namespace, access: "Access", review_id: UUID) -> None:
    from assay.review.steps import answer_item

    answer_item(access, review_id, arguments.item, arguments.answer, arguments.words)


def _worded(name: str) -> Callable[[argparse.Namespace, "Access", UUID], None]:
    def step(arguments: argparse.Namespace, access: "Access", review_id: UUID) -> None:
        from assay.review import steps

        getattr(steps, name)(access, review_id, arguments.words)

    return step


_STEPS: dict[str, Callable[[argparse.Namespace, "Access", UUID], None]] = {
    **dict.fromkeys(VERDICTS, _verdict),
    "comment": _comment,
    "accept-gap": _accept,
    "answer-item": _answer_item,
    "answer": _worded("answer_changes"),
    "sign-off": _worded("sign_off"),
    "withdraw": _worded("withdraw"),
    "retract": _worded("retract"),
}


def one_review(text: str, access: "Access") -> "Review":
    """The review that a person means. Raises Refusal."""
    from assay.review.queries import find_reviews
    from experiments.errors import refuse as refusal_of

    found = list(find_reviews(text, access)[:5])
    if len(found) != 1:
        raise refusal_of(
            field="review",
            seen=f"{text} ({len(found)} reviews begin with it)" if found else text,
            allowed="the id of a review, or its beginning of six characters or more",
            remedy="`assay review list` prints ids.",
        )
    return found[0]


def _show(review: "Review", *, as_json: bool) -> int:
    from assay.review.documents import described

    document = described(review)
    if as_json:
        print_json(document)
        return DONE
    lines = [
        f"review     {document['review']}",
        f"state      {document['state']}",
        f"title      {document['title']}",
        f"statement  {document['statement']}",
        *(f"run        {s['run']}  bundle {s['bundle_digest'][:12]}" for s in document["runs"]),
        *(f"gap        {name}" for name in document["open_gaps"]),
        *(f"item       {i['key']}: {i['question']}" for i in document["unanswered"]),
        *(f"verdict    {v['by']} {v['kind']}: {v['statement']}" for v in document["verdicts"]),
    ]
    if document["sign_off"]:
        lines.append(f"signed     {document['sign_off']['by']}  {document['sign_off']['digest']}")
    print("\n".join(lines))  # noqa: T201
    return DONE
