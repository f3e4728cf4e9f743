# make demo · make test · make evidence · make check · make bench · make mutants. Each makes the environment it needs in .venv.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt
PACKAGE := pyproject.toml setup.py constraints.txt $(shell find src -name '*.[ch]')

.PHONY: demo test evidence check lint types doctests bench fuzz mutants pages clean

demo: $(VENV)/.demo
	HF_HUB_OFFLINE=1 $(BIN)/trueval demo

test: lint types
	$(BIN)/python -m pytest -n 2

# Long simulations and enumerations: run it before calling something done.
evidence: $(VENV)/.dev
	$(BIN)/python -m pytest -n 2 -m evidence

check: lint types doctests

lint: $(VENV)/.dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

types: $(VENV)/.dev
	$(BIN)/mypy --strict src

doctests: $(VENV)/.dev
	$(BIN)/python -m pytest -q src

bench: $(VENV)/.dev
	@set -e; for script in benchmarks/*.py; do echo "# $$script"; $(BIN)/python "$$script"; done

# A million hostile inputs against every reader, half an hour of one core; or as long as told, make fuzz FUZZ=600s.
fuzz: $(VENV)/.dev
	$(BIN)/python fuzz/random_readers.py $(or $(FUZZ),1000000)

# Small changes to the code that tests must notice: docs/design/mutants.md. SAMPLE= tries all, which takes days.
SAMPLE ?= 100
SEED ?= 1
mutants: $(VENV)/.mutants
	$(BIN)/python -m mutants $(if $(SAMPLE),--sample $(SAMPLE)) --seed $(SEED) $(if $(ROOMS),--rooms $(ROOMS))

# What docs/ shows of the program, made anew from the program.
pages: $(VENV)/.dev
	$(BIN)/python docs/make_commands.py
	$(BIN)/python docs/make_measures.py
	$(BIN)/python docs/make_images.py
	$(BIN)/python docs/make_house.py

clean:
	rm -rf $(VENV) .mutants .mypy_cache .pytest_cache .ruff_cache .hypothesis dist build src/*.egg-info
	find src -name '_scan.*.so' -delete -o -name '_scan.*.pyd' -delete

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.core: $(PACKAGE) | $(BIN)/python
	$(INSTALL) -e .
	@touch $@

$(VENV)/.demo: $(PACKAGE) | $(BIN)/python
	$(INSTALL) -e '.[demo]'
	@touch $@ $(VENV)/.core

$(VENV)/.dev: $(PACKAGE) | $(BIN)/python
	$(INSTALL) -e '.[dev]'
	@touch $@ $(VENV)/.core $(VENV)/.demo

$(VENV)/.mutants: $(PACKAGE) | $(BIN)/python
	$(INSTALL) -e '.[dev,mutants]'
	@touch $@ $(VENV)/.core $(VENV)/.demo $(VENV)/.dev
