# `make demo` and `make test` create a virtual environment in .venv and install the package in it, with the versions
# of constraints.txt. `make test TORCH=2.15.0` uses that torch, in an environment of its own (.venv-torch-2.15.0): the
# oldest supported torch is 2.6.0. Such a torch brings the triton it needs; if it needs none, there is none, because
# torch.compile of one version fails to import the triton of another.
TORCH ?=
VENV := .venv$(if $(TORCH),-torch-$(TORCH))
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
CORES := $(shell nproc 2>/dev/null || sysctl -n hw.ncpu 2>/dev/null || echo 2)
PYTEST_WORKERS ?= $(shell expr $(CORES) + 1)
define BRINGS_TRITON
from importlib.metadata import requires
from pip._vendor.packaging.requirements import Requirement
needed = map(Requirement, requires("torch"))
raise SystemExit(not any(one.name == "triton" and (not one.marker or one.marker.evaluate()) for one in needed))
endef
export BRINGS_TRITON

.PHONY: demo test lint style zoo docs web release clean

demo: $(STAMP)
	$(BIN)/python examples/demo.py

# mypy runs in parallel with the tests; its output is printed last. One worker more than cores: some tests wait for a
# browser, a process or a kernel that another worker compiles.
# Write bytecode caches even if the environment forbids it: the tests start about a hundred processes.
# Hypothesis draws the same examples in every `make test`, so a passing commit keeps passing; plain `pytest` draws new ones.
# `make test THOROUGH=1` also runs the long tests, and all cases of those that have very many.
test: style
	@export PYTHONDONTWRITEBYTECODE=; $(BIN)/mypy > $(VENV)/types 2>&1 & types=$$!; \
	$(BIN)/python -m pytest -n $(PYTEST_WORKERS) --dist worksteal --hypothesis-profile=repeatable $(if $(THOROUGH),--thorough); tests=$$?; \
	wait $$types; found=$$?; cat $(VENV)/types; exit $$((tests | found))

lint: style
	$(BIN)/mypy

style: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

# Long check: train the systems of the zoo and compare their scores with their bars. ONLY="g2p translation" selects
# systems; SEEDS="1 2 3" trains each with several seeds.
zoo: $(STAMP)
	$(BIN)/python bench/zoo.py $(if $(ONLY),--only "$(ONLY)") $(if $(SEEDS),--seeds $(SEEDS))

# The site, from docs/ and mkdocs.yml into build/site. A link that leads nowhere is an error.
docs: $(STAMP)
	$(BIN)/python -m pip install --quiet --constraint $(VENV)/constraints.txt --editable '.[docs]'
	$(BIN)/zensical build --clean --strict
	@echo "Open build/site/index.html"

# The script and the style sheet of live figures, from web/ into regard/live/static: after a change in web/src. Needs node.
web:
	cd web && npm ci --no-audit --no-fund && npm run check && npm run build

# A release into dist/: built, checked, installed in an empty environment, where the commands of the first page run.
# It uploads nothing; docs/releasing.md tells the rest. Options for the script: WITH="--installer uv".
release: $(STAMP)
	$(BIN)/python -m pip install --quiet --constraint $(VENV)/constraints.txt --editable '.[release]'
	$(BIN)/python bench/release.py $(WITH)

$(STAMP): pyproject.toml constraints.txt
	@python=; for candidate in python3.11 python3.12 python3.13; do \
	    if $$candidate -c 'import venv, ensurepip' 2>/dev/null; then python=$$candidate; break; fi; done; \
	if [ -z "$$python" ]; then \
	    echo "regard needs Python 3.11, 3.12 or 3.13 with the venv module, and found none on the PATH." >&2; \
	    echo "On Debian or Ubuntu: sudo apt-get install python3 python3-venv" >&2; exit 1; fi; \
	echo "Making $(VENV) with $$($$python --version)"; \
	$$python -m venv --clear $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	cp constraints.txt $(VENV)/constraints.txt
	@if [ -n "$(TORCH)" ]; then echo "torch==$(TORCH)" > $(VENV)/constraints.txt; fi
	$(BIN)/python -m pip install --quiet --constraint $(VENV)/constraints.txt --editable '.[dev]'
	@if [ -n "$(TORCH)" ] && ! $(BIN)/python -c "$$BRINGS_TRITON"; then \
	    $(BIN)/python -m pip uninstall --quiet --yes triton; fi
	@touch $(STAMP)

clean:
	rm -rf .venv .venv-torch-* build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache
