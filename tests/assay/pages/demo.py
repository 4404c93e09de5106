"""The made-up laboratory as an installation of its own, for browsers: ``ASSAY_HOME`` names where.

``make`` migrates, fills and prints the ids as JSON; ``end RUN`` ends a run; ``step RUN DONE`` moves one on.
"""

import json
import os
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from uuid import UUID

import django


def main(arguments: list[str]) -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "assay.settings")
    django.setup()
    verb, *rest = arguments
    verbs: dict[str, Callable[..., None]] = {"make": make, "end": end, "step": step}
    verbs[verb](*rest)


def make() -> None:
    from django.core.management import call_command

    from assay.archive.paths import home_from_environment
    from tests.assay.pages.factory import laboratory

    call_command("migrate", verbosity=0)
    call_command("collectstatic", interactive=False, verbosity=0)
    lab = laboratory(home_from_environment())
    ids = {
        "run": lab.run.pk,
        "another": lab.sweep[0].pk,
        "study": lab.study.pk,
        "artifact": lab.artifact.digest,
        **{state: run.pk for state, run in lab.by_state.items()},
    }
    print(json.dumps(ids, default=str))


def end(run: str) -> None:
    from tests.assay.pages import factory

    factory.end(UUID(run))


def step(run: str, done: str) -> None:
    from assay.execution.models import Execution

    execution = Execution.objects.get(run=UUID(run))
    line = {
        "t": datetime.now(UTC).isoformat(),
        "phase": "measure",
        "done": int(done),
        "total": 28,
        "message": f"load-{int(done):04d}.A1 completed, 48 tokens",
    }
    with (execution.out / "progress.jsonl").open("a", encoding="utf-8") as stream:
        stream.write(json.dumps(line) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
