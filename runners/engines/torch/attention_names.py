"""Names of this engine's attention, apart from its code so that reading a trace needs no torch."""

IMPLEMENTATION = "assay_paged"
ANNOTATION = "assay::paged_attention"
