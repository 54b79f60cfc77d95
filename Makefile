# Everything runs in .venv, which the first target that needs it creates from the lock file.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
# Every package is checked against its hash in a lock file.
INSTALL := install --quiet --disable-pip-version-check --require-hashes
COMPILE := uv pip compile --universal --python-version 3.11 --generate-hashes --no-emit-index-url --quiet

# Bytecode is kept in a folder of its own, also where the environment forbids to write it: a third of
# the tests' time would go into compiling the same modules, tests and child processes anew. So are
# the programs that JAX has compiled.
KEPT := PYTHONDONTWRITEBYTECODE= PYTHONPYCACHEPREFIX=$(CURDIR)/$(VENV)/pycache JAX_COMPILATION_CACHE_DIR=$(CURDIR)/$(VENV)/compiled
PYTEST := $(KEPT) $(BIN)/python -m pytest
# Two workers on two cores: libraries that start a thread a core would wait for each other, which
# takes ten times the processor time. A file's tests share what they make, so that they stay together.
ONE_THREAD := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
PYTEST_2 := $(ONE_THREAD) $(PYTEST) -n 2 --dist loadfile
BROWSER := tests/studio tests/report/test_browser.py
AUDIT := tests/privacy/test_record_replay.py tests/privacy/test_record_replay_cli.py

.PHONY: demo dist docs fuzz mutants test test-audit test-engines test-slow test-studio lint format setup hooks lock sbom clean

demo: $(STAMP)  ## the whole job on the embedded example
	$(BIN)/dprap demo --out demo-release

test: $(STAMP)  ## the tests, but for the slow ones and those of the engines: the targets below
	$(PYTEST_2) --ignore=tests/engines

test-slow: $(STAMP)  ## tests of many seconds each: whole tutorials, processes killed at random, repeated runs
	$(PYTEST_2) -m slow $(addprefix --ignore=,tests/engines $(BROWSER)) $(addprefix --ignore=,$(AUDIT))

test-audit: $(STAMP)  ## record and replay of every method, query family, relation and rows per person
	$(ONE_THREAD) $(PYTEST) -n 2 -m 'slow or not slow' $(AUDIT)

test-engines: $(STAMP)  ## the tests that need PostgreSQL and Spark; installs what is missing
	tests/engines/install
	DPRAP_REQUIRE_ENGINES=1 $(PYTEST) tests/engines

test-studio: $(STAMP)  ## the studio and the report in a real browser; installs Chromium where it is missing
	tests/studio/install
	DPRAP_REQUIRE_BROWSER=1 $(PYTEST) -m 'slow or not slow' $(BROWSER)

fuzz: $(STAMP)  ## more than twenty thousand damaged inputs, through every parser; minutes
	DPRAP_FUZZ=1 $(ONE_THREAD) $(PYTEST) -n 2 -rP tests/fuzz

mutants: $(STAMP)  ## every known defect put back, one at a time: its tests must fail; minutes
	$(ONE_THREAD) $(BIN)/python -m tests.mutants.run_mutants --jobs 2

docs: $(STAMP)  ## the documentation site, in site/; warnings are errors
	test -x $(VENV)/docs/bin/python || $(PYTHON) -m venv $(VENV)/docs
	$(VENV)/docs/bin/python -m pip $(INSTALL) -r requirements-docs.lock
	$(BIN)/python docs/make_commands.py
	$(BIN)/python docs/make_notebooks.py
	$(VENV)/docs/bin/zensical build --strict --clean

dist: $(STAMP)  ## a wheel in dist/
	$(BIN)/python -m pip wheel --quiet --no-deps --no-build-isolation --wheel-dir dist .

lint: $(STAMP)  ## style, types and layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(STAMP)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

setup: $(STAMP)

hooks: $(STAMP)  ## run the linters before each commit
	$(BIN)/pre-commit install

$(STAMP): requirements-dev.lock pyproject.toml bench/pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "dprap needs Python 3.11 or newer; try make PYTHON=python3.12")'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip $(INSTALL) -r requirements-dev.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable . --editable bench
	touch $@

lock:  ## re-make the lock files; needs uv
	$(COMPILE) pyproject.toml --group dev --extra duckdb --extra evaluate --extra excel --extra labels --extra polars --extra postgres --extra studio --output-file requirements-dev.lock
	$(COMPILE) pyproject.toml --constraints requirements-dev.lock --output-file requirements.lock
	$(COMPILE) pyproject.toml --extra postgres --extra spark --constraints requirements-dev.lock --output-file requirements-engines.lock
	$(COMPILE) requirements-docs.in --output-file requirements-docs.lock

sbom: $(STAMP)  ## dprap and the packages it runs on, in sbom.json (CycloneDX), read from an environment of these alone
	rm -rf $(VENV)/runtime
	$(PYTHON) -m venv --without-pip $(VENV)/runtime
	$(BIN)/python -m pip --python $(VENV)/runtime $(INSTALL) -r requirements.lock
	$(BIN)/python -m pip wheel --quiet --no-deps --no-build-isolation --wheel-dir $(VENV)/runtime .
	$(BIN)/python -m pip --python $(VENV)/runtime install --quiet --no-deps $(VENV)/runtime/dprap-*.whl
	$(BIN)/cyclonedx-py environment --output-reproducible --output-file sbom.json $(VENV)/runtime

clean:
	rm -rf $(VENV) dist build demo-release sbom.json .pytest_cache .mypy_cache .ruff_cache
