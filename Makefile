# `make` alone says what there is. Everything sets itself up first: Python 3.11 or newer, and pip or uv, are enough.
PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11; do command -v $$p && break; done)
RUN := .venv/bin/python -m
ARGS ?=

.DEFAULT_GOAL := help
.PHONY: help lab tour test test-all versions lint notebooks bench chaos failover pictures lock clean runtime dev

help: ## this list
	@echo "usage: make TARGET [ARGS=...]"
	@sed -n 's/^\([a-z-]*\):.* ## \(.*\)/  \1\t\2/p' $(MAKEFILE_LIST) | expand -t 14

lab: runtime ## open the notebooks in JupyterLab
	@$(RUN) jobkit lab $(ARGS)

tour: runtime ## run every notebook without a browser, into tour/ (some: ARGS="01 08")
	@$(RUN) jobkit tour $(ARGS)

test: dev ## the tests (some: ARGS="tests/setup -k lock")
	@$(RUN) pytest -n logical $(ARGS)

test-all: dev ## the tests, slow ones too
	@$(RUN) pytest -n logical -m "slow or not slow" $(ARGS)

versions: dev ## the tests of behaviour on other servers and other redis-py (some: ARGS="--servers 7.0 --clients 5")
	@.venv/bin/python tools/versions.py $(ARGS)

lint: dev ## style, types, and who may import whom
	@.venv/bin/ruff check
	@.venv/bin/ruff format --check
	@$(RUN) mypy
	@.venv/bin/lint-imports --no-logo

chaos: runtime ## the long campaign for each ready store: 200 kills, 5 restarts (shorter: ARGS="--jobs 500 --kills 10")
	@$(RUN) jobkit chaos --store all --jobs 10000 --kills 200 --redis-restarts 5 $(ARGS)

notebooks: dev ## run the notebooks' sources anew and store them with their outputs (some: ARGS=08)
	@$(RUN) jobkit store $(ARGS)

bench: dev ## measure how fast the queue is, and how much room a job takes
	@$(RUN) benchmarks $(ARGS)

failover: dev ## kill the masters of a Redis Cluster under load, and see what is lost (shorter: ARGS="--runs 1")
	@$(RUN) benchmarks.failover $(ARGS)

pictures: runtime ## draw the README's picture anew
	@$(RUN) jobkit.plot.readme docs/pictures/worker_dies.png

lock: ## lock every dependency anew (newest: ARGS=--upgrade)
	@$(PYTHON) tools/bootstrap.py lock $(ARGS)

clean: ## remove what was made: environments, caches, executed copies
	rm -rf .venv .tools .jupyter tour build dist .*_cache .hypothesis
	find . -name __pycache__ -prune -exec rm -rf {} +

runtime dev:
	@$(if $(PYTHON),$(PYTHON),echo "jobkit needs Python 3.11 or newer, and finds no python3 on PATH" >&2; false) tools/bootstrap.py $@
