# `make run` and `make test` do all the set-up that they need. `make help` names the rest.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help

# Many tests start the command again, so its byte code is kept.
unexport PYTHONDONTWRITEBYTECODE

# Our own Python is 3.11 if it is installed, else the oldest supported one. The tests also run on
# 3.13 if it is installed. Each Python is tried, because a version manager's shim may name one that
# is not installed.
TRY_PYTHONS = for python in $(1); do \
    if "$$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; \
    then command -v "$$python"; break; fi; done
MANAGED = "$${PYENV_ROOT:-$$HOME/.pyenv}"/versions/$(1).*/bin/python$(1) \
    "$$(dirname "$$(command -v pyenv)")"/../versions/$(1).*/bin/python$(1)

# `make python-3.14` puts a Python 3.14 into build, if none is installed.
INSTALLED_PYTHON = $(shell $(call TRY_PYTHONS,python$(1) $(call MANAGED,$(1)) \
    build/python-$(1)/org/bytedeco/cpython/linux-x86_64/bin/python$(1)))

PYTHON ?= $(shell $(call TRY_PYTHONS,python3.11 $(call MANAGED,3.11) python3.12 python3.13 python3.14 python3))
SECOND_PYTHON ?= $(call INSTALLED_PYTHON,3.13)
PYTHON := $(PYTHON)
SECOND_PYTHON := $(SECOND_PYTHON)
# Exported, so that makes that this one starts do not search again.
export PYTHON SECOND_PYTHON

BIN := .venv/bin
VENDOR := metalog_spark/report/vendor
COMPILE := build/tools-venv/bin/uv pip compile --quiet --universal --python-version 3.11 \
    --generate-hashes --no-annotate --custom-compile-command 'make lock'
SECOND := .venv-3.13
CORES := $(shell getconf _NPROCESSORS_ONLN)
# One more worker than cores: a test that waits uses no core.
PYTEST_WORKERS ?= $(shell expr $(CORES) + 1)
PYTEST_OPTIONS ?=
DISTRIBUTED = --maxprocesses=8 --dist=loadgroup --no-loadscope-reorder $(PYTEST_OPTIONS)
PYTEST = -m pytest -n $(PYTEST_WORKERS) $(DISTRIBUTED)

.PHONY: help
help: ## This list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 20

.PHONY: run
run: .venv/ready ## Set up, and answer questions on the log of a real Kafka
	@PATH="$(CURDIR)/$(BIN):$$PATH" docs/tour

# Downloads, installations and checks wait a lot, so they run side by side. The tests on the second
# Python also run beside the others, in one process with low priority.
IF_POSSIBLE := kafka-if-possible browser-if-possible zsh-if-possible fish-if-possible

.PHONY: test
test: ## All checks and tests, on 3.13 too where it is installed
	@$(MAKE) --no-print-directory --jobs=4 --output-sync=line check $(IF_POSSIBLE) \
	    $(if $(SECOND_PYTHON),$(SECOND)/test-ready)
	@$(MAKE) --no-print-directory --jobs=2 test-first $(if $(SECOND_PYTHON),test-beside,no-second)

.PHONY: test-first
test-first: .venv/test-ready
	METALOG_FIGURES=check $(BIN)/python $(PYTEST)

# Some tests do not depend on the version of Python, so the second Python leaves them out. It uses
# only the repository's own logs, which shows that these are enough. docs/performance/test-budget.md
# lists the left out tests.
.PHONY: test-second
test-second: $(SECOND)/test-ready ## The tests on 3.13 alone
	METALOG_SHARED=build/no-shared nice $(SECOND)/bin/python -m pytest $(PYTEST_OPTIONS) -m 'not once' \
	    --hypothesis-profile=few $(addprefix --ignore=tests/,authorizer/analysis bench compat examples house laws metalog_spark prove/test_fuzz.py shell/test_mcp.py shell/test_schemas.py)

