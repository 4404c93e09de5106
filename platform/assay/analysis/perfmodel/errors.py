"""Refusals of the performance model: the field, the value seen, the values allowed, what to do."""

from runners.protocol.errors import Refused


class ModelRefused(Refused):
    """A structure, format or condition that the model does not understand. Nothing is guessed instead."""
