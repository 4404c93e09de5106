"""What was said in a review stays said: rows are added and never changed, on both databases.

A review's own row may move its state and round, and never out of an end: a sign-off can only be superseded or
retracted.
"""

from django.db import migrations

APPEND_ONLY = (
    "review_subject",
    "review_verdict",
    "review_checklistitem",
    "review_checklistanswer",
    "review_gapacceptance",
    "review_signoff",
    "review_auditentry",
    "review_thread",
    "review_comment",
    "review_note",
    "review_foreignhistory",
)
FIXED = ("id", "project_id", "title", "statement", "author_id", "supersedes_id", "created_at")
ENDS = "('withdrawn', 'superseded', 'retracted')"
UNSIGNED = (
    "OLD.state = 'signed_off' AND NEW.state NOT IN ('signed_off', 'superseded', 'retracted')"
)


def install_sql(vendor):
    if vendor == "postgresql":
        for table in APPEND_ONLY:
            yield postgres_trigger(table, "sealed", "UPDATE OR DELETE", "")
        yield postgres_trigger("review_review", "sealed_update", "UPDATE", f"WHEN ({moved_wrongly('IS DISTINCT FROM')})")
        yield postgres_trigger("review_review", "sealed_delete", "DELETE", "")
        return
    for table in APPEND_ONLY:
        for operation in ("UPDATE", "DELETE"):
            yield sqlite_trigger(table, operation, "1")
    yield sqlite_trigger("review_review", "UPDATE", moved_wrongly("IS NOT"))
    yield sqlite_trigger("review_review", "DELETE", "1")


def moved_wrongly(differs):
    changed = " OR ".join(f"OLD.{column} {differs} NEW.{column}" for column in FIXED)
    reopened = f"(OLD.state IN {ENDS} AND OLD.state <> NEW.state)"
    return f"{changed} OR {reopened} OR ({UNSIGNED})"


def postgres_trigger(table, name, operations, when):
    return (
        f"CREATE TRIGGER {table}_{name} BEFORE {operations} ON {table} "
        f"FOR EACH ROW {when} EXECUTE FUNCTION assay_refuse_change()"
    )


def sqlite_trigger(table, operation, condition):
    return (
        f"CREATE TRIGGER {table}_sealed_{operation.lower()} BEFORE {operation} ON {table} "
        f"WHEN {condition} BEGIN SELECT RAISE(ABORT, "
        f"'a sealed row of {table} cannot be changed ({operation} refused)'); END"
    )


def remove_sql(vendor):
    if vendor == "postgresql":
        for table in APPEND_ONLY:
            yield f"DROP TRIGGER IF EXISTS {table}_sealed ON {table}"
        yield "DROP TRIGGER IF EXISTS review_review_sealed_update ON review_review"
        yield "DROP TRIGGER IF EXISTS review_review_sealed_delete ON review_review"
        return
    for table in (*APPEND_ONLY, "review_review"):
        for operation in ("update", "delete"):
            yield f"DROP TRIGGER IF EXISTS {table}_sealed_{operation}"


def install(apps, schema_editor):
    for statement in install_sql(schema_editor.connection.vendor):
        schema_editor.execute(statement, params=None)


def remove(apps, schema_editor):
    for statement in remove_sql(schema_editor.connection.vendor):
        schema_editor.execute(statement, params=None)


class Migration(migrations.Migration):
    dependencies = [("review", "0001_initial"), ("ledger", "0002_guard_sealed_rows")]
    operations = [migrations.RunPython(install, remove)]
