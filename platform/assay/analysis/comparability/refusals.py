"""Why numbers of two runs are not compared at all: each a finding with what would make it possible.

A confounder is no refusal: the numbers are shown, and the difference belongs to nothing. Here stand the cases
in which there is no difference to speak of.
"""

from collections.abc import Iterator, Sequence

from assay.analysis.comparability.fields import FieldPair, IdentityPair
from assay.analysis.comparability.record import SEALED, RunRecord
from assay.analysis.comparability.sides import Side
from experiments.diff import COMPLETE_INPUT_DIFFERS, Verdict
from experiments.errors import Finding

CALL_TYPE = "workload.call_type"
BOUNDARY = "boundary."
_INPUT_PARTS = ("artifact.tokenizer.", "artifact.chat_template.", "artifact.tools.")


def run_refusals(runs: Sequence[RunRecord]) -> Iterator[Finding]:
    """Runs without numbers, with numbers of a part of their plan, or read by another definition."""
    for run in runs:
        if run.state != SEALED:
            yield Finding(
                field=f"run {run.name}",
                seen=run.state,
                allowed=SEALED,
                remedy="What it recorded is a part of its plan, or nothing: repeat it (assay run).",
            )
        elif run.definition_version is None:
            yield Finding(
                field=f"run {run.name}",
                seen=run.no_reading or "not interpreted",
                allowed="a run whose bundle was read",
                remedy="Wait for its interpretation, or import its bundle again.",
            )
    versions = {run.definition_version for run in runs if run.definition_version}
    if len(versions) > 1:
        yield Finding(
            field="definition version",
            seen="; ".join(f"{run.name}: {run.definition_version}" for run in runs),
            allowed="one definition version that every run was read by",
            remedy="Equal names of two definitions are no equal metric: read the older bundle anew.",
        )


def pair_refusals(left: Side, right: Side, identity: IdentityPair) -> Iterator[Finding]:
    """What the two identities do not allow, whatever was measured."""
    for words in identity.unreadable:
        yield Finding(
            field="declaration",
            seen=words,
            allowed="declarations that this version of Assay reads",
            remedy="Compare them with the version that wrote them, or a later one.",
        )
    yield from _boundary(left, right, identity.fields)
    call_type = next((f for f in identity.fields if f.path == CALL_TYPE), None)
    if call_type is not None and call_type.verdict is not Verdict.same:
        yield Finding(
            field=CALL_TYPE,
            seen=f"{left.letter} {call_type.left}, {right.letter} {call_type.right}",
            allowed="one type of call",
            remedy="Scoring and generation share no metric: compare runs of one of them.",
        )
    changed = _changed_input(identity.fields)
    if len(changed) > 1:
        yield Finding(
            field="model input",
            seen=f"{COMPLETE_INPUT_DIFFERS} ({left.letter} and {right.letter}: {', '.join(changed)})",
            allowed="at most one of tokenizer, chat template and tool definitions changed",
            remedy="Change one of them at a time: no part of a difference belongs to one of several.",
        )


def _boundary(left: Side, right: Side, fields: Sequence[FieldPair]) -> Iterator[Finding]:
    for pair in fields:
        if not pair.path.startswith(BOUNDARY) or pair.verdict is Verdict.same:
            continue
        yield Finding(
            field=pair.path,
            seen=f"{left.letter} {pair.left}; {right.letter} {pair.right}"
            + (f" ({pair.note})" if pair.verdict is Verdict.unknown else ""),
            allowed="one definition of the system under test",
            remedy="A gain counts only within the boundary in which it was measured: measure both in one.",
        )


def _changed_input(fields: Sequence[FieldPair]) -> list[str]:
    """Parts of the model's input that are known to differ; one that is not known is a condition."""
    differs = (Verdict.confounder, Verdict.declared_variable)
    return [
        part.removeprefix("artifact.").rstrip(".").replace("_", " ")
        for part in _INPUT_PARTS
        if any(f.path.startswith(part) and f.verdict in differs for f in fields)
    ]
