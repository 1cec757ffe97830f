# `make` is format, generate, check, test. Each target does its own set-up in .venv; nothing global is touched.
#   make test PYTHON=python3.13 VENV=.venv-3.13     with another interpreter, 3.10 to 3.13
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: all format generate check test lint types clean
.DEFAULT_GOAL := all

all: format generate check test

# The environment is made anew where pyproject.toml is newer than it.
$(READY): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 10) <= sys.version_info[:2])' || { echo "watchkeeper needs Python 3.10 or newer: make PYTHON=python3.x" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@

format: $(READY)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

generate: $(READY)
	$(BIN)/watchkeeper generate

check: $(READY) lint types
	$(BIN)/watchkeeper check
	$(BIN)/watchkeeper generate --check

lint: $(READY)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

types: $(READY)
	$(BIN)/mypy

test: $(READY)
	$(BIN)/python -m pytest

clean:
	rm -rf .venv* dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
