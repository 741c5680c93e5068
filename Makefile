# make paper     set up .venv, reproduce the figures into out/, print a line per figure and one screen of verdicts
# make test      set up .venv, lint, type-check, test
# make browser   install Chromium, by apt and as root, for the tests of pages; without it they are skipped
# make install   only set up .venv; make PYTHON=python3.12 … chooses an interpreter
# make test-all  also slow tests, all examples, more processors and threads: half an hour of two idle cores
# make test-machines  as two other processors, as in CI
# make test-cluster  sweeps on a real Slurm of one node, as an array and as jobs; only for root, and not part of CI
# make bench     time everything against other packages, speed beside accuracy: a table, and out/bench.json
# make results   every claim with its verdict, from the figures of make paper: out/results.md
# make gallery   judge the advice on twenty models: out/gallery.md, in minutes
# make docs      build the site into out/site, with the results of make paper; make docs-check opens it in Chromium
# make release-check  build both packages, check their metadata, install them alone with the newest and with the lowest
#                versions, run the quickstart; CHECK=highest is one of both, make PYTHON=python3.12 … another Python
# make equations from each equation to its function: out/equations.md; make pictures redraws the pictures of the README and of docs/
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
OUT    ?= out
CHECK  ?= highest lowest-direct
unexport PYTHONDONTWRITEBYTECODE  # processes that tests and figures start would compile all modules again
PIP    := $(BIN)/python -m pip --disable-pip-version-check install --quiet --constraint constraints.txt

.PHONY: paper pictures equations results gallery docs docs-check release-check test suite browser test-all test-machines test-cluster bench lint format install clean

paper: $(VENV)/.core
	$(BIN)/biasfree run --all --out $(OUT)

pictures: paper
	$(BIN)/python docs/pictures.py $(OUT)

equations: $(VENV)/.core
	$(BIN)/python docs/equations.py $(OUT)

results: paper
	$(BIN)/python docs/results.py $(OUT)

gallery: $(VENV)/.dev
	OMP_NUM_THREADS=1 $(BIN)/python docs/gallery.py $(OUT)

docs: $(VENV)/.dev results
	$(BIN)/python docs/website/build.py $(OUT)/site

docs-check: docs browser
	BIASFREE_SITE=$(OUT)/site BIASFREE_REQUIRE_BROWSER=1 $(BIN)/python -m pytest -q -p no:xdist tests/browser/site_pages.py

release-check: $(VENV)/.dev
	$(PIP) --group release
	rm -rf $(OUT)/release
	for folder in . papers; do $(BIN)/python -m build --outdir $(OUT)/release $$folder || exit 1; done
	$(BIN)/twine check --strict $(OUT)/release/*.whl $(OUT)/release/*.tar.gz
	for versions in $(CHECK); do \
	  env=$(OUT)/release/$$versions; echo "versions: $$versions"; \
	  $(BIN)/uv --quiet venv --python $(PYTHON) $$env && \
	  $(BIN)/uv --quiet pip install --python $$env --resolution $$versions $(OUT)/release/*.whl && \
	  $(BIN)/uv --quiet pip check --python $$env && $$env/bin/biasfree doctor && \
	  $$env/bin/python release/quickstart.py || exit 1; done

# One thread per worker: BLAS threads of several workers on the same cores wait for each other. `worksteal` keeps
# neighboring tests in one worker, so that programs are compiled and servers started once. Properties are tried
# with a third of their examples, the same in every run; `make test-all` tries all, others each time. Types are
# checked meanwhile.
test: $(VENV)/.dev
	@$(MAKE) --no-print-directory -j2 suite lint

THREADS := 1
SUITE    = OMP_NUM_THREADS=$(THREADS) OPENBLAS_NUM_THREADS=$(THREADS) $(BIN)/python -m pytest -n auto --dist worksteal
suite: $(VENV)/.dev
	EXAMPLES=$${EXAMPLES:-0.35} $(SUITE)

# from Debian's packages, which only root can install; `make test` never does
browser:
	@command -v chromium || { test "$$(id -u)" = 0 && apt-get update -qq && \
	  DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends chromium; } || \
	  { echo "make browser: no Chromium; as root, on Debian or Ubuntu: apt-get install chromium"; exit 1; }

# $(call as,KIND,COMMAND): a command with the kernels that OpenBLAS has for a kind of processor
as = if OPENBLAS_CORETYPE=$(1) $(BIN)/python tests/processor.py; then OPENBLAS_CORETYPE=$(1) $(2); \
  else echo "skipped as $(1): this processor cannot run its kernels, or BLAS is not OpenBLAS"; fi

# The tests as other machines round: other kernels of BLAS, compiled code for any processor, which is compiled once
# before the workers start, and little time. A busy process ends with the shell that started it, however that ends.
test-machines: $(VENV)/.dev
	NUMBA_CPU_NAME=generic $(BIN)/python -m biasfree.dynamics
	$(call as,Haswell,NUMBA_CPU_NAME=generic $(MAKE) --no-print-directory suite)
	for i in 1 2; do while kill -0 $$$$ 2> /dev/null; do :; done & done; \
	  $(call as,Prescott,$(MAKE) --no-print-directory suite)

# Every test with all examples; as two more kinds of processor, one of them with two threads and older instructions
# for JAX too, with a third of the examples, others in each run; and properties with ten times as many.
test-all: lint
	$(SUITE) -m ""
	$(call as,SandyBridge,XLA_FLAGS=--xla_cpu_max_isa=AVX $(MAKE) --no-print-directory suite THREADS=2)
	$(call as,SkylakeX,$(MAKE) --no-print-directory suite)
	EXAMPLES=10 $(SUITE) -m "hypothesis and not slow"

# a real Slurm of one node, from Debian's packages, which only root can install and start
test-cluster: $(VENV)/.dev
	@test "$$(id -u)" = 0 || { echo "make test-cluster installs and starts Slurm; run it as root."; exit 1; }
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -q -p no:xdist tests/cluster/slurm_sweep.py

bench: $(VENV)/.dev
	$(BIN)/python -m benchmarks --out $(OUT)/bench.json

lint: $(VENV)/.dev
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

format: $(VENV)/.dev
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

install: $(VENV)/.dev

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; v = sys.version_info; v >= (3, 11) or sys.exit("biasfree needs Python 3.11 or newer, but $(PYTHON) is %d.%d. Try: make PYTHON=python3.11" % v[:2])'
	$(PYTHON) -m venv $(VENV)
	$(PIP) --upgrade pip

$(VENV)/.core: $(VENV)/bin/python pyproject.toml papers/pyproject.toml constraints.txt
	$(PIP) --editable '.[jax]' --editable papers
	$(BIN)/python -m biasfree.dynamics
	@touch $@

$(VENV)/.dev: $(VENV)/.core Makefile
	$(PIP) --editable '.[torch,cluster,lab,docs,jax,diagnose]' --editable papers --group dev
	@touch $@

clean:
	rm -rf $(VENV) $(OUT) .pytest_cache .ruff_cache .mypy_cache .hypothesis
