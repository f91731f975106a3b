# The two commands that matter: `make demo` and `make test`. Both work right after a clone.
PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/pip --disable-pip-version-check --quiet
INSTALL := $(PIP) install --constraint constraints.txt

.DEFAULT_GOAL := help
.PHONY: help setup demo test test-all lint bench results architecture docs clean

help:
	@echo "make demo      generate a noisy graph, train, compare, write brgcl-demo/report.html"
	@echo "make test      lint, types and the default test suite"
	@echo "make test-all  the slow tests too"
	@echo "make setup     environment with all extras that the commands need"
	@echo "make bench     time an epoch against its bare kernels"
	@echo "make results   write docs/results.md and its pictures from results/records.jsonl"
	@echo "make architecture  draw docs/img/architecture.svg from the imports"
	@echo "make docs      build the documentation into site/ and check it"
	@echo "make clean     remove the environment, caches and builds; no results"

.venv/pip.done:
	$(PYTHON) -m venv .venv
	$(PIP) install --upgrade pip
	@touch $@

.venv/demo.done: .venv/pip.done pyproject.toml constraints.txt
	@echo "Installing brgcl into .venv (a few minutes the first time) ..."
	$(INSTALL) --editable '.[report,review]'
	@touch $@

.venv/test.done: .venv/demo.done
	$(INSTALL) --group dev
	@touch $@

.venv/setup.done: .venv/test.done
	$(INSTALL) --editable '.[report,review,tune,interop,scale]'
	@touch $@

setup: .venv/setup.done

demo: .venv/demo.done
	$(BIN)/brgcl demo

lint: .venv/test.done
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

test: lint
	$(BIN)/pytest -m "not slow" --numprocesses 2 --dist worksteal

test-all: lint
	$(BIN)/pytest

bench: .venv/demo.done
	$(BIN)/python benchmarks/speed.py

results: .venv/demo.done
	$(BIN)/python benchmarks/write_pages.py

architecture: .venv/demo.done
	$(BIN)/python benchmarks/write_architecture.py

docs: .venv/test.done
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --strict
	$(BIN)/pytest -q tests/test_readme.py tests/test_docs.py tests/test_site.py tests/test_equations.py tests/test_examples.py
	@echo "Open site/index.html"

clean:
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis build dist site
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
