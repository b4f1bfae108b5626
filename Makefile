# Everything runs from .venv, which `install` makes; no target needs it to be active.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
ROOMS := compiler passes simulator

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help install demo readme test test-all lint bench clean FORCE

help: ## print this
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

install: $(VENV)/installed ## create .venv and install xpu-shark with its test and lint tools

demo: $(VENV)/installed ## compile a transformer block and show what limits each dispatch
	@examples/demo.sh $(BIN)

readme: demo ## put the demo's log into README.md
	@$(BIN)/python examples/readme_log.py

test: $(VENV)/installed ## run the tests, but for the slow ones
	$(BIN)/python -m pytest -m "not slow"

test-all: $(VENV)/installed ## run all tests
	$(BIN)/python -m pytest

lint: $(VENV)/installed ## check style and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(VENV)/installed ## run the benchmarks
	@for script in $(wildcard benchmarks/bench_*.py); do \
	  echo "$$script"; $(BIN)/python "$$script" || exit 1; done

clean: ## remove .venv and everything built
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis *.egg-info
	find $(ROOMS) tests -name __pycache__ -prune -exec rm -rf {} +

# The editable install links file by file, so a new, moved or deleted file needs another one.
$(VENV)/installed: pyproject.toml $(VENV)/sources | $(BIN)/python
	@echo "Installing xpu-shark with its tools into $(VENV); the first time takes a minute or two."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check \
	  --config-settings editable_mode=strict --editable ".[test,lint]"
	@touch $@

$(VENV)/sources: FORCE | $(BIN)/python
	@find $(ROOMS) -name __pycache__ -prune -o -type f -print | LC_ALL=C sort > $@.new
	@if cmp -s $@.new $@; then rm $@.new; else mv $@.new $@; fi

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "make: $(PYTHON) is older than 3.11; say make PYTHON=python3.11"; exit 1; }
	$(PYTHON) -m venv $(VENV)
