# make demo · make test · make evidence · make check · make bench. Each makes the environment it needs in .venv.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt
PACKAGE := pyproject.toml setup.py constraints.txt $(shell find src -name '*.[ch]')

.PHONY: demo test evidence check lint types doctests bench fuzz pages clean

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

# A million hostile inputs against every reader, half an hour of one core.
fuzz: $(VENV)/.dev
	$(BIN)/python fuzz/random_readers.py 1000000

# What docs/ shows of the program, made anew from the program.
pages: $(VENV)/.dev
	$(BIN)/python docs/make_commands.py
	$(BIN)/python docs/make_measures.py
	$(BIN)/python docs/make_images.py
	$(BIN)/python docs/make_house.py

clean:
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache .hypothesis dist build src/*.egg-info
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
