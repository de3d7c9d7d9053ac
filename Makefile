# pgboost: build, demo and tests. Each target installs what it needs; run it again and it skips what is done.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

# The PostgreSQL to build for and install into.
ifndef PG_CONFIG
PG_CONFIG := $(shell tools/toolchain/pg-config.sh)
endif
PYTHON ?= python3
export PG_CONFIG PYTHON
# The crates that bind PostgreSQL's headers look for it.
export PGRX_PG_CONFIG_PATH := $(PG_CONFIG)
# Every import would compile its modules again: xgboost's takes seven seconds then, and three otherwise.
unexport PYTHONDONTWRITEBYTECODE

# No target is a file.
.PHONY: $(shell sed -n 's/^\([a-z0-9-]*\):.*/\1/p' $(firstword $(MAKEFILE_LIST)))

VENV := .venv/bin
PG_FEATURE = pg$$($(PG_CONFIG) --version | sed 's/^PostgreSQL \([0-9]*\).*/\1/')

help: ## list the targets
	@sed -n 's/^\([a-z0-9-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | while IFS=$$'\t' read -r target text; do \
		printf '  make %-16s %s\n' "$$target" "$$text"; done

demo: setup ## a million flights, predictions compared with XGBoost's, and their speed; V=1 says more
	@$(MAKE) -j2 install venv
	@$(VENV)/python -m tools.demo $(if $(V),--verbose)

demo-stop: ## stop the demo's cluster (its files stay; make clean deletes them)
	@if [ -x $(VENV)/python ]; then $(VENV)/python -m tools.cluster stop .demo; \
		else echo "the demo was never started"; fi

all: build
build: ## build the extensions for the PostgreSQL of PG_CONFIG
	@tools/toolchain/build.sh

install: ## install the extensions into the PostgreSQL of PG_CONFIG, below DESTDIR if set
	@tools/toolchain/install.sh

wheel: setup ## build the engine's wheel for Python, in .build/wheel
	@tools/toolchain/wheel.sh

test-wheel: setup ## build the engine's wheel, and test it in a fresh environment with NumPy alone
	@tools/toolchain/wheel.sh test

setup: ## install the Debian packages that the build, the demo and the tests need; as root
	@tools/toolchain/packages.sh

# Files in the order of their names, since pytest-xdist would start the longest, of few tests, last.
BY_FILE = --dist loadfile --no-loadscope-reorder --durations=20

# Tests of servers wait at times, when what compiles goes on. make's job server is for make alone.
test: setup ## run the extensions' tests: lint, engine, table of errors, SQL regression, end to end
	@$(MAKE) -j2 install venv
	@$(MAKE) test-wheel
	@$(MAKE) -j2 --output-sync=line test-without-server test-with-server

test-with-server:
	@MAKEFLAGS= $(MAKE) --no-print-directory test-python
	@MAKEFLAGS= tests/python/newest.sh some

test-without-server:
	@MAKEFLAGS= $(MAKE) --no-print-directory lint test-engine test-errors

test-bench: bench-install ## run the tests of the comparison, the demo and the report
	@tools/toolchain/packages.sh test-bench
	@tools/toolchain/vegeta.sh
	@bench/systems/asgi/build.sh
	@echo "==> tests of the comparison"
	@$(VENV)/pytest -n 3 $(BY_FILE) tests/bench

# What is built quickly is also linted and tested as it is built: all share what does not change between them.
CARGO_QUICK = $(if $(PGBOOST_QUICK),--release)