.PHONY: test-beside
test-beside:
	@$(MAKE) --no-print-directory test-second >build/test-second.out 2>&1 \
	    && echo "make test: on Python 3.13: $$(tail -n 1 build/test-second.out | tr -d =)" \
	    || { cat build/test-second.out; exit 1; }

.PHONY: no-second
no-second:
	@echo 'make test: no Python 3.13 here, so nothing is tested on it'

# The first import of a test compiles it. One process does so for all workers, and finds tests that
# cannot be imported before the long run starts.
.PHONY: collect
collect: .venv/test-ready
	$(BIN)/python -m pytest --quiet -m check

.PHONY: test-examples
test-examples: .venv/test-ready | jdk ## Examples of the pipeline's help, Spark's masters, and 20 starts of follow: minutes
	METALOG_ALL_EXAMPLES=1 $(BIN)/python -m pytest --quiet $(addprefix tests/metalog_spark/,test_help_examples.py test_masters.py follow/test_restarts.py)

.PHONY: check
check: types collect lint ## Lint, format, types, layers, stale files, tests that cannot be imported

.PHONY: lint
lint: .venv/test-ready
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/lint-imports --no-logo
	$(BIN)/python -m metalog.records.codegen.generate --check

.PHONY: types
types: .venv/test-ready
	$(BIN)/mypy

.PHONY: format
format: .venv/test-ready ## Format the source as `make check` wants it
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

.PHONY: setup
setup: .venv/test-ready ## Set up only the Python environment, in .venv

.PHONY: $(IF_POSSIBLE)
$(IF_POSSIBLE): %-if-possible:
	@$(MAKE) --no-print-directory $* || { [[ "$${CI:-}" != true ]] \
	&& echo 'make test: goes on without the tests that need $*'; }

.PHONY: figures
figures: .venv/test-ready ## Count the README's figures again and write them into it
	METALOG_FIGURES=write $(BIN)/python $(PYTEST)

BUDGET ?= 120
SEED ?= 1
MINUTES ?= 30

.PHONY: prove
prove: .venv/test-ready build/atheris ## The long runs behind docs/ASSURANCE.md, for BUDGET seconds of CPU
	$(BIN)/python -m tests.prove --budget $(BUDGET) --seed $(SEED)

.PHONY: soak
soak: .venv/test-ready ## A node with mixed clients, and follow, for MINUTES each, into docs/ASSURANCE.md
	$(BIN)/python -m tests.prove.soak --minutes $(MINUTES)

# A package that PyPI does not know is a failure, too, since nothing is known about it.
.PHONY: audit
audit: build/tools-venv/ready ## Ask PyPI for known faults of all packages in the locks
	@for lock in requirements*.lock; do \
	    build/tools-venv/bin/pip-audit --strict --disable-pip --require-hashes --progress-spinner off --requirement $$lock \
	    || { echo "make: $$lock was not audited: see above; an index without advisories, such as a mirror, knows no package" >&2; exit 1; }; done

.PHONY: mutate
mutate: build/mutate/tool/ready ## Change the code in small ways and list the changes that no test notices, for GROUP= or all: hours
	$(BIN)/python -m tests.mutate $(addprefix --only ,$(GROUP))

# An environment beside that of the tests, whose packages it shares.
build/mutate/tool/ready: requirements-mutate.lock | .venv/test-ready
	@rm -rf $(@D)
	@$(PIP) $(PIP_INSTALL_LOCKED) requirements-mutate.lock --target $(@D)
	@touch $@

.PHONY: api
api: .venv/test-ready ## Write docs/reference/api.md again: the packages' exports, one per line
	$(BIN)/python -m tests.support.pages.public_api

.PHONY: transcripts
transcripts: .venv/test-ready ## Write the command's output again: transcripts and the README's picture
	METALOG_WRITE_TRANSCRIPTS=1 $(BIN)/python -m pytest --quiet tests/transcripts
	$(BIN)/python docs/images/draw.py

