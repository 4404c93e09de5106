"""What a bundle's documents say to the reading: levels, contract, release, identity, gaps, predictions."""

from collections.abc import Sequence
from typing import Any, cast

from assay.analysis.errors import ClaimRefused
from assay.analysis.gaps import gap
from assay.analysis.ledgers.contract import IMPLIED, Contract, contract_of
from assay.analysis.ledgers.resource import ProcessRelease
from assay.analysis.levels import Levels
from assay.analysis.load_windows import LoadShape, Stage
from assay.analysis.metrics.client import send_lag
from assay.analysis.rates import ServiceLevels
from assay.analysis.registered import check_registered
from assay.analysis.wire.attempt import Attempt
from assay.archive.readers import Bundle, SessionRow
from runners.protocol import layout, manifest
from runners.protocol.documents import Gap, IdentityItem, PredictionsDocument
from runners.protocol.events import ReleaseLevel, ReleaseState, ResourceLimit, Segment, SessionEvent

# How a drive says that the last stage of its closed loop was over; what was left was never to be sent.
_PROFILE_DONE = "profile_done"


def levels(bundle: Bundle) -> Levels:
    """The deepest level of the observation points on each side; E0 points make E0 statements."""
    points = (bundle.document(layout.OBSERVATION) or {}).get("points") or []
    client = [p["level"] for p in points if p.get("perspective") == "client" and p.get("level")]
    server = [
        p["level"]
        for p in points
        if p.get("perspective") == "server" and str(p.get("layer", "")).startswith("engine")
    ]
    if not points:
        return Levels(client=ResourceLimit.E1, server=ResourceLimit.E1)
    client_level = max(client, default=ResourceLimit.E1.value)
    return Levels(client=client_level, server=max(server, default=client_level))


def contract(bundle: Bundle) -> Contract:
    """The declared contract; it was frozen into ``spec.json`` before the run."""
    declared = (bundle.document(layout.SPEC) or {}).get("contract")
    return contract_of(declared) if isinstance(declared, dict) else IMPLIED


def service_levels(bundle: Bundle) -> ServiceLevels:
    declared = (bundle.document(layout.SPEC) or {}).get("contract") or {}
    slo = declared.get("slo") or {}
    return ServiceLevels(ttft_s=slo.get("ttft_s"), tpot_s=slo.get("tpot_s"))


def load_shape(bundle: Bundle, session: Sequence[SessionRow]) -> LoadShape:
    """The declared load, with what its drive said of stages and of requests left in the pool."""
    load = (bundle.document(layout.SPEC) or {}).get("load") or {}
    report = _load_report(session)
    stages = [s for s in report.get("stages") or () if s["to_ns"] > s["from_ns"]]
    is_closed = load.get("kind") == "closed" or any(s["concurrency"] for s in stages)
    return LoadShape(
        concurrency=load.get("concurrency"),
        open_loop=bool(load.get("kind")) and not is_closed,
        kind=load.get("kind"),
        thinks=bool(load.get("think_time_s")),
        stages=tuple(
            Stage(
                from_ns=s["from_ns"] - bundle.origin_ns,
                to_ns=s["to_ns"] - bundle.origin_ns,
                concurrency=s["concurrency"],
            )
            for s in stages
        ),
        withheld=report["not_created"] if report.get("stop_reason") == _PROFILE_DONE else 0,
    )


def _load_report(session: Sequence[SessionRow]) -> dict[str, Any]:
    for row in session:
        if row.event == SessionEvent.segment_end and row.fields.get("segment") == Segment.load:
            return dict(row.fields.get("report") or {})
    return {}


def client_limited(bundle: Bundle, attempts: Sequence[Attempt]) -> str | None:
    """The sentence that the load client itself was late beyond the declared bound; None if it was not."""
    load = (bundle.document(layout.SPEC) or {}).get("load") or {}
    bound = load.get("max_send_lag_s")
    if bound is None:
        return None
    lags = [lag for a in attempts if isinstance(lag := send_lag(a, None), float)]
    if not lags or max(lags) <= bound:
        return None
    late = sum(lag > bound for lag in lags)
    return (
        f"the client was late: {late} of {len(lags)} sends more than {bound:g} s after their time, "
        f"the latest by {max(lags):.3f} s"
    )


