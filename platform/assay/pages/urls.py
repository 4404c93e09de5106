"""URLs of the pages."""

from django.urls import URLPattern, path, register_converter
from django.urls.converters import StringConverter
from django.views.generic import RedirectView

from assay.pages.views import (
    account,
    attempts,
    catalogue,
    compare,
    control,
    discussion,
    engines,
    evidence_files,
    home,
    launch,
    models,
    notifications,
    operations,
    reports,
    reviews,
    run,
    runs,
    saved_views,
    schedules,
    teams,
    timeline,
)


class DigestConverter(StringConverter):
    regex = "[0-9a-f]{64}"


class ModelConverter(StringConverter):
    regex = "[A-Za-z0-9][A-Za-z0-9._-]{0,199}"


class EngineConverter(StringConverter):
    regex = "[a-z][a-z0-9_]{0,39}"


class VersionsConverter:
    """Two versions with two dots between: ``0.32.0..0.33.0``."""

    regex = r"\d[0-9A-Za-z+.-]{0,59}\.\.\d[0-9A-Za-z+.-]{0,59}"

    def to_python(self, value: str) -> tuple[str, str]:
        older, _, newer = value.partition("..")
        return older, newer

    def to_url(self, value: tuple[str, str]) -> str:
        return "..".join(value)


class ExportConverter(StringConverter):
    regex = "csv|json|parquet"


class JudgeConverter(StringConverter):
    """Steps of a review that need the right to review."""

    regex = "approve|request_changes|reject|accept_gap|sign_off"


class ContributeConverter(StringConverter):
    """Steps of a review for whoever may write."""

    regex = "ask|answer_item|answer_changes|withdraw|comment"


class ManageConverter(StringConverter):
    regex = "retract"


class TurnConverter(StringConverter):
    """What somebody does in a thread."""

    regex = "say|edit|resolve|reopen"


register_converter(JudgeConverter, "judge")
register_converter(ContributeConverter, "contribute")
register_converter(ManageConverter, "manage")
register_converter(TurnConverter, "turn")
register_converter(DigestConverter, "digest")
register_converter(ModelConverter, "model")
register_converter(EngineConverter, "engine")
register_converter(VersionsConverter, "versions")
register_converter(ExportConverter, "export")

