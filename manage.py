#!/usr/bin/env python
"""Django's entry, plus one path line."""

import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent
sys.path.insert(0, str(ROOT / "platform"))  # this checkout's assay, never another install's


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "assay.settings")
    from django.core.management import execute_from_command_line

    execute_from_command_line(sys.argv)


if __name__ == "__main__":
    main()
