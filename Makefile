# make demo · make test · make test-all · make coverage · make evidence · make check · make bench · make mutants · make integrations · make release-check · make lock · make site. Each makes the environment it needs in .venv.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
# pip compiles to bytecode in one process, half of the time that it takes: COMPILE does so in two, without others' tests.
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile -c constraints.txt
COMPILE := $(BIN)/python -m compileall -qq -j 2 -x '/tests?/' $(VENV)/lib/python3*/site-packages || true
PACKAGE := pyproject.toml setup.py constraints.txt $(shell find src -name '*.[ch]')

.PHONY: demo test test-all coverage evidence check lint types doctests bench fuzz mutants integrations release-check pages site lock clean

demo: $(VENV)/.demo
	HF_HUB_OFFLINE=1 $(BIN)/trueval demo

# Each process gets one half of the tests, so that what tests share is made once; who is done first helps the other.
PYTEST := $(BIN)/python -m pytest -n 2 --dist worksteal

# `make test` leaves out the tests marked slow, of more than two seconds, and `make test-all`, which CI runs, has them too.
# The types are checked beside the tests, in one process, and their result is printed at the end.
test: lint
	@$(call TYPES_BESIDE,$(PYTEST) -m "not evidence and not slow")

test-all: lint
	@$(call TYPES_BESIDE,$(PYTEST))

TYPES_BESIDE = $(BIN)/mypy > $(VENV)/.types 2>&1 & $(1); tests=$$?; wait $$!; types=$$?; \
	cat $(VENV)/.types; exit $$((tests + types))

# Long simulations, enumerations and kills, and all examples of hypothesis: the parts that were never run, or failed, or
# stand on changed code, the oldest first, while there is time. Each leaves a page in docs/evidence (docs/design/tests.md).
# make evidence PART=tradeoff, or PART="report golden/test_recovery.py", runs these of tests/, due or not.
HOURS ?= 2.5
evidence: $(VENV)/.dev
	$(BIN)/python -m evidence --hours $(HOURS) $(PART)

# The lines and branches of src/trueval that the tests of `make test` run, also those in programs that tests start.
COVERAGE := $(BIN)/python -m coverage
coverage: $(VENV)/.dev
	rm -rf build/coverage
	$(COVERAGE) run -m pytest -n 2 --dist worksteal -m "not evidence and not slow"; tests=$$?; \
	$(COVERAGE) combine --quiet && $(COVERAGE) report --skip-covered --sort=miss && exit $$tests

check: lint types doctests

lint: $(VENV)/.dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

types: $(VENV)/.dev
	$(BIN)/mypy

doctests: $(VENV)/.dev
	$(BIN)/python -m pytest -q src research

# All but those that are told what to take: a collection, a file of titles.
BENCHMARKS := $(filter-out benchmarks/names_of_titles.py benchmarks/routing.py,$(wildcard benchmarks/*.py))
bench: $(VENV)/.dev
	@set -e; for script in $(BENCHMARKS); do echo "# $$script"; $(BIN)/python "$$script"; done

# A million hostile inputs against every reader, half an hour of one core; or as long as told, make fuzz FUZZ=600s.
fuzz: $(VENV)/.dev
	$(BIN)/python fuzz/random_readers.py $(or $(FUZZ),1000000)

# Small changes to the code that tests must notice: docs/design/mutants.md. SAMPLE= tries all, which takes days.
SAMPLE ?= 100
SEED ?= 1
mutants: $(VENV)/.mutants
	$(BIN)/python -m mutants $(if $(SAMPLE),--sample $(SAMPLE)) --seed $(SEED) $(if $(ROOMS),--rooms $(ROOMS))

# Each tool that our values stand in, in an environment of its own with its newest release; or RELEASE=oldest, which is the
# oldest that its integration claims. TOOLS="mteb mlflow" tries these alone.
RELEASE ?= newest
integrations: | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check uv
	$(BIN)/python tests/integrations/environments.py $(RELEASE) $(TOOLS)

# What is to be released, as others install it: tests/release_check.py. make release-check EXTRAS="report judge" tries these.
release-check: | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt build setuptools uv twine
	$(BIN)/python tests/release_check.py $(EXTRAS)

# What docs/ shows of the program, made anew from the program.
pages: $(VENV)/.dev
	$(BIN)/python docs/make_commands.py
	$(BIN)/python docs/make_measures.py
	$(BIN)/python docs/make_keys.py
	$(BIN)/python docs/make_images.py

# The site, in build/site/html: docs/ and what is made of the program.
site: $(VENV)/.docs
	$(BIN)/python docs/make_site.py

# The newest releases that fit, for every Python and system: constraints.txt for all installs, release.txt with hashes for
# building and trying what is released (torch, which may be a local build, is not in it).
LOCK := $(BIN)/uv pip compile --quiet --upgrade --universal --python-version 3.11 --no-annotate --custom-compile-command "make lock"
lock: | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check uv
	$(LOCK) -c constraints.in --extra dev --extra mutants pyproject.toml -o constraints.txt
	printf 'build\nsetuptools\n' | $(LOCK) -c constraints.txt --generate-hashes pyproject.toml - -o release.txt

clean:
	rm -rf $(VENV) .venv-* .mutants .mypy_cache .pytest_cache .ruff_cache .hypothesis dist build src/*.egg-info
	find src -name '*.so' -delete -o -name '*.pyd' -delete

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.core: $(PACKAGE) | $(BIN)/python
	$(INSTALL) -e .
	@$(COMPILE)
	@touch $@

$(VENV)/.demo: $(PACKAGE) | $(BIN)/python
	$(INSTALL) -e '.[demo]'
	@$(COMPILE)
	@touch $@ $(VENV)/.core

$(VENV)/.docs: $(PACKAGE) | $(BIN)/python
	$(INSTALL) -e '.[docs]'
	@$(COMPILE)
	@touch $@ $(VENV)/.core

$(VENV)/.dev: $(PACKAGE) | $(BIN)/python
	$(INSTALL) -e '.[dev]'
	@$(COMPILE)
	@touch $@ $(VENV)/.core $(VENV)/.demo $(VENV)/.docs

$(VENV)/.mutants: $(PACKAGE) | $(BIN)/python
	$(INSTALL) -e '.[dev,mutants]'
	@$(COMPILE)
	@touch $@ $(VENV)/.core $(VENV)/.demo $(VENV)/.docs $(VENV)/.dev
