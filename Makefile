# Everything here works as the first command after `git clone`: setup.sh makes .venv/ and says what it does.
# ARGS=… is handed on (make matrix ARGS=--fresh), ENGINE=… names the container engine (docs/engine.md).

.DEFAULT_GOAL := matrix
SHELL := /bin/sh
VENV := .venv/bin
HARNESS := sh setup.sh && $(VENV)/harness
UV := 0.13.8

# Somebody else's packages must not shadow the locked ones.
unexport PYTHONHOME PYTHONPATH

.PHONY: matrix plan table images doctor schema new clean test lint bench lock help

matrix: ## build the images, run every reproducer in every cell, print the table
	@$(HARNESS) run $(ENGINE:%=--engine %) $(ARGS)

plan: ## print what `make matrix` would run
	@$(HARNESS) plan $(ARGS)

table: ## print the table of what has run
	@$(HARNESS) table $(ARGS)

images: ## build the images of matrix.yaml
	@$(HARNESS) images $(ARGS)

doctor: ## say what this host offers and lacks
	@$(HARNESS) doctor $(ARGS)

schema: ## print the JSON Schema of matrix.yaml
	@$(HARNESS) schema $(ARGS)

new: ## start a new reproducer (ARGS=<name>)
	@$(HARNESS) new $(ARGS)

clean: ## remove what the harness made (ARGS=--engine: stop the engine it started, too)
	@$(HARNESS) clean $(ARGS)

test: lint ## check style and types, then run every test (ARGS=… for pytest)
	@$(VENV)/python -m pytest $(ARGS)

lint: ## check style and types
	@sh setup.sh --test
	@$(VENV)/ruff check
	@$(VENV)/ruff format --check
	@$(VENV)/mypy

bench: ## run the side-by-side measurements
	@sh setup.sh
	@$(VENV)/python benchmarks/cells.py $(ARGS)
	@$(VENV)/python benchmarks/softgpu.py

# One resolution for Python 3.10 and newer; run.txt is held to the versions of test.txt, so the second can be laid on it.
COMPILE = .harness/lock/bin/uv pip compile --quiet --no-config --universal --python-version 3.10 --upgrade \
	--generate-hashes --no-emit-index-url --custom-compile-command 'make lock' pyproject.toml requirements/build.in

lock: ## pin the newest allowed packages in requirements/*.txt
	@sh setup.sh
	@$(VENV)/python -m venv --clear .harness/lock
	@.harness/lock/bin/python -m pip install --quiet --disable-pip-version-check uv==$(UV)
	@$(COMPILE) --extra test --output-file requirements/test.txt
	@$(COMPILE) --constraint requirements/test.txt --output-file requirements/run.txt
	@! grep -n '://' requirements/*.txt

help: ## print this list
	@sed -n 's/^\([a-z]*\):.*## /\1\t/p' $(firstword $(MAKEFILE_LIST)) | expand -t 10
