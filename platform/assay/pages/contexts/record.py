"""Can somebody who was not there interpret this record, and to which level can it be reproduced?"""

from dataclasses import dataclass
from uuid import UUID

import polars as pl
from django.http import Http404
from django.utils.translation import gettext as _

from assay.accounts.access import Access
from assay.analysis.errors import ClaimRefused
from assay.analysis.perfmodel.errors import ModelRefused
from assay.analysis.perfmodel.request_shape import RequestTokens, check_transfer
from assay.analysis.record_completeness import Item, Measured, missing, record_items
from assay.analysis.repetition.comparison import Verdict, compare
from assay.analysis.repetition.levels import LevelEvidence, claim_level, numeric
from assay.archive.derived_schemas import ATTEMPTS
from assay.archive.readers import Bundle
from assay.archive.repeated import outputs, setting
from assay.ledger.models import Measure, Run
from assay.ledger.visibility import visible_runs
from assay.pages.contexts.head import RunHead, run_head
from assay.pages.joined import OUTPUT_TOKENS
from experiments.errors import Refusal
from experiments.migrations import migrate
from experiments.schema.artifact import ReproducibilityLevel

MOST_COMPARED = 2_000  # attempts whose bytes are read for a page; more are for ``assay repeat``
SHOWN_RUNS = 25


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordPart:
    """``problem``: why the items could not be read at all."""

    items: list[Item]
    missing: list[str]
    problem: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Reproduced:
    """The level that the artifact claims, and what the chosen repetition shows of it."""

    claimed: str
    repeats: list[Run]
    chosen: Run | None
    equal: int
    different: int
    unknown: int
    shown: LevelEvidence | None
    refused: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Transfer:
    """What the measured shape says of another one."""

    input_tokens: int | None
    output_tokens: int | None
    side: str
    asked_input: int | None
    asked_output: int | None
    refused: str


def record_part(head: RunHead) -> RecordPart:
    try:
        spec = migrate(head.spec)
        items = record_items(spec, _measured(head))
    except Refusal as refusal:  # another client's run declares nothing of ours
        problem = _("the declaration cannot be read: {why}").format(why=refusal.findings[0])
        return RecordPart(items=[], missing=[], problem=problem)
    except (KeyError, TypeError) as error:
        problem = _("the declaration does not hold {name}").format(name=error)
        return RecordPart(items=[], missing=[], problem=problem)
    return RecordPart(items=items, missing=missing(items), problem="")


def _measured(head: RunHead) -> Measured:
    path = head.reading.table(ATTEMPTS) if head.reading else None
    if path is None:
        return Measured()
    completed = pl.scan_parquet(path).filter(pl.col("client_state") == "completed")
    inputs, produced, cached = (
        completed.select(
            pl.col("prompt_tokens").count(), OUTPUT_TOKENS.count(), pl.col("cached_tokens").count()
        )
        .collect()
        .row(0)
    )
    rules = Measure.objects.filter(interpretation=head.interpretation, value__isnull=False)
    timed = [
        r for r in rules.values_list("rule", flat=True).distinct() if r.startswith(("ttft", "tpot"))
    ]
    return Measured(
        input_lengths=inputs,
        output_lengths=produced,
        cached_tokens_known=cached > 0,
        timing_rules=sorted(set(timed)),
    )


def reproduced(head: RunHead, access: Access, asked: str) -> Reproduced:
    """``asked`` names the repetition to compare with; its bytes are read then, and only then."""
    document = head.folder.identity() if head.folder else None
    artifact = document["artifact"] if document else None
    claimed = str((artifact["reproducibility"] or {}).get("claimed") or "") if artifact else ""
    same = visible_runs(access).filter(spec_digest=head.run.spec_digest, state="sealed")
    repeats = list(
        same.exclude(pk=head.run.pk).select_related("study").order_by("-created_at")[:SHOWN_RUNS]
    )
    chosen = _chosen(asked, repeats)
    made = Reproduced(
        claimed=claimed, repeats=repeats, chosen=chosen, equal=0, different=0, unknown=0,
        shown=None, refused="",
    )  # fmt: skip
    return _compared(head, made) if chosen else made


