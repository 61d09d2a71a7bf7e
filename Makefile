# Everything starts here: each target makes what it needs, on a machine with Python 3.11+ and make.
PYTHON ?= python3
# Where an environment has its commands: on Windows, with make and a shell such as Git's, in another folder.
COMMANDS := $(if $(filter Windows_NT,$(OS)),Scripts,bin)
BIN := .venv/$(COMMANDS)
READY := .venv/.ready
IMPORTED := .venv/.imported
# Both ends of what pyproject.toml allows, Python included; make test-newest NEWEST_PYTHON=python3.13 ...
OLDEST := .venv-oldest/$(COMMANDS)
OLDEST_READY := .venv-oldest/.ready
OLDEST_PYTHON ?= python3.11
NEWEST := .venv-newest/$(COMMANDS)
NEIGHBOURS := .venv-neighbours/$(COMMANDS)
NEWEST_PYTHON ?= $(PYTHON)
# PyTorch alone stays at the tested release: the newest wheel for Linux brings gigabytes of CUDA along
# where an index or a folder of wheels has a small one of the tested release. NEWEST_TORCH=torch frees it.
NEWEST_TORCH ?= $(shell grep ^torch== constraints.txt)
# What makes a release, apart from what tests need.
RELEASE := .venv-release/$(COMMANDS)
RELEASE_READY := .venv-release/.ready
WHEEL := .venv-wheel/$(COMMANDS)
DEMO := .venv-demo/$(COMMANDS)
DEMO_READY := .venv-demo/.ready

# Tests are fast unless marked; pyproject.toml says what the marks mean.
FAST := not slow and not thorough
# Keep compiled files, whatever the shell says: without, every process of the tests compiles all of them.
export PYTHONDONTWRITEBYTECODE :=
# On tensors of a few dozen numbers a second thread costs 40 % more time than it saves.
ONE_THREAD := OMP_NUM_THREADS=1
WHOLE := classifier faults persistence project rendering scenarios test_properties.py
# Tests of what draws no initial weights, and of files and pages that show none.
UNSHAKEN := datasets documents inspection/results kernels rendering storage text test_tokenizer.py
SHAKES ?= 1 2 3 4 5

.PHONY: demo quick test fast kernels test-thorough test-slow test-oldest test-newest test-neighbours test-gpu test-processors \
	test-shaken test-mutants checks lint docs figures figures-stale wheel test-wheel clean

# With what a user of the package gets, and nothing for developers. One thread for each of the models that are timed.
demo: $(DEMO_READY)
	@$(ONE_THREAD) $(DEMO)/python examples/demo.py

# The parts, without the whole models that are made of them, and without doctests.
quick: $(READY)
	$(ONE_THREAD) $(BIN)/python -m pytest -q -m "$(FAST)" tests $(addprefix --ignore=tests/,$(WHOLE)) \
		--ignore-glob="tests/inspection/test_*.py"

# In two processes: most tests are small fits, on one thread each. One has all tests of a file, since many share models.
test: $(READY)
	$(MAKE) -j 2 lint kernels
	$(MAKE) fast

# Without lint, whose findings depend on the Python and the releases: for every Python and release other than those of `make test`.
fast: $(READY)
	$(ONE_THREAD) $(BIN)/python -m pytest -n 2 --dist loadfile -m "$(FAST)"

# Once, while another processor lints: without, both processes of the tests would compile all kernels.
kernels: $(IMPORTED)
	SK_HAN_ENGINE=auto $(BIN)/sk-han warm-up

test-thorough: $(READY)
	$(ONE_THREAD) $(BIN)/python -m pytest -n 2 --dist loadfile -m "thorough and not slow"

test-slow: $(READY)
	$(BIN)/python -m pytest -m "slow and not neighbours"

# ARGS="tests/nn" runs those files alone, here and in the next two.
test-oldest: $(OLDEST_READY)
	$(OLDEST)/python -m pytest -m "not slow" $(ARGS)

# New releases come without a change here, so the environment is made anew each time.
test-newest:
	$(NEWEST_PYTHON) -m venv --clear .venv-newest
	$(NEWEST)/python -m pip install "$(NEWEST_TORCH)" --editable ".[dev,plot]"
	$(NEWEST)/python -m pytest -m "not slow" $(ARGS)

