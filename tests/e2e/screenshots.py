"""Draw ``docs/screenshots`` anew: ``python -m tests.e2e.screenshots [HOME [BEGINNING-OF-NAMES]]``.

Shows the newest sealed run of HOME (default: ``ASSAY_HOME``, else ``var/``). When there is none, the example
study is run first, on the real model. Nothing made up is ever drawn.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import polars as pl
from playwright.sync_api import Browser, sync_playwright

from tests.e2e import site as sites
from tests.e2e.site import CHECKOUT, Site

TARGET = CHECKOUT / "docs" / "screenshots"
STUDY = "smollm2_torch"
PAGES = {
    "home": "/",
    "runs": "/runs",
    "overview": "/runs/{run}",
    "identity": "/runs/{run}/identity",
    "timeline": "/runs/{run}/timeline",
    "ledgers": "/runs/{run}/ledgers",
    "latency": "/runs/{run}/latency",
    "residuals": "/runs/{run}/residuals",
    "evidence": "/runs/{run}/evidence",
    "request": "/runs/{run}/attempts/{attempt}",
    "study": "/studies/{study}",
    "artifact": "/artifacts/{artifact}",
    "models": "/models",
    "model": "/models/Qwen__Qwen3-Next-80B-A3B-Instruct?device=H200-SXM&batch=16",
    "fits": "/models/fits?context=8192&batch=4",
    "diagnosis": "/runs/{run}/diagnosis",
    "launch": "/launch?study=smollm2_torch",
    "reviews": "/reviews/new?run={run}",
    "schedules": "/schedules",
    "engines": "/engines/vllm",
}
# Beside the run before it, where the home has one.
PAIR_PAGES = {"compare": "/compare?run={run}&run={other}"}
# Of the newest sealed vLLM run, where the home has one.
VLLM_PAGES = {
    "vllm-overview": "/runs/{vllm}",
    "vllm-identity": "/runs/{vllm}/identity",
    "vllm-timeline": "/runs/{vllm}/timeline",
    "vllm-ledgers": "/runs/{vllm}/ledgers",
}
IN_EVERY_WAY = ("home", "runs", "overview", "timeline", "ledgers")  # the others at 1440 px, light
HEIGHTS = {1440: 1100, 390: 1200}

_FIND = """
import json, os
os.environ["DJANGO_SETTINGS_MODULE"] = "assay.settings"
import django
django.setup()
from django.db.models import Count
from assay.ledger.models import Interpretation, Study
found = Interpretation.objects.filter(bundle__state="sealed", bundle__run__isnull=False)
newest = found.order_by("-created_at").select_related("bundle__run__artifact").first()
other = found.exclude(bundle__run=newest and newest.bundle.run).order_by("-created_at").first()
vllm = found.filter(bundle__run__engine_key="vllm").order_by("-bundle__sealed_at").first()
widest = Study.objects.annotate(n=Count("runs__bundles")).order_by("-n", "-created_at").first()
print(json.dumps(newest and {
    **({"other": str(other.bundle.run_id)} if other else {}),
    **({"vllm": str(vllm.bundle.run_id)} if vllm else {}),
    "run": str(newest.bundle.run_id), "study": str(widest.pk),
    "artifact": newest.bundle.run.artifact.digest, "reading": newest.definition_version,
    "bundle": newest.bundle_id}))
"""


def main(arguments: list[str]) -> int:
    home = Path(arguments[0] if arguments else os.environ.get("ASSAY_HOME", CHECKOUT / "var"))
    home = home.resolve()
    home.mkdir(parents=True, exist_ok=True)
    sites.python(home, "manage.py", "migrate", "--verbosity", "0")
    if newest(home) is None:
        run_example(home)
    sites.python(home, "manage.py", "collectstatic", "--noinput", "--verbosity", "0")
    ids = newest(home)
    if ids is None:
        print(f"error: no sealed run in {home} after `assay run study={STUDY}`", file=sys.stderr)
        return 1
    TARGET.mkdir(parents=True, exist_ok=True)
    with sites.serving(home, ids) as site, sync_playwright() as playwright:
        browser = sites.chromium(playwright)
        for width in (1440, 390):
            for scheme in ("light", "dark"):
                draw(browser, site, width, scheme, only="".join(arguments[1:2]))
        browser.close()
    print(f"{len(list(TARGET.glob('*.png')))} screenshots in {TARGET}")
    return 0


def newest(home: Path) -> dict[str, str] | None:
    """Ids of the newest interpreted run, and of the request that shows most: one that was cancelled."""
    found: dict[str, str] | None = json.loads(sites.python(home, "-c", _FIND))
    if found is None:
        return None
    table = home / "derived" / found["bundle"] / found["reading"] / "attempts.parquet"
    attempts = pl.read_parquet(table, columns=["attempt_id", "client_state"])
    odd = attempts.sort(pl.col("client_state") == "completed", maintain_order=True)
    return {**found, "attempt": odd["attempt_id"][0]}


def run_example(home: Path) -> None:
    command = [sys.executable, "-m", "assay.cli.main", "run", f"study={STUDY}"]
    subprocess.run(command, env=sites.environment(home), cwd=CHECKOUT, check=True)


def draw(browser: Browser, site: Site, width: int, scheme: str, *, only: str) -> None:
    context = browser.new_context(
        viewport={"width": width, "height": HEIGHTS[width]},
        color_scheme=scheme,  # type: ignore[arg-type]
    )
    window = sites.watch(context, site)
    shown = dict(PAGES)
    shown |= VLLM_PAGES if "vllm" in site.ids else {}
    shown |= PAIR_PAGES if "other" in site.ids else {}
    for name, path in shown.items():
        if (width, scheme) != (1440, "light") and name not in IN_EVERY_WAY:
            continue
        if not name.startswith(only):
            continue
        page = window.open(path.format(**site.ids))
        if name.endswith("identity"):
            page.locator("a.chip[data-strength=log]").first.click()
            page.locator(".quote").first.wait_for()
        page.screenshot(path=TARGET / f"{name}-{width}-{scheme}.png")
    context.close()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
