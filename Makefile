# Each target does its own set-up in $(VENV), from nothing; nothing global is touched.
#   make test PYTHON=python3.13 VENV=.venv-3.13     with another interpreter, 3.10 to 3.13
#   make test ARGS='-k runbook'                     more arguments for pytest
PYTHON ?= python3
VENV ?= .venv
PYTHONS ?= python3.10 python3.11 python3.12 python3.13
ARGS ?=
# What the evaluators are held against: Prometheus' corpus (see `make cases`), and servers (see `make differential`).
CASES ?= $(wildcard ../shared/promql/cases_*.jsonl)
PROMETHEUS ?= prometheus
PAIRS ?= 1000
SEED ?= 0
EXPRESSIONS ?= 100000
KILLS ?= 1000
ROUTINGS ?= 500
DAY ?= {}
SEQUENCES ?= 1000
FILES ?= 1000000
# How many times as fast as in real time the incidents are replayed.
SCALE ?= 1
BIN := $(VENV)/bin
# Someone else's repository, whose generated files are committed as well.
ACME := tests/downstream/acme
GENERATED := rules dashboards runbooks deploy watchkeeper.manifest $(ACME)

.PHONY: all format generate check lint types test cases differential soundness replay routing-verdicts trunk-day sync-sequences sync-faults systemd spool-kills spool-fuzz matrix bench clean help ready
.DEFAULT_GOAL := all
.NOTPARALLEL:

all: format generate check test ## format, generate, check, test

format: ready ## format the sources, mend what ruff can
	'$(BIN)/ruff' format .
	'$(BIN)/ruff' check --fix .

generate: ready ## write rules/, dashboards/, runbooks/ and deploy/alertmanager/ from the definitions
	'$(BIN)/watchkeeper' generate
	bin=$$(realpath '$(BIN)') && cd $(ACME) && "$$bin/watchkeeper" generate

check: lint types ## lint, types, the definitions; generated files must be up to date
	'$(BIN)/watchkeeper' check
	'$(BIN)/watchkeeper' generate --check
	bin=$$(realpath '$(BIN)') && cd $(ACME) && "$$bin/watchkeeper" generate --check

lint: ready ## ruff
	'$(BIN)/ruff' format --check .
	'$(BIN)/ruff' check .

types: ready ## mypy
	'$(BIN)/mypy'

test: ready ## pytest, a file a core
	'$(BIN)/python' -m pytest -n auto --dist loadfile $(ARGS)

cases: ready ## PromQL cases from Prometheus' corpus, through both evaluators; CASES="FILE..."
	@test -n "$(CASES)" || { echo 'make: name the files: make cases CASES="FILE..."' >&2; exit 1; }
	'$(BIN)/python' tests/watchkeeper/promql/run_cases.py $(CASES) $(ARGS)

differential: ready ## random PromQL, both evaluators and a real server; PROMETHEUS=BINARY PAIRS=1000 SEED=0
	@binary=$$(command -v '$(PROMETHEUS)') || { echo "make: $(PROMETHEUS) is not here: name a server's binary," \
	  "such as make differential PROMETHEUS=/opt/prometheus-3/prometheus" >&2; exit 1; }; \
	'$(BIN)/python' tests/watchkeeper/promql/differential.py --prometheus "$$(realpath "$$binary")" \
	  --pairs $(PAIRS) --seed $(SEED) $(ARGS)

soundness: ready ## random PromQL: what is proven of labels against what the evaluator gives; EXPRESSIONS=100000 SEED=0
	'$(BIN)/python' tests/watchkeeper/proof/run_soundness.py $(EXPRESSIONS) $(SEED) $(ARGS)

replay: ready ## the pack in three real servers, through RC-9902 and the quiet hour, in real time; SCALE=50 is 50 times as fast
	WATCHKEEPER_REPLAY_SCALE=$(SCALE) '$(BIN)/python' -m pytest -rP tests/watchkeeper_fleet/alerts/test_server.py

routing-verdicts: ready ## random routings: what amtool refuses and what we do; ROUTINGS=500 SEED=0
	'$(BIN)/python' tests/watchkeeper/routing/run_verdicts.py $(ROUTINGS) $(SEED)

trunk-day: ready ## a busy repository's hours through the trunk exporter; DAY='{"busy": true, "commits": 30, "before": 30}'
	'$(BIN)/python' tests/watchkeeper_fleet/trunk/run_day.py '$(DAY)'

sync-sequences: ready ## random edits, crashes and applies at Grafana's and a ruler's stand-ins; SEQUENCES=1000
	'$(BIN)/python' tests/watchkeeper/sync/run_sequences.py $(SEQUENCES)
	'$(BIN)/python' tests/watchkeeper/sync/ruler_sequences.py $(SEQUENCES)