# Examples with libraries that build on scikit-learn, and texts that they refuse.
test-neighbours:
	$(PYTHON) -m venv --clear .venv-neighbours
	$(NEIGHBOURS)/python -m pip install "$(NEWEST_TORCH)" --editable ".[dev,neighbours]"
	$(ONE_THREAD) $(NEIGHBOURS)/python -m pytest -m neighbours tests/project

# The fast tests as other processors compute them; ARGS="--only znver" for some of these.
test-processors: $(READY)
	$(BIN)/python -m tests.processors $(ARGS)

# What needs a CUDA device, which the other targets hide.
test-gpu: $(READY)
	SK_HAN_TEST_GPU=1 $(BIN)/python -m pytest -m "gpu and not slow" $(ARGS)

# The fast tests with initial weights that are off by a few roundings, once for each seed: tests/shaking.py.
test-shaken: $(READY)
	for seed in $(SHAKES); do echo "== SK_HAN_TEST_SHAKE=$$seed"; SK_HAN_TEST_SHAKE=$$seed $(ONE_THREAD) \
		$(BIN)/python -m pytest -n 2 --dist loadfile -m "$(FAST) and not drawn" \
		$(or $(ARGS),tests $(addprefix --ignore=tests/,$(UNSHAKEN))) || exit 1; done

# The tests themselves: 100 small changes of the code, and how many of them a test sees. ARGS="--only tagging".
test-mutants: $(READY)
	$(BIN)/python -m tests.mutants $(ARGS)

checks: $(READY)
	$(BIN)/python -m tests.checks_table

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

docs: $(READY)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable ".[docs]"
	$(BIN)/python -m sphinx -W --keep-going -b html docs docs/_build/html
	$(BIN)/python -m tests.site_links docs/_build/html

# Draws each stored result anew whose code of a default fit has changed since: many hours. It may be stopped.
figures: $(READY)
	$(BIN)/python benchmarks/figures.py

# What `make figures` would draw; an error if there is anything.
figures-stale: $(READY)
	$(BIN)/python benchmarks/figures.py --stale

# sdist and wheel in dist/, the wheel made from the sdist: nothing that lies about here gets into it.
wheel: $(RELEASE_READY)
	rm -f dist/*.whl dist/*.tar.gz
	$(RELEASE)/python -m build

# The wheel with what it requires and nothing else. PYTHON=python3.14 chooses the Python.
test-wheel: wheel
	$(PYTHON) -m venv --clear .venv-wheel
	$(WHEEL)/python -m pip install --no-compile --constraint constraints.txt dist/*.whl
	$(ONE_THREAD) $(WHEEL)/python -I tests/installed_wheel.py

clean:
	rm -rf .venv .venv-* build dist docs/_build docs/generated docs/auto_examples explained.html

# Python compiles what is imported, here and in the demo: all of the packages would take longer than it. The pip that
# comes with Python 3.11 needs twice as long as a new one to find the releases.
$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --no-compile --upgrade pip
	$(BIN)/python -m pip install --no-compile --constraint constraints.txt --editable ".[dev,plot]"
	touch $@

# While another processor lints: the doctests import all of sk_han, and with it most of what the tests import. Without,
# both processes of the tests would compile it.
$(IMPORTED): $(READY)
	$(BIN)/python -m pytest -qq --collect-only sk_han
	touch $@

$(DEMO_READY): pyproject.toml constraints.txt
	@echo "Installing what the demo needs into .venv-demo: PyTorch is large, so the first time takes a while."
	@$(PYTHON) -m venv .venv-demo
	@$(DEMO)/python -m pip install --quiet --disable-pip-version-check --no-compile --constraint constraints.txt \
		--editable .
	@touch $@

$(OLDEST_READY): pyproject.toml constraints-oldest.txt
	$(OLDEST_PYTHON) -m venv --clear .venv-oldest
	$(OLDEST)/python -m pip install --constraint constraints-oldest.txt --editable ".[dev,plot]"
	touch $@

$(RELEASE_READY): Makefile
	$(PYTHON) -m venv .venv-release
	$(RELEASE)/python -m pip install build
	touch $@
