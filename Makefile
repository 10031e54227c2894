# Each target works alone from a fresh clone: all it needs is make and Python 3.11 or newer.
#   make demo    train two networks on every device of this machine
#   make test    run the whole test suite (ARGS="-k name" selects)
#   make coverage  the core, ops and interpreters, with the lines that their tests reach
#   make lint    ruff and pyright
#   make docs    the site, into site/; a warning is an error
# Another Python, beside the first:  make test PYTHON=python3.13 VENV=.venv313

PYTHON ?= python3
VENV ?= .venv
ARGS ?=
BIN := $(VENV)/bin

.PHONY: demo test coverage lint format bench docs clean

demo: $(VENV)/.examples
	$(BIN)/python examples/train_digits.py $(ARGS)

test: $(VENV)/.test
	$(BIN)/python -m pytest -n auto --dist worksteal $(ARGS)

# How much of the core, the ops and the interpreters their tests reach.
coverage: $(VENV)/.test
	$(BIN)/python -m pytest -n auto --dist worksteal --cov=plait/core --cov=plait/ops \
	  --cov=plait/interpreters --cov-report=term tests/core tests/interpreters tests/laws tests/ops $(ARGS)

lint: $(VENV)/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright --pythonpath $(BIN)/python

format: $(VENV)/.test
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(VENV)/.bench
	$(BIN)/python -m benchmarks $(ARGS)

docs: $(VENV)/.docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

clean:
	rm -rf $(VENV)

$(VENV)/.created:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "plait needs Python 3.11 or newer, and $(PYTHON) is $$($(PYTHON) --version 2>&1)." \
	       "Name another one: make PYTHON=python3.12"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	touch $@

# One stamp for each extra, so that a second run installs nothing.
$(VENV)/.%: $(VENV)/.created pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[$*]'
	touch $@
