# `make demo` and `make test` set everything up themselves: a virtual environment in .venv, then the package in it.
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
PYTEST_WORKERS ?= 2

.PHONY: demo test lint style zoo clean

demo: $(STAMP)
	$(BIN)/python examples/demo.py

# The types are checked beside the tests, which leave a core idle while they start; what mypy found is printed last.
# Python keeps what it made of the sources, whatever the surroundings say: a hundred processes of the tests read them.
# Drawn examples are the same in every run here, so that a commit that passes goes on passing; `pytest` alone draws new ones.
test: style
	@export PYTHONDONTWRITEBYTECODE=; $(BIN)/mypy > $(VENV)/types 2>&1 & types=$$!; \
	$(BIN)/python -m pytest -n $(PYTEST_WORKERS) --dist worksteal --hypothesis-profile=repeatable; tests=$$?; \
	wait $$types; found=$$?; cat $(VENV)/types; exit $$((tests | found))

lint: style
	$(BIN)/mypy

style: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

# Long checks: trains the systems of the zoo and holds them against their bars. ONLY="g2p translation" picks some,
# SEEDS="1 2 3" trains each from several seeds.
zoo: $(STAMP)
	$(BIN)/python bench/zoo.py $(if $(ONLY),--only "$(ONLY)") $(if $(SEEDS),--seeds $(SEEDS))

$(STAMP): pyproject.toml constraints.txt
	@python=; for candidate in python3.11 python3.12 python3.13; do \
	    if $$candidate -c 'import venv, ensurepip' 2>/dev/null; then python=$$candidate; break; fi; done; \
	if [ -z "$$python" ]; then \
	    echo "regard needs Python 3.11, 3.12 or 3.13 with the venv module, and found none on the PATH." >&2; \
	    echo "On Debian or Ubuntu: sudo apt-get install python3 python3-venv" >&2; exit 1; fi; \
	echo "Making $(VENV) with $$($$python --version)"; \
	$$python -m venv --clear $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[dev]'
	@touch $(STAMP)

clean:
	rm -rf $(VENV) build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache
