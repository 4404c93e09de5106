"""Reviews: the list, one of them, and its steps. What is refused stands on the page it was asked from."""

from collections.abc import Callable, Sequence
from uuid import UUID

from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, QueryDict
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from assay.accounts.access import Access
from assay.accounts.models import Action
from assay.pages.contexts.review_list import reviews_page
from assay.pages.contexts.review_page import review_page
from assay.pages.contexts.review_submit import submit_page
from assay.pages.middleware import request_access
from assay.permissions.guard import requires
from assay.review import steps
from assay.review.discussing import start_thread_on_statement
from assay.review.models import Review
from assay.review.process import VerdictKind
from assay.review.submitting import Submission, submit
from experiments.errors import Finding, Refusal

UNPROCESSABLE = 422
Take = Callable[[Access, UUID, QueryDict], object]


def _verdict(kind: VerdictKind) -> Take:
    return lambda access, review_id, form: steps.give_verdict(
        access, review_id, kind, form.get("words", "")
    )


def _comment(access: Access, review_id: UUID, form: QueryDict) -> object:
    review = get_object_or_404(Review, pk=review_id)
    return start_thread_on_statement(access, review, form.get("words", ""))


# step in the address -> what takes it, and where on the page its trace is
STEPS: dict[str, tuple[Take, str]] = {
    **{kind.value: (_verdict(kind), "verdicts") for kind in VerdictKind},
    "accept_gap": (
        lambda a, r, form: steps.accept_gap(a, r, form.get("what", ""), form.get("words", "")),
        "gaps",
    ),
    "sign_off": (lambda a, r, form: steps.sign_off(a, r, form.get("words", "")), "statement"),
    "ask": (lambda a, r, form: steps.ask(a, r, form.get("reviewer", "")), "verdicts"),
    "answer_item": (
        lambda a, r, form: steps.answer_item(
            a, r, form.get("item", ""), form.get("answer", ""), form.get("words", "")
        ),
        "checklist",
    ),
    "answer_changes": (
        lambda a, r, form: steps.answer_changes(a, r, form.get("words", "")),
        "verdicts",
    ),
    "withdraw": (lambda a, r, form: steps.withdraw(a, r, form.get("words", "")), "audit"),
    "retract": (lambda a, r, form: steps.retract(a, r, form.get("words", "")), "statement"),
    "comment": (_comment, "threads"),
}


@require_safe
def reviews(request: HttpRequest) -> HttpResponseBase:
    page = reviews_page(request.GET, request_access(request))
    return render(request, "pages/review/list.html", {"page": page, "section": "reviews"})


@require_safe
def review(request: HttpRequest, review_id: UUID) -> HttpResponseBase:
    page = review_page(review_id, request_access(request))
    return render(request, "pages/review/detail.html", {"page": page, "section": "reviews"})


@require_http_methods(["GET", "HEAD", "POST"])
def submit_review(request: HttpRequest) -> HttpResponseBase:
    """Names no run in its address: whether each may be submitted is asked by the service."""
    access = request_access(request)
    if not access.anywhere(Action.write):
        raise PermissionDenied(Action.write.value)
    given = request.POST if request.method == "POST" else request.GET
    study = _id(given.get("study", ""))
    refused: Sequence[Finding] = ()
    asked = Submission(
        runs=[found for text in given.getlist("run") if (found := _id(text))],
        title=given.get("title", ""),
        statement=given.get("statement", ""),
        reviewers=given.getlist("reviewer"),
        supersedes=_id(given.get("supersedes", "")),
    )
    if request.method == "POST":
        try:
            return redirect("review", submit(access, asked).id)
        except Refusal as refusal:
            refused = refusal.findings
    page = submit_page(access, asked, study=study, refused=refused)
    context = {"page": page, "study": study, "section": "reviews"}
    return render(
        request, "pages/review/submit.html", context, status=UNPROCESSABLE if refused else 200
    )


@requires(Action.review)
@require_POST
def judge(request: HttpRequest, review_id: UUID, step: str) -> HttpResponseBase:
    return _take(request, review_id, step)


@requires(Action.write)
@require_POST
def contribute(request: HttpRequest, review_id: UUID, step: str) -> HttpResponseBase:
    return _take(request, review_id, step)


@requires(Action.manage)
@require_POST
def manage(request: HttpRequest, review_id: UUID, step: str) -> HttpResponseBase:
    return _take(request, review_id, step)


def _take(request: HttpRequest, review_id: UUID, step: str) -> HttpResponseBase:
    access = request_access(request)
    take, spot = STEPS[step]
    try:
        take(access, review_id, request.POST)
    except Review.DoesNotExist as error:  # whoever runs the installation is not stopped before
        raise Http404(_("there is no such review")) from error
    except Refusal as refusal:
        typed = {**request.POST.dict(), "step": step}
        page = review_page(review_id, access, refused=refusal.findings, typed=typed)
        context = {"page": page, "section": "reviews"}
        return render(request, "pages/review/detail.html", context, status=UNPROCESSABLE)
    return redirect(f"{reverse('review', args=[review_id])}#{spot}")


def _id(text: str) -> UUID | None:
    try:
        return UUID(text)
    except ValueError:
        return None
