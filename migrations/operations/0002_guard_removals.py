"""That a bundle was let go of stays on record: rows are added and never changed, on both databases."""

from django.db import migrations

TABLE = "operations_removal"


def install_sql(vendor):
    if vendor == "postgresql":
        yield (
            f"CREATE TRIGGER {TABLE}_sealed BEFORE UPDATE OR DELETE ON {TABLE} "
            "FOR EACH ROW EXECUTE FUNCTION assay_refuse_change()"
        )
        return
    for operation in ("UPDATE", "DELETE"):
        yield (
            f"CREATE TRIGGER {TABLE}_sealed_{operation.lower()} BEFORE {operation} ON {TABLE} "
            f"BEGIN SELECT RAISE(ABORT, 'a sealed row of {TABLE} cannot be changed ({operation} refused)'); END"
        )


def remove_sql(vendor):
    if vendor == "postgresql":
        yield f"DROP TRIGGER IF EXISTS {TABLE}_sealed ON {TABLE}"
        return
    for operation in ("update", "delete"):
        yield f"DROP TRIGGER IF EXISTS {TABLE}_sealed_{operation}"


def install(apps, schema_editor):
    for statement in install_sql(schema_editor.connection.vendor):
        schema_editor.execute(statement, params=None)


def remove(apps, schema_editor):
    for statement in remove_sql(schema_editor.connection.vendor):
        schema_editor.execute(statement, params=None)


class Migration(migrations.Migration):
    dependencies = [("operations", "0001_initial"), ("ledger", "0002_guard_sealed_rows")]
    operations = [migrations.RunPython(install, remove)]
