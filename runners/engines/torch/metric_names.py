"""How the names of this engine's Prometheus series begin: its server writes them, its adapter maps them."""

PREFIX = "assay_torch"
