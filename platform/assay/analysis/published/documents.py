"""The comparison as JSON: what a page or a script reads. Times in seconds, rates in token/s."""

from typing import TypedDict

from runners.protocol.documents import Parameter

KIND = "assay-published-comparison"


class Estimates(TypedDict):
    """One row's estimates by what the parameters were fitted on, and each one's relative error.

    ``error`` = (estimate - measured) / measured, as public tools state theirs.
    """

    before_any_fit_s: float
    all_rows_s: float | None  # None: the row is never fitted
    model_left_out_s: float
    section_left_out_s: float
    before_any_fit_error: float
    all_rows_error: float | None
    model_left_out_error: float
    section_left_out_error: float
    validity: str  # of the estimate without the row's model
    beyond: list[str]
    shares: dict[str, float]  # of the estimate without the model, by parameter


class RowResult(TypedDict):
    """One row. ``measured_s`` is the time of a step, whatever figure the source printed."""

    id: str
    section: str
    source: str
    quality: str
    judged: str
    model: str
    config: str
    config_reason: str | None
    device: str
    device_reason: str | None
    engine: str
    precision: str | None
    layout: str
    layout_from: str | None
    batch: int | None
    batch_from: str | None
    context_tokens: int | None
    context_from: str | None
    measured: dict[str, float]
    measured_s: float | None
    bound_s: float | None
    bound_over_measured: float | None
    published_bound_s: float | None
    verdict: str | None
    used: str  # fitted | checked | bound only | not judged
    estimates: Estimates | None
    ttft_s: float | None
    ttft_estimate_s: float | None
    reason: str | None
    remark: str | None


class GrantedRow(TypedDict):
    id: str
    granted_blocks: int
    estimated_blocks: int
    error: float
    implied_remainder_bytes: int
    assumed_remainder_bytes: int


class ClaimRow(TypedDict):
    id: str
    claimed_tokens_per_s: float
    verdict: str
    reason: str
    bound_s: float
    tokens_per_s_at_most: float
    conditions: list[str]


class PlaceRow(TypedDict):
    """Where a fitted row lies."""

    device: str
    engine: str
    tensor: int
    expert: int
    data: int
    rows: int
    context: int


class ErrorSummary(TypedDict):
    """Distribution of absolute relative errors."""

    n: int
    median: float
    p90: float
    worst: float
    worst_row: str


class Comparison(TypedDict):
    kind: str
    format: int
    formula: str
    error_definition: str
    parameters: list[Parameter]
    places: list[PlaceRow]  # of the fitted rows
    held_out_ratios: list[float]  # measured over estimated without the row's model, in rising order
    inseparable: list[str]
    errors: dict[str, ErrorSummary]
    errors_by_section: dict[str, ErrorSummary]  # of the estimates without the row's model
    rows: list[RowResult]
    granted: list[GrantedRow]
    claims: list[ClaimRow]
    assumptions: list[str]
