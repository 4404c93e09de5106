"""Why an attempt has no scheduled time, so that nothing can be said from the schedule."""

from enum import StrEnum


class Unscheduled(StrEnum):
    """The values are the reasons as they are shown."""

    closed_loop = "closed loop: the request had no scheduled time"
    follows = "it follows another request: it was due when that had ended, at no scheduled time"
    tried_again = "another try of its request: the schedule was for the first one"
    not_recorded = "no schedule was recorded; a closed loop has none"
