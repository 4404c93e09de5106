"""Who sits at this machine, by the system's word: the same name in studies and in accounts. No Django."""

import getpass

LONGEST = 150  # of a name in Django


def local_name() -> str:
    try:
        return getpass.getuser()[:LONGEST]
    except (OSError, KeyError, ImportError):
        return "local"