urlpatterns: list[URLPattern] = [
    path("", home.home, name="home"),
    path("runs", runs.runs, name="runs"),
    path("runs/tag", runs.tag_runs, name="runs-tag"),
    path("views", saved_views.saved_views, name="saved-views"),
    path("runs/<uuid:run_id>", run.run, name="run"),
    path("runs/<uuid:run_id>/", RedirectView.as_view(pattern_name="run")),
    path("runs/<uuid:run_id>/progress", run.progress, name="run-progress"),
    path("runs/<uuid:run_id>/identity", run.identity, name="run-identity"),
    path("runs/<uuid:run_id>/declaration", run.declaration, name="run-declaration"),
    path("runs/<uuid:run_id>/timeline", timeline.run_timeline, name="run-timeline"),
    path(
        "runs/<uuid:run_id>/timeline/<int:number>.json",
        timeline.timeline_detail,
        name="run-timeline-detail",
    ),
    path("runs/<uuid:run_id>/ledgers", run.ledgers, name="run-ledgers"),
    path("runs/<uuid:run_id>/latency", run.latency, name="run-latency"),
    path("runs/<uuid:run_id>/residuals", run.residuals, name="run-residuals"),
    path("runs/<uuid:run_id>/diagnosis", run.diagnosis, name="run-diagnosis"),
    path("runs/<uuid:run_id>/evidence", run.evidence, name="run-evidence"),
    path("runs/<uuid:run_id>/log", run.session_log, name="run-log"),
    path("runs/<uuid:run_id>/files", evidence_files.files, name="run-files"),
    path("runs/<uuid:run_id>/files/<path:path>", evidence_files.download, name="run-file"),
    path("runs/<uuid:run_id>/quote", evidence_files.quote, name="run-quote"),
    path("runs/<uuid:run_id>/attempts.<export:form>", attempts.export, name="run-attempts"),
    path("runs/<uuid:run_id>/attempts/<path:attempt_id>", attempts.attempt, name="run-attempt"),
    path("runs/<uuid:run_id>/cancel", control.cancel_run, name="run-cancel"),
    path("runs/<uuid:run_id>/report", reports.run_report, name="run-report"),
    path("runs/<uuid:run_id>/repeat", control.repeat_run, name="run-repeat"),
    path("account/notifications", notifications.notifications, name="notifications"),
    path("compare", compare.compare, name="compare"),
    path("compare/report", reports.compare_report, name="compare-report"),
    path("launch", launch.launch, name="launch"),
    path("launch/resolved", launch.resolved, name="launch-resolved"),
    path("launch/checked", launch.checked, name="launch-checked"),
    path("studies", catalogue.studies, name="studies"),
    path("studies/<uuid:study_id>", catalogue.study, name="study"),
    path("studies/<uuid:study_id>/cancel", control.cancel_study, name="study-cancel"),
    path("studies/<uuid:study_id>/repeat", control.repeat_study, name="study-repeat"),
    path("reviews", reviews.reviews, name="reviews"),
    path("reviews/new", reviews.submit_review, name="review-submit"),
    path("reviews/<uuid:review_id>", reviews.review, name="review"),
    path("reviews/<uuid:review_id>/report", reports.review_report, name="review-report"),
    path("reviews/<uuid:review_id>/<judge:step>", reviews.judge, name="review-judge"),
    path("reviews/<uuid:review_id>/<contribute:step>", reviews.contribute, name="review-step"),
    path("reviews/<uuid:review_id>/<manage:step>", reviews.manage, name="review-manage"),
    path("runs/<uuid:run_id>/discussion", discussion.run_discussion, name="run-discussion"),
    path("runs/<uuid:run_id>/notes", discussion.run_notes, name="run-notes"),
    path("studies/<uuid:study_id>/notes", discussion.study_notes, name="study-notes"),
    path("threads/<uuid:thread_id>", discussion.thread, name="thread"),
    path("threads/<uuid:thread_id>/<turn:turn>", discussion.say, name="thread-turn"),
    path("schedules", schedules.schedules, name="schedules"),
    path("schedules/<uuid:schedule_id>", schedules.schedule, name="schedule"),
    path(
        "schedules/<uuid:schedule_id>/series/<str:metric>", schedules.series, name="schedule-series"
    ),
    path("schedules/<uuid:schedule_id>/approve", schedules.approve, name="schedule-approve"),
    path("schedules/<uuid:schedule_id>/pause", schedules.pause, name="schedule-pause"),
    path("schedules/<uuid:schedule_id>/fire", schedules.fire, name="schedule-fire"),
    path("schedules/<uuid:schedule_id>/accept", schedules.accept, name="schedule-accept"),
    path("findings/<uuid:finding_id>", schedules.finding, name="finding"),
    path("findings/<uuid:finding_id>/bisect", schedules.bisect, name="finding-bisect"),
    path("findings/<uuid:finding_id>/move", schedules.move, name="finding-move"),
    path("artifacts", catalogue.artifacts, name="artifacts"),
    path("artifacts/<digest:digest>", catalogue.artifact, name="artifact"),
    path("models", models.models, name="models"),
    path("models/fits", models.fits, name="fits"),
    path("models/<model:slug>", models.model, name="model"),
    path("engines", engines.engines, name="engines"),
    path("engines/<engine:key>", engines.engine, name="engine"),
    path("engines/<engine:key>/<versions:versions>", engines.diff, name="engine-diff"),
    path("rules", catalogue.rules, name="rules"),
    path("operations", operations.operations, name="operations"),
    path("account", account.account, name="account"),
    path("account/password", account.change_password, name="account-password"),
    path("account/tokens/<int:token_id>/revoke", account.revoke_token, name="account-token-revoke"),
    path("teams", teams.team_list, name="teams"),
    path("teams/<slug:team>", teams.team_detail, name="team"),
    path("teams/<slug:team>/members", teams.set_member, name="team-member"),
    path("teams/<slug:team>/members/remove", teams.remove_member, name="team-member-remove"),
    path("teams/<slug:team>/projects", teams.new_project, name="team-project"),
]