def _chosen(asked: str, repeats: list[Run]) -> Run | None:
    if not asked:
        return None
    try:
        wanted = UUID(asked)
    except ValueError:
        wanted = None
    found = next((run for run in repeats if run.pk == wanted), None)
    if found is None:
        raise Http404(_("there is no such repetition of this run"))
    return found


def _compared(head: RunHead, made: Reproduced) -> Reproduced:
    assert made.chosen is not None
    other = run_head(made.chosen.pk, head.tab)
    if head.folder is None or other.folder is None:
        return _refused(made, _("the bundle of one of the two is not on this machine"))
    bundles = [Bundle(folder.folder) for folder in (head.folder, other.folder)]
    if max(len(bundle.attempt_ids()) for bundle in bundles) > MOST_COMPARED:
        command = f"assay repeat {head.run.pk} --with {made.chosen.pk}"
        return _refused(made, _("too many attempts for a page: {command}").format(command=command))
    was, now = bundles
    found = compare(outputs(was), outputs(now))
    counted = {verdict: found.count(verdict) for verdict in Verdict}
    level = ReproducibilityLevel(made.claimed) if made.claimed else ReproducibilityLevel.numeric
    shown, refused = None, ""
    try:
        evidence = [_inputs(head, other)]
        if level is ReproducibilityLevel.numeric:
            evidence.append(numeric(setting(was), setting(now), found))
        shown = claim_level(level, evidence)
    except ClaimRefused as refusal:
        refused = str(refusal)
    return Reproduced(
        claimed=made.claimed,
        repeats=made.repeats,
        chosen=made.chosen,
        equal=counted[Verdict.equal],
        different=counted[Verdict.different],
        unknown=counted[Verdict.unknown],
        shown=shown,
        refused=refused,
    )


def _inputs(head: RunHead, other: RunHead) -> LevelEvidence:
    """The same bytes served, and the same input token ids planned."""
    artifacts = [one.run.artifact.digest if one.run.artifact else None for one in (head, other)]
    plans = [one.bundle.plan_digest if one.bundle else None for one in (head, other)]
    held = all(pair[0] and pair[0] == pair[1] for pair in (artifacts, plans))
    words = "the same" if held else "not the same, or not known,"
    return LevelEvidence(
        level=ReproducibilityLevel.input,
        held=held,
        words=f"{words} artifact digest and plan digest (input token ids) in both runs",
    )


def _refused(made: Reproduced, why: str) -> Reproduced:
    return Reproduced(
        claimed=made.claimed, repeats=made.repeats, chosen=made.chosen, equal=0, different=0,
        unknown=0, shown=None, refused=why,
    )  # fmt: skip


def transfer(head: RunHead, asked_input: str, asked_output: str) -> Transfer:
    """Median real token counts of completed attempts, held against the asked ones."""
    given = [
        int(t) if t.isascii() and t.isdigit() and len(t) < 9 else None
        for t in (asked_input, asked_output)
    ]
    path = head.reading.table(ATTEMPTS) if head.reading else None
    seen: tuple[float | None, float | None] = (None, None)
    if path is not None:
        completed = pl.scan_parquet(path).filter(pl.col("client_state") == "completed")
        seen = (
            completed.select(pl.col("prompt_tokens").median(), OUTPUT_TOKENS.median())
            .collect()
            .row(0)
        )
    if seen[0] is None or seen[1] is None:
        return Transfer(
            input_tokens=None, output_tokens=None, side="", asked_input=given[0],
            asked_output=given[1], refused="",
        )  # fmt: skip
    measured = RequestTokens(input_tokens=round(seen[0]), output_tokens=round(seen[1]))
    refused = ""
    if given[0] is not None and given[1] is not None:
        try:
            check_transfer(measured, RequestTokens(input_tokens=given[0], output_tokens=given[1]))
        except ModelRefused as refusal:
            refused = str(refusal)
    return Transfer(
        input_tokens=measured.input_tokens,
        output_tokens=measured.output_tokens,
        side=measured.side.value,
        asked_input=given[0],
        asked_output=given[1],
        refused=refused,
    )
