"""URLs of the pages."""

from django.urls import URLPattern, path, register_converter
from django.urls.converters import StringConverter
from django.views.generic import RedirectView

from assay.pages.views import attempts, catalogue, engines, evidence_files, models, run, runs


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
    regex = "csv|json"


register_converter(DigestConverter, "digest")
register_converter(ModelConverter, "model")
register_converter(EngineConverter, "engine")
register_converter(VersionsConverter, "versions")
register_converter(ExportConverter, "export")

urlpatterns: list[URLPattern] = [
    path("", runs.runs, name="runs"),
    path("runs/<uuid:run_id>", run.run, name="run"),
    path("runs/<uuid:run_id>/", RedirectView.as_view(pattern_name="run")),
    path("runs/<uuid:run_id>/progress", run.progress, name="run-progress"),
    path("runs/<uuid:run_id>/identity", run.identity, name="run-identity"),
    path("runs/<uuid:run_id>/declaration", run.declaration, name="run-declaration"),
    path("runs/<uuid:run_id>/timeline", run.run_timeline, name="run-timeline"),
    path(
        "runs/<uuid:run_id>/timeline/<int:number>.json",
        run.timeline_detail,
        name="run-timeline-detail",
    ),
    path("runs/<uuid:run_id>/ledgers", run.ledgers, name="run-ledgers"),
    path("runs/<uuid:run_id>/latency", run.latency, name="run-latency"),
    path("runs/<uuid:run_id>/residuals", run.residuals, name="run-residuals"),
    path("runs/<uuid:run_id>/evidence", run.evidence, name="run-evidence"),
    path("runs/<uuid:run_id>/log", run.session_log, name="run-log"),
    path("runs/<uuid:run_id>/files", evidence_files.files, name="run-files"),
    path("runs/<uuid:run_id>/files/<path:path>", evidence_files.download, name="run-file"),
    path("runs/<uuid:run_id>/quote", evidence_files.quote, name="run-quote"),
    path("runs/<uuid:run_id>/attempts.<export:form>", attempts.export, name="run-attempts"),
    path("runs/<uuid:run_id>/attempts/<path:attempt_id>", attempts.attempt, name="run-attempt"),
    path("studies", catalogue.studies, name="studies"),
    path("studies/<uuid:study_id>", catalogue.study, name="study"),
    path("artifacts", catalogue.artifacts, name="artifacts"),
    path("artifacts/<digest:digest>", catalogue.artifact, name="artifact"),
    path("models", models.models, name="models"),
    path("models/fits", models.fits, name="fits"),
    path("models/<model:slug>", models.model, name="model"),
    path("engines", engines.engines, name="engines"),
    path("engines/<engine:key>", engines.engine, name="engine"),
    path("engines/<engine:key>/<versions:versions>", engines.diff, name="engine-diff"),
    path("rules", catalogue.rules, name="rules"),
]
