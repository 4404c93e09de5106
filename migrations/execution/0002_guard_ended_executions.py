"""An execution that has ended keeps its row: its token is spent, its bundle named, its times fixed."""

from django.db import migrations

TABLE = "execution_execution"
ENDED = "OLD.ended_at IS NOT NULL"


def install_sql(vendor):
    if vendor == "postgresql":
        yield (
            f"CREATE TRIGGER {TABLE}_ended BEFORE UPDATE OR DELETE ON {TABLE} FOR EACH ROW "
            f"WHEN ({ENDED}) EXECUTE FUNCTION assay_refuse_change()"
        )
        return
    for operation in ("UPDATE", "DELETE"):
        yield (
            f"CREATE TRIGGER {TABLE}_ended_{operation.lower()} BEFORE {operation} ON {TABLE} "
            f"WHEN {ENDED} BEGIN SELECT RAISE(ABORT, "
            f"'a sealed row of {TABLE} cannot be changed ({operation} refused)'); END"
        )


def remove_sql(vendor):
    if vendor == "postgresql":
        yield f"DROP TRIGGER IF EXISTS {TABLE}_ended ON {TABLE}"
        return
    for operation in ("update", "delete"):
        yield f"DROP TRIGGER IF EXISTS {TABLE}_ended_{operation}"


def install(apps, schema_editor):
    for statement in install_sql(schema_editor.connection.vendor):
        schema_editor.execute(statement, params=None)


def remove(apps, schema_editor):
    for statement in remove_sql(schema_editor.connection.vendor):
        schema_editor.execute(statement, params=None)


class Migration(migrations.Migration):
    dependencies = [("execution", "0001_initial"), ("ledger", "0002_guard_sealed_rows")]
    operations = [migrations.RunPython(install, remove)]
