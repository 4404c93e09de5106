"""What keeps a run of all tests short: properties tried briefly, and a collector with less to look at."""

import gc
import os

import hypothesis

# of a property that names no number itself; the soak run searches long
EXAMPLES = 300 if os.environ.get("ASSAY_SOAK") == "1" else 40


def bound_examples() -> None:
    hypothesis.settings.register_profile("assay", max_examples=EXAMPLES)
    hypothesis.settings.load_profile("assay")


def forget_what_stays() -> None:
    """Thousands of collected tests and their modules stay to the end: no collection need walk them."""
    gc.collect()
    gc.freeze()
