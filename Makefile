# Everything here runs inside .venv, which is made from requirements.lock on first use.
# Needed beforehand: Linux on x86-64, Python 3.11 to 3.13 with venv, g++ and make.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
MAKEFLAGS += --no-builtin-rules

PYTHON ?= python3
JOBS ?= 2
ONLY ?=
PART ?= 1/1

VENV := .venv
BIN := $(VENV)/bin
LOCKED := $(VENV)/.locked
DEMO := $(VENV)/.demo
READY := $(VENV)/.ready
ICARUS := $(VENV)/.icarus
PIP := $(BIN)/python -m pip --quiet --disable-pip-version-check
COMPILE = $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --fork-strategy fewest --only-binary :all: \
	--generate-hashes --no-annotate --no-header --no-emit-index-url --no-emit-find-links
# What the demo needs comes first in the lock, down to a line of its own.
DEMO_EXTRAS := build sim
# All but crocoddyl, which has an environment of its own.
EXTRAS := build cluster cuda docs ethernet examples plot prove registers sim sweep synthesis test
ROBOTS := cmeel.prefix/share/example-robot-data
# Byte code is kept: workers and simulators import the same files.
unexport PYTHONDONTWRITEBYTECODE
# The matrix products are small: a second thread of each worker would mostly wait for the first.
PYTEST := OPENBLAS_NUM_THREADS=1 $(BIN)/pytest -n $(JOBS) --dist worksteal

.PHONY: help
help: ## Print the targets
	@sed -nE 's/^([a-z]+):.*## (.*)/  make \1\t\2/p' $(firstword $(MAKEFILE_LIST)) | expand -t 20

.PHONY: demo
demo: $(DEMO) ## Generate the iiwa 14 accelerator of all seven functions and simulate 20,000 tasks of it
	$(BIN)/rbdhw generate robots/iiwa14.urdf -o build/demo/iiwa14 --ii 1 --target xcvu9p --clock 125
	$(BIN)/rbdhw simulate build/demo/iiwa14 --tasks 20000 --seed 1 --bulk

.PHONY: test
test: $(READY) ## Run the tests, except the long ones marked "verify"
	$(PYTEST) -m "not verify"

.PHONY: verify
verify: $(READY) $(ICARUS) ## Run every test, the long ones included, but those that passed since the last change; PART=3/6: a sixth
	PATH="$(CURDIR)/$(BIN):$$PATH" PYTHONPATH="$(CURDIR)" $(PYTEST) \
		--hypothesis-profile=ci -p tests.support.verify_parts --part $(PART) --passed build/verify/passed

.PHONY: prove
prove: $(READY) ## Prove control, resets, operators and units, by ABC and z3 in Yosys, or for all inputs
	$(PYTEST) tests/formal

.PHONY: lint
lint: $(READY) ## Check style, format and types
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

.PHONY: docs
docs: $(READY) ## Build the documentation, build/docs/html/index.html, with warnings as errors
	$(BIN)/sphinx-build -W --keep-going -q -j $(JOBS) -b html -d build/docs/doctrees docs build/docs/html

.PHONY: bench
bench: $(READY) ## Measure the tables of docs/results.md and of the README; ONLY=TEXT: some of them; PART=2/9: a ninth
	$(BIN)/python -m benchmarks tables --write docs/results.md --write README.md --only "$(ONLY)" --part "$(PART)"

.PHONY: sweep
sweep: $(READY) ## Check every robot of example-robot-data, stage by stage; writes docs/robots.md
	$(BIN)/python -m benchmarks sweep $(VENV)/lib/python3*/site-packages/$(ROBOTS) --output docs/robots.md

.PHONY: calibrate
calibrate: $(READY) ## Synthesise the designs to which estimates are fitted, where they have changed
	$(BIN)/python -m benchmarks calibrate

.PHONY: registers
registers: $(READY) ## Describe the registers in C, Python, HTML, Markdown and IP-XACT: rbdhw/registers/registers.h and build/registers
	$(BIN)/python -m rbdhw.registers.export build/registers

.PHONY: bitstream
bitstream: $(READY) ## Take the toy's inverse dynamics down to a bitstream for the ULX3S-85F
	$(BIN)/rbdhw generate robots/toy.urdf -o build/bitstream/toy-id \
		--functions id --ii 8 --target ecp5-85 --clock 50 --tdata 32 --width 18
	$(BIN)/rbdhw synthesize build/bitstream/toy-id --board ulx3s-85f

.PHONY: lock
lock: $(READY) ## Resolve the dependencies anew and write requirements.lock
	mkdir -p build/lock
	$(COMPILE) --upgrade $(EXTRAS:%=--extra %) pyproject.toml --output-file build/lock/all
	$(COMPILE) --constraint build/lock/all $(DEMO_EXTRAS:%=--extra %) pyproject.toml --output-file build/lock/demo
	$(BIN)/python .ci/join-locks build/lock/demo build/lock/all requirements.lock

.PHONY: clean
clean: ## Remove the environment and everything built
	rm -rf $(VENV) build docs/api dist rbdhw.egg-info .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find rbdhw benchmarks examples sim boards robots tests -name __pycache__ -prune -exec rm -rf {} +

# An installation that was cut short cannot be told from a whole one by pip, so a changed lock
# starts from an empty environment, and each stamp is written only after its last step.
$(LOCKED): requirements.lock
	@./.ci/check-tools $(PYTHON)
	@echo "Installing what the demo needs into $(VENV) (half a minute, once)"
	@$(PYTHON) -m venv --clear $(VENV)
	@sed '/^# demo: /q' requirements.lock >$(VENV)/demo.txt
	@$(PIP) install --require-hashes --only-binary :all: --requirement $(VENV)/demo.txt
	@touch $@

# The package is found on sys.path (compat). Otherwise a folder of this repository's name beside which Python
# starts would be taken for the package.
$(DEMO): $(LOCKED) pyproject.toml
	@$(PIP) install --no-deps --no-build-isolation --config-settings editable_mode=compat --editable .
	@touch $@

$(READY): $(DEMO)
	@echo "Installing what tests and documentation need into $(VENV) (a minute or two, once)"
	@$(PIP) install --require-hashes --only-binary :all: --requirement requirements.lock
	@touch $@

$(ICARUS): $(LOCKED)
	@./.ci/get-icarus $(VENV)
	@touch $@