def context_location(bundle: Bundle) -> str | None:
    """Where the declaration says that the context of a conversation lives."""
    workload = (bundle.document(layout.SPEC) or {}).get("workload") or {}
    return workload.get("context_location")


def client_error(bundle: Bundle) -> dict[str, Any]:
    """What the run kept on its client's own error; empty where nothing was."""
    return dict((bundle.document(layout.CLOCKS) or {}).get("client_error") or {})


def host_disturbed(bundle: Bundle) -> str | None:
    """The sentence that others held the cores in the measured phase; None if not, or if nobody looked."""
    seen = client_error(bundle).get("disturbance") or {}
    if not seen.get("disturbed"):
        return None
    return (
        f"other processes used {seen['others_cores_mean']:.2f} cores in the measured phase "
        f"(bound: {seen['bound_cores']:g})"
    )


def process_release(bundle: Bundle, session: Sequence[SessionRow]) -> ProcessRelease | None:
    """The runner's own check that every engine process is gone; the kernel takes back all they held."""
    for row in session:
        fields = row.fields
        if (
            row.event == SessionEvent.release_check
            and fields.get("level") == ReleaseLevel.process_returned
            and fields.get("state") == ReleaseState.released
            and fields.get("check") == "processes"
        ):
            return ProcessRelease(
                t_ns=row.t_ns,
                clock_domain=str(fields.get("clock_domain") or bundle.client_domain),
                evidence=row.evidence,
            )
    return None


def identity_items(bundle: Bundle) -> list[IdentityItem]:
    found = (bundle.document(layout.IDENTITY) or {}).get("run") or []
    return cast("list[IdentityItem]", found)


def weight_file_bytes(bundle: Bundle) -> int | None:
    """Bytes of the verified artifact files on disk."""
    artifact = (bundle.document(layout.IDENTITY) or {}).get("artifact") or {}
    sizes = [f["bytes"] for f in artifact.get("files") or []]
    return sum(sizes) if sizes else None


def registered_predictions(
    bundle: Bundle, session: Sequence[SessionRow]
) -> tuple[PredictionsDocument | None, list[Gap]]:
    """Predictions that were registered before launch with the digest they still have; else none, and why.

    A prediction that appears after the run began is no prediction.
    """
    document = bundle.document(layout.PREDICTIONS)
    if document is None:
        return None, []
    problem = _registration_problem(bundle, session)
    if problem is not None:
        return None, [
            gap(
                f"predictions are not used: {problem}",
                affects="every residual",
                needed="predictions registered with their digest before launch",
            )
        ]
    return cast("PredictionsDocument", document), []


def _registration_problem(bundle: Bundle, session: Sequence[SessionRow]) -> str | None:
    document = bundle.document(layout.PREDICTIONS) or {}
    lacking = [name for name in ("parameters", "predictions") if name not in document]
    if lacking:
        return f"predictions.json lacks {', '.join(lacking)}"
    digest = manifest.sha256_of(bundle.folder / layout.PREDICTIONS)
    try:
        absent = check_registered([row.fields for row in session], digest)
    except ClaimRefused as refusal:
        return f"{refusal.finding.field} {refusal.finding.seen}"
    return absent.reason if absent is not None else None


def recorded_gaps(bundle: Bundle, session: Sequence[SessionRow]) -> list[Gap]:
    """Gaps that others stated: the artifact's, the runner's, and blobs withheld from this copy."""
    artifact: dict[str, Any] = (bundle.document(layout.IDENTITY) or {}).get("artifact") or {}
    found = [cast("Gap", g) for g in artifact.get("gaps") or []]
    found += [
        Gap(
            what=str(row.fields.get("what")),
            affects=str(row.fields.get("affects")),
            needed=str(row.fields.get("needed")),
            state=str(row.fields.get("state", "open")),
        )
        for row in session
        if row.event == SessionEvent.gap
    ]
    if withheld := bundle.withheld:
        found.append(
            gap(
                f"withheld from this copy: {', '.join(withheld)[:200]}",
                affects="content, and every reading of the wire",
                needed="a copy with these blobs",
            )
        )
    return found
