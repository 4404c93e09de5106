"""Rows drawn from a sealed bundle never change: the database itself refuses, whoever asks.

A run keeps its spec and its accepted execution once it has one; the other tables are append-only.
SQLite drops triggers when Django rebuilds a table: a later migration that alters one must install them again
(tests/assay/ledger/test_guards.py fails otherwise).
"""

from django.db import migrations

APPEND_ONLY = (
    "ledger_bundle",
    "ledger_interpretation",
    "ledger_measure",
    "ledger_ledgercount",
    "ledger_gapentry",
    "ledger_residual",
)
RUN_COLUMNS = ("id", "study_id", "position", "repetition", "spec", "spec_digest", "state", "accepted_execution")

POSTGRES_FUNCTION = """
CREATE OR REPLACE FUNCTION assay_refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'a sealed row of % cannot be changed (% refused)', TG_TABLE_NAME, TG_OP
        USING ERRCODE = 'restrict_violation';
END $$
"""


def install_sql(vendor):
    if vendor == "postgresql":
        yield POSTGRES_FUNCTION
        for table in APPEND_ONLY:
            yield (
                f"CREATE TRIGGER {table}_sealed BEFORE UPDATE OR DELETE ON {table} "
                "FOR EACH ROW EXECUTE FUNCTION assay_refuse_change()"
            )
        changed = " OR ".join(f"OLD.{c} IS DISTINCT FROM NEW.{c}" for c in RUN_COLUMNS)
        yield (
            "CREATE TRIGGER ledger_run_sealed_update BEFORE UPDATE ON ledger_run FOR EACH ROW "
            f"WHEN (OLD.accepted_execution IS NOT NULL AND ({changed})) "
            "EXECUTE FUNCTION assay_refuse_change()"
        )
        yield (
            "CREATE TRIGGER ledger_run_sealed_delete BEFORE DELETE ON ledger_run FOR EACH ROW "
            "WHEN (OLD.accepted_execution IS NOT NULL) EXECUTE FUNCTION assay_refuse_change()"
        )
        return
    for table in APPEND_ONLY:
        for operation in ("UPDATE", "DELETE"):
            yield sqlite_trigger(table, operation, condition="1")
    changed = " OR ".join(f"OLD.{c} IS NOT NEW.{c}" for c in RUN_COLUMNS)
    sealed = "OLD.accepted_execution IS NOT NULL"
    yield sqlite_trigger("ledger_run", "UPDATE", condition=f"{sealed} AND ({changed})")
    yield sqlite_trigger("ledger_run", "DELETE", condition=sealed)


def sqlite_trigger(table, operation, *, condition):
    return (
        f"CREATE TRIGGER {table}_sealed_{operation.lower()} BEFORE {operation} ON {table} "
        f"WHEN {condition} BEGIN SELECT RAISE(ABORT, "
        f"'a sealed row of {table} cannot be changed ({operation} refused)'); END"
    )


def remove_sql(vendor):
    if vendor == "postgresql":
        for table in APPEND_ONLY:
            yield f"DROP TRIGGER IF EXISTS {table}_sealed ON {table}"
        yield "DROP TRIGGER IF EXISTS ledger_run_sealed_update ON ledger_run"
        yield "DROP TRIGGER IF EXISTS ledger_run_sealed_delete ON ledger_run"
        return
    for table in (*APPEND_ONLY, "ledger_run"):
        for operation in ("update", "delete"):
            yield f"DROP TRIGGER IF EXISTS {table}_sealed_{operation}"


def install(apps, schema_editor):
    for statement in install_sql(schema_editor.connection.vendor):
        schema_editor.execute(statement, params=None)


def remove(apps, schema_editor):
    for statement in remove_sql(schema_editor.connection.vendor):
        schema_editor.execute(statement, params=None)


class Migration(migrations.Migration):
    dependencies = [("ledger", "0001_initial")]
    operations = [migrations.RunPython(install, remove)]