lint: setup venv ## check formatting, clippy, ruff, and that the engine knows nothing of PostgreSQL
	@echo "==> lint"
	@cd extension && cargo fmt --all --check
	@for crate in extension/fuzz extension/gbtrees/fuzz; do cargo fmt --manifest-path $$crate/Cargo.toml --check; done
	@. tools/toolchain/env.sh; cd extension && cargo clippy $(CARGO_QUICK) --quiet --locked --workspace \
		--all-targets --no-default-features --features pgboost/$(PG_FEATURE),pgboost_train/$(PG_FEATURE) \
		--features pgboost/faults,pgboost_train/faults -- -D warnings
	@tree=$$(cd extension && cargo tree --locked -p gbtrees --edges normal,build,dev); \
		if grep pgrx <<<"$$tree"; then echo "error: the engine depends on pgrx" >&2; exit 1; fi
	@. tools/toolchain/env.sh; for manifest in bench/systems/*/Cargo.toml; do \
		cargo fmt --manifest-path $$manifest -- --config-path extension --check; \
		cargo clippy $(CARGO_QUICK) --quiet --locked --target-dir extension/target --manifest-path $$manifest \
			-- -D warnings; done
	@$(MAKE) doc
	@$(VENV)/ruff check --quiet .
	@$(VENV)/ruff format --quiet --check .
	@if command -v go >/dev/null; then $(MAKE) prose; else echo "prose was not checked: no Go is installed"; fi

doc: setup ## build the documentation of the crates, in which every link must lead somewhere
	@. tools/toolchain/env.sh; cd extension && RUSTDOCFLAGS='-D warnings' cargo doc $(CARGO_QUICK) --quiet --locked \
		--workspace --no-deps --document-private-items --no-default-features \
		--features pgboost/$(PG_FEATURE),pgboost_train/$(PG_FEATURE)

check: setup venv ## before each commit: format, clippy, ruff, prose and unit tests of what changed since BASE (HEAD)
	@tools/toolchain/check.sh

prose: ## check the language of pages, comments and messages (Vale), and Markdown; needs Go
	@tools/toolchain/prose.sh

test-engine: setup ## run the engine's unit and property tests
	@echo "==> engine tests"
	@. tools/toolchain/env.sh; cd extension && cargo test $(CARGO_QUICK) --quiet --locked -p gbtrees -p gbtrees_c

test-errors: setup ## walk the tables of errors, and run what else of the extensions needs no server
	@echo "==> the tables of errors"
	@. tools/toolchain/env.sh; cd extension && cargo test $(CARGO_QUICK) --quiet --locked --lib \
		-p pg_interface -p row_source -p pgboost -p pgboost_train -p pgboost_trainer -p xgboost_ffi \
		--no-default-features --features pgboost/$(PG_FEATURE),pgboost_train/$(PG_FEATURE)

test-python: setup install venv wheel ## run the SQL regression and end-to-end tests against a separate cluster
	@echo "==> SQL regression and end-to-end tests"
	@MAKEFLAGS= $(VENV)/pytest -n 2 $(BY_FILE) --ignore=tests/bench --ignore=tests/extension/long --ignore=tests/gbtrees/test_wheel.py

# What make test runs too, and what grows with TIMES.
GROWING = tests/python/test_random_models.py tests/gbtrees/test_odd_input.py \
	tests/extension/batch/test_random_queries.py tests/extension/train/test_trainer.py \
	$(addprefix tests/extension/lifecycle/test_,cancel.py writers.py memory.py parallel.py preload.py)

test-long: export PGBOOST_TIMES = $(or $(TIMES),10)
test-long: install venv ## run the long tests, TIMES (10) as large: SQLsmith, full disks, kills, a week
	@tools/toolchain/packages.sh long
	@cd extension && cargo test --quiet --locked --release -p gbtrees --target-dir target/engine-tests \
		--lib --test engine kernels_
	@cd extension && PGBOOST_INPUTS=$$((PGBOOST_TIMES * 100000)) cargo test --quiet --locked --release \
		-p xgboost_ffi --target-dir target/engine-tests --test models -- --ignored --nocapture
	@$(VENV)/pytest -s tests/extension/long $(GROWING)

# What runs inside the server.
ASSERTED = tests/extension/test_sql_regression.py tests/extension/batch tests/extension/lifecycle tests/extension/long/test_signals.py \
	$(wildcard tests/extension/packaging/test_planted_*.py)

test-assertions: setup venv ## test what runs inside the server on a PostgreSQL 15 built with assertions
	@PG_CONFIG=$$(tools/toolchain/postgres_assertions.sh); \
		export CARGO_TARGET_DIR=$(CURDIR)/.build/postgres/target-assertions; \
		tools/toolchain/install.sh && $(VENV)/pytest $(or $(TESTS),$(ASSERTED))

test-asan: setup venv ## test the extensions with AddressSanitizer, on a PostgreSQL 18; needs a nightly Rust
	@tests/extension/asan/run.sh $(TESTS)

mutants: setup ## change the code in small ways, each of which a test must notice: FILES, a pattern of files
	@tools/toolchain/mutants.sh $(FILES)

test-citus: setup venv ## test models on the nodes of a Citus cluster, built from CITUS_SOURCE
	@export PG_CONFIG=$$(tools/toolchain/postgres.sh 18) CARGO_TARGET_DIR=$(CURDIR)/.build/postgres/target-18; \
		tools/toolchain/citus.sh && tools/toolchain/install.sh && $(VENV)/pytest tests/extension/citus

test-compose: venv ## test docker compose, with a separate Docker engine where none runs
	@PGBOOST_COMPOSE=1 tests/bench/compose/with-engine.sh $(VENV)/pytest tests/bench/compose

test-arm64: ## run the tests of the engine, SQL and the packages on an emulated aarch64; as root
	@for part in engine sql deb; do tests/extension/arm64/run.sh $$part; done

fuzz: ## fuzz what reads files and calls, each for TIME seconds (60); needs a nightly Rust
	@PG_FEATURE=$(PG_FEATURE) extension/gbtrees/fuzz/run.sh $(or $(TIME),60) $(TARGET)

miri: ## run the engine's tests that end in time under miri; needs a nightly Rust with miri
	@extension/gbtrees/miri.sh

test-machines: ## check for which machines the engine compiles; needs a nightly Rust with rust-src
	@extension/gbtrees/refused_machines.sh

lint-workflows: ## check .github/workflows (actionlint); needs Go
	@go run github.com/rhysd/actionlint/cmd/actionlint@v1.7.12

licences: ## check the licences and sources of all that is linked, and that nothing banned is
	@tools/toolchain/supply_chain.sh licences

audit: ## look for known vulnerabilities in all that is used; asks GitHub and PyPI
	@tools/toolchain/supply_chain.sh advisories

scripts: ## look for unsafe SQL in the extensions' scripts (pgspot)
	@tools/toolchain/supply_chain.sh scripts

sbom: ## write a release's bills of materials (CycloneDX) into .build/sbom
	@tools/toolchain/supply_chain.sh sbom

test-versions: setup venv wheel ## run the extensions' tests on PostgreSQL 15 to 19, as root; over an hour
	@tests/extension/versions/run.sh 15 16 17 18 19
	@PGBOOST_TESTS=tests/extension/batch tests/extension/versions/run.sh 16.2
	@$(MAKE) test-sklearn test-newest

newest: setup
	@tests/python/newest.sh venv

test-newest: setup install newest ## test the Python package with the newest libraries, by Python 3.12; some with make test
	@tests/python/newest.sh

test-sklearn: setup install venv ## test the Python package with earlier releases of scikit-learn
	@tests/python/releases.sh 1.3 1.5 1.7

deb: ## make Debian packages for the PostgreSQL of PG_CONFIG, in .build/deb
	@packaging/deb/build.sh

deb-source: ## make the source package for apt.postgresql.org, with all crates, in .build/deb/source
	@packaging/deb/source.sh

test-deb: deb ## install the packages in a fresh Debian, predict, upgrade, remove them; as root
	@tests/extension/packaging/deb/run.sh

test-source: ## build from source in a fresh Debian: make setup, install, a prediction, demo; as root
	@tests/extension/packaging/source/run.sh

test-deb-source: ## make the source package, and build it without a network in a fresh Debian; as root
	@tests/extension/packaging/deb/source.sh

test-sql-accept: setup install venv ## take the SQL regression tests' present output as the expected one
	@PGBOOST_ACCEPT=1 $(VENV)/pytest -q tests/extension/test_sql_regression.py || git diff --stat -- tests/extension/sql/expected

test-pages-accept: setup install venv ## write what the blocks of the users' pages print into the pages
	@$(VENV)/python -m tests.extension.pages README.md $$(grep -l '^```text$$' docs/*.md)
	@git diff --stat -- README.md docs

compare-formats: setup install venv ## compare predictions with each library's, for docs/benchmarks/formats.md
	@$(VENV)/python -m tests.extension.formats

speed: setup install venv ## measure what predict adds in the database, and record it: a quarter of an hour
	@$(VENV)/python -m bench.inside

# All at the same time, since the end of a build keeps one core busy. The harness itself builds what it needs besides:
# vegeta for fixed rates, and the wheel.
bench-install: bench-packages
	@$(MAKE) -j3 install venv bench-axum

bench-axum:
	@bench/systems/axum/build.sh

# The library that services predict with, which comes with pgboost_train.
bench-xgboost:
	@tools/toolchain/libxgboost.sh

# Nothing is trained in PostgreSQL, so pgboost_train is not built.
bench-quick: bench-packages ## start here: compare with services, 25 trees, one repetition, under 6 minutes
	@PGBOOST_TRAIN=no $(MAKE) -j4 install venv bench-axum bench-xgboost
	@bench/run --workload quick

bench: bench-install ## the same with all cells, half an hour; its results make the pages
	@bench/run

bench-split: ## compare over a network: three hosts on this machine, with a delay; as root
	@for role in server store client; do bench/provision/host.sh $$role; done
	@bench/delay_line/build.sh
	@bench/run --workload split

bench-disturbed: bench-install ## both sides while models are deployed and processes killed: ten minutes
	@$(VENV)/python -m bench.disturbed

report: venv ## make docs/benchmarks and the marked parts of other pages from bench/results
	@$(VENV)/python -m bench.report

test-aws: venv ## make and delete the hosts of bench/aws on a simulation of AWS; needs Terraform
	@[ -x .build/moto/bin/moto_server ] || { $(PYTHON) -m venv .build/moto && \
		.build/moto/bin/pip install --quiet --disable-pip-version-check 'moto[ec2,server]==5.2.1'; }
	@PATH="$(CURDIR)/.build/moto/bin:$$PATH" $(VENV)/pytest tests/bench/aws

bench-packages:
	@tools/toolchain/packages.sh bench

venv: .venv/.complete

.venv/.complete: tools/toolchain/requirements.txt | setup
	@echo "==> making the Python environment .venv, which takes half a minute"
	@$(PYTHON) -m venv .venv
	@$(VENV)/pip install --quiet --disable-pip-version-check --no-deps --no-compile --require-hashes \
		-r tools/toolchain/requirements.txt
	@touch $@

site: ## make a site of the pages, in .build/site
	@[ -x .build/mkdocs/bin/mkdocs ] || $(PYTHON) -m venv .build/mkdocs
	@.build/mkdocs/bin/pip install --quiet --disable-pip-version-check --require-hashes -r tools/toolchain/site.txt
	@NO_MKDOCS_2_WARNING=1 .build/mkdocs/bin/mkdocs --quiet build --config-file tools/toolchain/site.yml
	@echo "open .build/site/index.html"

lock: ## write requirements.txt, site.txt, markdown.txt, wheel.txt and audit.txt in tools/toolchain from pyproject.toml
	@mkdir -p .build
	@$(PYTHON) -m venv .build/lock
	@.build/lock/bin/pip install --quiet --disable-pip-version-check pip-tools==7.6.2
	@for locked in requirements site markdown wheel audit; do \
		.build/lock/bin/pip-compile --quiet --generate-hashes \
		--strip-extras --allow-unsafe --no-header --no-emit-index-url --no-emit-trusted-host --no-emit-find-links \
		--extra $$locked pyproject.toml -o tools/toolchain/$$locked.txt; done

clean: ## delete what was built and the demo's cluster; what is installed stays
	@if [ -x $(VENV)/python ]; then $(VENV)/python -m tools.cluster delete .demo .test .bench .speed; fi
	@rm -rf extension/target .build .demo .test .bench .speed .venv .pytest_cache .ruff_cache
