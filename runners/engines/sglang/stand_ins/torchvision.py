"""A stand-in: no build of torchvision fits torch's CPU build here, and a text model needs none of it."""

from assay_stand_in import stand_in  # type: ignore[import-not-found]

__version__ = "0.0.0"  # below whatever a version is asked for

__path__: list[str] = []  # modules below it are asked for too

stand_in(__name__)
