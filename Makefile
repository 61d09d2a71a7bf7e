# Everything starts here: each target makes what it needs, on a machine with Python 3.10+ and make.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready
OLDEST := .venv-oldest/bin
OLDEST_READY := .venv-oldest/.ready

.PHONY: demo test test-slow test-oldest checks lint docs clean

demo: $(READY)
	$(BIN)/python examples/demo.py

test: lint
	$(BIN)/python -m pytest -m "not slow"

test-slow: $(READY)
	$(BIN)/python -m pytest -m slow

test-oldest: $(OLDEST_READY)
	$(OLDEST)/python -m pytest -m "not slow"

checks: $(READY)
	$(BIN)/python -m tests.checks_table

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

docs: $(READY)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable ".[docs]"
	$(BIN)/python -m sphinx -W --keep-going -b html docs docs/_build/html

clean:
	rm -rf .venv .venv-oldest build dist docs/_build docs/generated reviews.html

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --constraint constraints.txt --editable ".[dev,plot]"
	touch $@

$(OLDEST_READY): pyproject.toml constraints-oldest.txt
	$(PYTHON) -m venv .venv-oldest
	$(OLDEST)/python -m pip install --constraint constraints-oldest.txt --editable ".[dev,plot]"
	touch $@
