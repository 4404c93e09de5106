"""How compute threads wait for each other: alike in an engine and in the micro-benchmark that forecasts it.

Threads that spin at a barrier without limit burn the time that client and front end need (a decode step of
0.06 s took 2.9 s beside three busy processes); threads that sleep at once pay a wake-up for every matrix
product (30 ms became 47 ms a step). A short spin has neither: it covers the gap to the next product.
"""

import os

# libgomp reads it once, when it is loaded. 10,000 turns last about as long as a few small operators.
OPENMP_WAITING = {"GOMP_SPINCOUNT": "10000"}


def wait_as_engines_do() -> None:
    """Set the waiting of this process; to be called before torch is imported."""
    os.environ.update(OPENMP_WAITING)
