# `make test` sets up everything it needs in .venv and then runs; so does `make demo`, if it must.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# An inherited PYTHONDONTWRITEBYTECODE is ignored: without bytecode, every worker of pytest compiles the tests again (5 to 8 s).
export PYTHONDONTWRITEBYTECODE :=

.PHONY: demo test test-slow test-as-haswell test-integrations test-engines matrix frozen release docs evidence lint clean

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade pip

$(VENV)/.report: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[tables,report,trees]"
	@touch $@

$(VENV)/.dev: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[dev]"
	@touch $@ $(VENV)/.report

# In the active environment if it has this version of the package, else in .venv.
VERSION := $(shell sed -n 's/^__version__ = "\(.*\)"/\1/p' src/sparserank/__init__.py)
demo:
	@if [ "$$(sparserank --version 2> /dev/null)" = "sparserank $(VERSION)" ]; then sparserank demo --out demo-run; else \
	test -e $(VENV)/.report || echo "sparserank $(VERSION) is not in the active environment; it is installed into $(VENV) for the demo."; \
	$(MAKE) --no-print-directory $(VENV)/.report && $(BIN)/sparserank demo --out demo-run; fi

test: $(VENV)/.dev
	SCIPY_ARRAY_API=1 $(BIN)/python -m pytest -n 2 --dist loadfile -m "not slow"

# The others: many variants of one idea, kills, simulations, published tables, the blocks of the pages.
test-slow: $(VENV)/.dev
	SCIPY_ARRAY_API=1 $(BIN)/python -m pytest -n 2 --dist loadfile -m slow

# The numerical tests once more, as an older processor rounds; nothing where the machine is no newer.
test-as-haswell: $(VENV)/.dev
	SCIPY_ARRAY_API=1 $(BIN)/python -m tests.as_cpu haswell -n 2 --dist loadfile

# The documentation site, docs/_build/html/index.html: warnings are errors, and no page asks for anything of another machine.
# The first build runs `sparserank demo`, a minute, for the report that it shows.
docs: $(VENV)/.docs
	$(BIN)/sphinx-build --fail-on-warning --keep-going --quiet docs docs/_build/html

$(VENV)/.docs: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[docs]"
	@touch $@

# A real Dask cluster, a gigabyte on disk under a memory limit: an environment of their own, some minutes.
INTEGRATIONS := .venv-integrations
ESTIMATOR_CHECKS := integrations/test_papers_estimator_checks.py
ENGINE_TESTS := $(wildcard integrations/test_lucene.py integrations/test_solr*.py integrations/test_opensearch*.py integrations/test_ranklib.py integrations/test_vespa.py)
# Of what runs in a process; docs/deployment/matrix.md is written from these two.
FORMAT_TESTS := integrations/test_fusion_engines.py integrations/test_pyterrier_fusion.py integrations/test_xgboost_metrics.py \
	integrations/test_sql_servers.py integrations/test_spark.py
RECORD := build/matrix.jsonl

$(INTEGRATIONS)/.done: pyproject.toml
	$(PYTHON) -m venv $(INTEGRATIONS)
	$(INTEGRATIONS)/bin/python -m pip install --quiet --disable-pip-version-check --upgrade pip
	$(INTEGRATIONS)/bin/python -m pip install --quiet --disable-pip-version-check -e ".[dev,dask,integrations]"
	@touch $@

test-integrations: $(INTEGRATIONS)/.done
	$(INTEGRATIONS)/bin/python -m pytest integrations -n 2 --dist loadfile -W default --show-capture=no -p no:cacheprovider $(addprefix --ignore=,$(ESTIMATOR_CHECKS) $(ENGINE_TESTS))
	SCIPY_ARRAY_API=1 $(INTEGRATIONS)/bin/python -m pytest $(ESTIMATOR_CHECKS) -n 2 -p no:cacheprovider

# Lucene, RankLib, classes of Vespa, and search servers on this machine, one at a time: a JDK (17; 21 for Lucene 10 and OpenSearch 3), and Maven, which downloads their jars once into
# ~/.cache/sparserank-engines (or SPARSERANK_ENGINES). Without these the tests are skipped.
test-engines: $(INTEGRATIONS)/.done
	$(INTEGRATIONS)/bin/python -m pytest $(ENGINE_TESTS) -p no:cacheprovider

# The tests of every engine and format, and docs/deployment/matrix.md from what they showed.
matrix: $(INTEGRATIONS)/.done
	mkdir -p $(dir $(RECORD))
	rm -f $(RECORD)
	SPARSERANK_MATRIX=$(RECORD) $(INTEGRATIONS)/bin/python -m pytest tests/export -n 2 --dist loadfile -p no:cacheprovider
	SPARSERANK_MATRIX=$(RECORD) SPARSERANK_REQUIRE_ENGINES=1 $(INTEGRATIONS)/bin/python -m pytest $(ENGINE_TESTS) $(FORMAT_TESTS) -W default -p no:cacheprovider
	$(INTEGRATIONS)/bin/python -m integrations.matrix $(RECORD)

# Thirty-one runs by this code and by that of an earlier commit, compared bit by bit: AGAINST=COMMIT, or the one that the file names. Needs SPARSERANK_DATA.
frozen: $(INTEGRATIONS)/.done
	$(INTEGRATIONS)/bin/python -m tests.frozen $(if $(AGAINST),--against $(AGAINST))

# The files of a release in dist/, checked, installed with the oldest and the newest Python that is here, and run: the demo, README.md, the first hour.
release: $(INTEGRATIONS)/.done
	$(INTEGRATIONS)/bin/python -m integrations.release dist

# What takes longer than a test may: long fuzzing, every published table, the benchmarks. Needs SPARSERANK_DATA.
evidence: $(VENV)/.dev
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[bench,dask]"
	SPARSERANK_REQUIRE_DATA=1 $(BIN)/python -m pytest -n 2 tests/data/test_reader_fuzz.py tests/model/test_model_fuzz.py tests/papers/test_plan_file.py --fuzz-seconds 300
	SCIPY_ARRAY_API=1 $(BIN)/python -m tests.as_cpu generic -n 2 --dist loadfile
	mkdir -p evidence
	$(BIN)/python -m reproduction published $(SPARSERANK_DATA) --out evidence/published --markdown evidence/reproduction.md --preface reproduction/preface.md
	$(BIN)/python -m benchmarks > evidence/benchmarks.md
	$(BIN)/python -m benchmarks.nested
	$(BIN)/python -m benchmarks.fusion
	$(BIN)/python -m benchmarks.frontier docs/frontier.md --nested evidence/nested --fusion evidence/fusion

SCRIPTS := src/sparserank/report/templates/explorer.js

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/mypy benchmarks
	$(BIN)/mypy reproduction
	$(BIN)/mypy docs/site_pages
	@if command -v node > /dev/null; then for script in $(SCRIPTS); do echo "node --check $$script"; node --check $$script || exit 1; done; \
	else echo "node is not installed: $(SCRIPTS) not checked"; fi

clean:
	rm -rf $(VENV) $(INTEGRATIONS) demo-run evidence docs/_build docs/api docs/commands docs/gallery docs/demo