.PHONY: lock
lock: build/tools-venv/ready ## Choose the newest versions of all dependencies, for requirements*.lock
	$(COMPILE) --upgrade --group build --output-file requirements.lock pyproject.toml
	$(COMPILE) --upgrade --constraint requirements.lock --extra node --extra zookeeper --extra mcp --extra spark --group test \
	    --output-file requirements-test.lock pyproject.toml
	$(COMPILE) --upgrade --constraint requirements-test.lock --extra node --extra zookeeper --group second \
	    --output-file requirements-second.lock pyproject.toml
	$(COMPILE) --upgrade --group pyproject.toml:release --output-file requirements-release.lock
	for group in docs tools fuzz bench; do \
	    $(COMPILE) --upgrade --group pyproject.toml:$$group --output-file requirements-$$group.lock; done
	$(COMPILE) --upgrade --constraint requirements-test.lock --group pyproject.toml:mutate \
	    --output-file requirements-mutate.lock

.PHONY: clean
clean: ## Remove all files that make has made
	rm -rf .venv $(SECOND) build *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache

# Older pips take four times as long to look through an index.
.venv/ready: requirements.lock pyproject.toml
	@if [[ -z "$(PYTHON)" ]]; then echo 'make: Python 3.11 or newer is not installed; install python3' >&2; exit 2; fi
	@echo 'make: installing what it needs into .venv'
	@mkdir -p build
	@sed -n '/^pip==/,/[^\\]$$/p' requirements.lock >build/pip.lock
	@{ "$(PYTHON)" -m venv --without-pip .venv \
	    && "$(PYTHON)" -m pip --python .venv/bin/python $(PIP_INSTALL_LOCKED) build/pip.lock; } >build/venv.out 2>&1 \
	|| { "$(PYTHON)" -m venv .venv >build/venv.out 2>&1 || { \
	    $(call INSTALL_OR_SAY,python3-venv,the venv module of $(PYTHON)); "$(PYTHON)" -m venv .venv; }; \
	    $(PIP) $(PIP_INSTALL_LOCKED) build/pip.lock; }
	@$(PIP) $(PIP_INSTALL_LOCKED) requirements.lock
	@$(PIP) $(PIP_INSTALL_SELF)
	@touch $@

.venv/test-ready: requirements-test.lock .venv/ready
	@echo 'make: installing what tests need into .venv'
	@$(PIP) $(PIP_INSTALL_LOCKED) requirements-test.lock
	@touch $@

# After the first, by its pip: an editable install leaves files in the source.
$(SECOND)/test-ready: requirements.lock requirements-second.lock pyproject.toml | .venv/ready
	@echo 'make: installing what tests need into $(SECOND)'
	@"$(SECOND_PYTHON)" -m venv --without-pip $(SECOND)
	@$(PIP) --python $(SECOND)/bin/python $(PIP_INSTALL_LOCKED) requirements.lock -r requirements-second.lock
	@$(PIP) --python $(SECOND)/bin/python $(PIP_INSTALL_SELF)
	@touch $@

PIP = .venv/bin/python -m pip
PIP_INSTALL := install --quiet --disable-pip-version-check --no-compile
PIP_INSTALL_LOCKED = $(PIP_INSTALL) --no-deps --require-hashes -r
PIP_INSTALL_SELF = $(PIP_INSTALL) --quiet --no-deps --no-build-isolation --editable .

build/tools-venv/ready: requirements-tools.lock
	@rm -rf $(@D) && "$(PYTHON)" -m venv $(@D)
	@$(@D)/bin/python -m pip $(PIP_INSTALL_LOCKED) requirements-tools.lock
	@touch $@

build/atheris: requirements-fuzz.lock | .venv/ready
	@echo 'make: installing what fuzzing needs into $@'
	@rm -rf $@ && $(PIP) $(PIP_INSTALL_LOCKED) requirements-fuzz.lock --target $@
	@touch $@

include make/outside.mk
include make/release.mk