sync-faults: ready ## a sync whose every request goes wrong in seven ways, at Grafana's stand-ins
	'$(BIN)/python' tests/watchkeeper/sync/run_faults.py

systemd: ## the page on systemd and the unit, under a real systemd (root, network)
	tests/systemd/run.sh

spool-kills: ready ## writers of the spool killed at random points; KILLS=1000 SEED=0
	'$(BIN)/python' tests/watchkeeper_fleet/spool/run_kills.py $(KILLS) $(SEED)

spool-fuzz: ready ## mutated files for the reader of the spool; FILES=1000000 SEED=0
	'$(BIN)/python' tests/watchkeeper_fleet/spool/run_fuzz.py $(FILES) $(SEED)

bench: ready ## all benchmarks, one JSON object a line; quicker with ARGS=--quick
	@set -e; for bench in bench/*.py; do '$(BIN)/python' "$$bench" $(ARGS); done

matrix: ## generate and test with each Python that is found; PYTHONS="..." names others
	@set -e; missing=; ran=; \
	for python in $(PYTHONS); do \
	  version=$$($$python -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null) \
	    || { missing="$$missing $$python"; continue; }; \
	  echo "== $$python is Python $$version"; \
	  $(MAKE) generate PYTHON="$$python" VENV=".venv-$$version"; \
	  git diff --exit-code -- $(GENERATED) \
	    && test -z "$$(git ls-files --others --exclude-standard -- $(GENERATED))" \
	    || { echo "$$python generates other files than are committed" >&2; exit 1; }; \
	  $(MAKE) test PYTHON="$$python" VENV=".venv-$$version"; \
	  ran="$$ran $$python"; \
	done; \
	echo "== passed:$${ran:- none}; not found:$${missing:- none}"; test -n "$$ran"

clean: ## delete environments, caches and builds
	rm -rf .venv .venv-* dist build .cache .mypy_cache .ruff_cache .pytest_cache .hypothesis

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "%-12s %s\n", $$1, $$2}' Makefile

# The stamp .ready is the last thing written, and tells what the environment was made from. An environment that holds
# .making instead was left half made. One with neither is someone else's.
define SETUP
fail() { printf 'make: %s\n' "$$@" >&2; exit 1; }
version=$$($(PYTHON) -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null) ||
  fail "$(PYTHON) does not run: name a Python 3.10 to 3.13, such as make PYTHON=python3.12"
case $$version in
  3.10 | 3.11 | 3.12 | 3.13) ;;
  *) fail "$(PYTHON) is Python $$version, and watchkeeper needs 3.10 to 3.13: name another, such as make PYTHON=python3.12" ;;
esac
here="$$version $(CURDIR)"
stamp="$$here $$(cksum <pyproject.toml)"
found=$$(cat '$(VENV)/.ready' 2>/dev/null) || true
test "$$found" = "$$stamp" && test -x '$(BIN)/python' && exit 0
if test "$${found#"$$here "}" = "$$found" || ! '$(BIN)/python' -m pip --version >/dev/null 2>&1; then
  if test -n "$$(ls -A '$(VENV)' 2>/dev/null)" && ! test -e '$(VENV)/.ready' && ! test -e '$(VENV)/.making'; then
    fail "$(VENV) was not made by this Makefile: delete it, or name another, such as make VENV=.venv-2"
  fi
  $(PYTHON) -c 'import ensurepip, venv' 2>/dev/null ||
    fail "$(PYTHON) has no module venv: install it (Debian, Ubuntu: apt-get install python3-venv)"
  echo "making $(VENV) with Python $$version"
  rm -rf '$(VENV)'
  mkdir -p '$(VENV)'
  touch '$(VENV)/.making'
  $(PYTHON) -m venv '$(VENV)'
fi
touch '$(VENV)/.making'
rm -f '$(VENV)/.ready'
echo "installing the development packages into $(VENV)"
# A current pip resolves in half the time; the build back end in place of a build environment, and no byte code for
# modules that nobody imports, save most of the rest.
pip="'$(BIN)/python' -m pip --disable-pip-version-check --quiet install --no-compile"
eval "$$pip --upgrade pip 'hatchling>=1.18,<2'"
eval "$$pip --no-build-isolation --editable '.[dev]'"
printf '%s\n' "$$stamp" >'$(VENV)/.ready'
rm -f '$(VENV)/.making'
endef
export SETUP

ready:
	@sh -euc "$$SETUP"
