# Everything starts here: each target makes what it needs, on a machine with Python 3.10+ and make.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready
OLDEST := .venv-oldest/bin
OLDEST_READY := .venv-oldest/.ready

# Tests are fast unless marked; pyproject.toml says what the marks mean.
FAST := not slow and not thorough
# On tensors of a few dozen numbers a second thread costs 40 % more time than it saves.
ONE_THREAD := OMP_NUM_THREADS=1
WHOLE := classifier explainers faithfulness faults persistence project rendering test_properties.py

.PHONY: demo quick test test-thorough test-slow test-oldest test-processors checks lint docs clean

demo: $(READY)
	$(BIN)/python examples/demo.py

# The parts, without the whole models that are made of them, and without doctests.
quick: $(READY)
	$(ONE_THREAD) $(BIN)/python -m pytest -q -m "$(FAST)" tests $(addprefix --ignore=tests/,$(WHOLE))

test: lint
	$(ONE_THREAD) $(BIN)/python -m pytest -m "$(FAST)"

test-thorough: $(READY)
	$(BIN)/python -m pytest -m "thorough and not slow"

test-slow: $(READY)
	$(BIN)/python -m pytest -m slow

test-oldest: $(OLDEST_READY)
	$(OLDEST)/python -m pytest -m "not slow"

# The fast tests as other processors compute them; ARGS="tests/nn" runs those files alone.
test-processors: $(READY)
	$(BIN)/python -m tests.processors $(ARGS)

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
