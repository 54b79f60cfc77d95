# Everything runs in .venv, which the first target that needs it creates from the lock file.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: demo docs test test-engines lint format setup lock clean

demo: $(STAMP)  ## the whole job on the embedded example
	$(BIN)/dprap demo --out demo-release

test: $(STAMP)  ## the tests
	$(BIN)/python -m pytest -n 2

test-engines: $(STAMP)  ## the tests that need PostgreSQL and Spark; installs what is missing
	tests/engines/install
	DPRAP_REQUIRE_ENGINES=1 $(BIN)/python -m pytest tests/engines

docs: $(STAMP)  ## the documentation site, in site/; warnings are errors
	test -x $(VENV)/docs/bin/python || $(PYTHON) -m venv $(VENV)/docs
	$(VENV)/docs/bin/python -m pip install --quiet --disable-pip-version-check -r requirements-docs.lock
	$(BIN)/python docs/make_commands.py
	NO_MKDOCS_2_WARNING=1 $(VENV)/docs/bin/mkdocs build --strict

lint: $(STAMP)  ## style and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(STAMP)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

setup: $(STAMP)

$(STAMP): requirements-dev.lock pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "dprap needs Python 3.11 or newer; try make PYTHON=python3.12")'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements-dev.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --editable .
	touch $@

lock:  ## re-make the lock file; needs uv
	uv pip compile pyproject.toml --group dev --extra polars --universal --python-version 3.11 --no-emit-index-url --output-file requirements-dev.lock

clean:
	rm -rf $(VENV) dist build demo-release .pytest_cache .mypy_cache .ruff_cache
