"""What is said of a run: threads at its places, notes and tags; notes and tags of a study."""

from uuid import UUID

from django.http import Http404, HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from assay.ledger.models import Run, Study
from assay.pages.addresses import local_address
from assay.pages.contexts.head import run_head
from assay.pages.contexts.review_discussion import discussion
from assay.pages.contexts.review_places import discuss_url
from assay.pages.middleware import request_access
from assay.pages.views.run_context import run_context
from assay.review import annotating, discussing
from assay.review.anchors import anchor_of
from assay.review.models import Thread
from experiments.errors import Finding, Refusal

UNPROCESSABLE = 422
TURNS = {
    "say": discussing.say,
    "resolve": discussing.resolve,
    "reopen": discussing.reopen,
}


@require_http_methods(["GET", "HEAD", "POST"])
def run_discussion(request: HttpRequest, run_id: UUID) -> HttpResponseBase:
    """POST begins a thread about the place that ``kind`` and ``key`` name."""
    if request.method != "POST":
        return _discussion(request, run_id, request.GET.dict())
    access = request_access(request)
    run = get_object_or_404(Run.objects.select_related("study"), pk=run_id)
    try:
        anchor = anchor_of(request.POST.get("kind", ""), request.POST.get("key", ""))
        thread = discussing.start_thread(access, run, anchor, request.POST.get("text", ""))
    except Refusal as refusal:
        return _discussion(request, run_id, request.POST.dict(), refusal.findings)
    return redirect(f"{discuss_url(run_id, anchor)}#thread-{thread.id}")


@require_safe
def thread(request: HttpRequest, thread_id: UUID) -> HttpResponseBase:
    """The lasting address of a thread: it leads to the page where the thread is read."""
    found = get_object_or_404(Thread, pk=thread_id)
    if found.run_id is not None:
        return redirect(f"{discuss_url(found.run_id, found.anchor)}#thread-{thread_id}")
    return redirect(f"{reverse('review', args=[found.review_id])}#thread-{thread_id}")


@require_POST
def say(request: HttpRequest, thread_id: UUID, turn: str) -> HttpResponseBase:
    """One turn of a thread: say, resolve, reopen or edit."""
    access, text = request_access(request), request.POST.get("text", "")
    try:
        if turn == "edit":
            comment = request.POST.get("comment", "")
            number = int(comment) if comment.isascii() and comment.isdigit() else 0
            discussing.edit(access, thread_id, number, text)
        else:
            TURNS[turn](access, thread_id, text)
    except Thread.DoesNotExist as error:
        raise Http404(_("there is no such thread")) from error
    except Refusal as refusal:
        context = {"findings": refusal.findings, "thread_id": thread_id, "section": "reviews"}
        return render(request, "pages/review/refused.html", context, status=UNPROCESSABLE)
    return redirect(
        local_address(request.POST.get("back", "")) or reverse("thread", args=[thread_id])
    )


@require_POST
def run_notes(request: HttpRequest, run_id: UUID) -> HttpResponseBase:
    return _annotate(request, get_object_or_404(Run.objects.select_related("study"), pk=run_id))


@require_POST
def study_notes(request: HttpRequest, study_id: UUID) -> HttpResponseBase:
    return _annotate(request, get_object_or_404(Study, pk=study_id))


def _annotate(request: HttpRequest, about: Run | Study) -> HttpResponseBase:
    """A note, a tag to add or a tag to take away: whichever the form names."""
    access, form = request_access(request), request.POST
    home = reverse("run-discussion" if isinstance(about, Run) else "study", args=[about.id])
    try:
        if "tag" in form:
            annotating.tag(access, about, form["tag"])
        elif "untag" in form:
            annotating.untag(access, about, form["untag"])
        else:
            annotating.note(access, about, form.get("note", ""))
    except Refusal as refusal:
        context = {"findings": refusal.findings, "back": home, "section": "reviews"}
        return render(request, "pages/review/refused.html", context, status=UNPROCESSABLE)
    return redirect(f"{home}#notes")


def _discussion(
    request: HttpRequest, run_id: UUID, asked: dict[str, str], refused: tuple[Finding, ...] = ()
) -> HttpResponseBase:
    head = run_head(run_id, "run-discussion")
    anchor = None
    if asked.get("kind"):
        try:
            anchor = anchor_of(asked["kind"], asked.get("key", ""))
        except Refusal as refusal:
            refused = refusal.findings
    typed = asked.get("text", "") if refused else ""
    page = discussion(head, request_access(request), anchor, refused=refused, typed=typed)
    status = UNPROCESSABLE if refused else 200
    return render(request, "pages/review/discussion.html", run_context(head, page), status=status)
