# Every target sets up .venv by itself; it needs Python 3.11+ and make, nothing else.
ARGS ?=
SEED ?= $(strip $(shell od -An -N4 -tu4 /dev/urandom))
INTO ?= .
PICTURES ?= yes
PYTHON ?= $(shell for p in python3.13 python3.12 python3.11 python3.14 python3 python; do \
	$$p -c 'import sys, venv; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
BIN := .venv/bin
RUN := .venv/.run.stamp
DEV := .venv/.dev.stamp
# What a new environment gets; the lock of the tests holds that of the program.
LOCK := requirements.lock
# Each process loads all tests, for four seconds of a processor; four keep two cores busy, since many tests wait.
TESTS := -n 4 --dist worksteal --ignore=tests/e2e -p no:schemathesis
# Properties wait for nothing, and the files of the others need not be loaded.
SEARCHED := -n 2 --dist worksteal -p no:schemathesis -m "hypothesis and not e2e and not postgresql and not soak"
# Moments at which dates go wrong, each in a zone: Mondays, months, years and leap days that begin or end while the
# tests run, and the nights of both changes of clocks.
MOMENTS := 2026-11-23T00:05:00+00:00@UTC 2026-11-21T23:59:40-03:30@America/St_Johns \
	2026-12-31T23:59:40+00:00@UTC 2028-02-29T23:59:40+05:45@Asia/Kathmandu \
	2027-03-28T01:59:40+01:00@Europe/Berlin 2026-10-25T02:59:40+02:00@Europe/Berlin \
	2027-04-04T02:59:40+13:00@Pacific/Auckland 2026-11-30T23:59:40-05:00@America/New_York
# Properties choose moments of their own, and so do the tests of all zones' changes of clocks.
DATED := -m "not e2e and not postgresql and not soak and not lint and not hypothesis" --ignore=tests/pure/domain/test_evidence.py \
	--ignore=tests/pure/domain/test_wall_clock.py --ignore-glob='*/jobs/test_guardrail*' \
	tests/pure/commands tests/pure/domain tests/pure/text \
	tests/faults/jobs tests/pure/alerts tests/pure/dashboard \
	tests/sandbox/service/test_campaign.py tests/sandbox/service/test_document.py
# TEST_NOW moves the processes of end-to-end tests too: by as much for each, or they would disagree.
CLOCK = $(if $(TEST_NOW),env FAKETIME_DONT_FAKE_MONOTONIC=1 faketime -f "$$(printf %+d $$(( $$(date -d '$(TEST_NOW)' +%s) - $$(date +%s) )))s")
# A lock names all that is needed: pip need not look what its packages want.
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet --no-input --no-compile --no-deps
# On every core, which pip doesn't, and before several processes load it; a package may hold files of another Python.
# Hardly anything of the packages left out is loaded, and they are a quarter of all.
COMPILE := $(BIN)/python -m compileall -qq -j 0 -x '/(mypyc?|pip|pygments)/' .venv/lib bot cli outreach_ops sandbox shared tui || true

# Where it is set (many containers do), every test process would compile the whole program again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help demo run test test-e2e test-clock fuzz soak lint format bench lock docs clean

help:  ## list the targets
	@awk -F':.*## ' '/^[a-z0-9-]+:.*## /{printf "  make %-13s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# Python 3.11 puts setuptools, 10 MB, into each environment; nothing here needs it.
$(RUN): requirements.lock pyproject.toml
	@test -n "$(PYTHON)" || { echo "outreach-ops needs Python 3.11 or newer: install it, or name it with 'make PYTHON=/path/to/python3'." >&2; exit 2; }
	@echo "Setting up .venv (once, about a minute) ..." >&2
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@$(BIN)/python -m pip --disable-pip-version-check uninstall -qq --yes setuptools
# The pip that comes with Python 3.11 needs twice as long as the locked one, which it can be without.
	@sed -n '/^pip==/,/[^\\]$$/p' requirements-dev.lock >.venv/pip.lock
	@$(PIP) --require-hashes -r .venv/pip.lock || true
	@$(PIP) --require-hashes -r $(LOCK)
	@$(PIP) --no-build-isolation --editable .
	@$(COMPILE)
	@touch $@

$(DEV): $(RUN) requirements-dev.lock
	@echo "Adding what the tests need ..." >&2
	@$(PIP) --require-hashes -r requirements-dev.lock
	@$(COMPILE)
	@touch $@

demo: $(RUN)  ## run the whole system with embedded parts (ARGS="--headless --for 20")
	@exec $(BIN)/outreach demo $(ARGS)

run: $(RUN)  ## run any outreach command; make turns its failures into 2 (ARGS="status")
	@exec $(BIN)/outreach $(ARGS)

test: $(DEV)  ## run the tests; they need only Python (COVERAGE=1 measures them, under a gate)
ifdef COVERAGE
	@$(BIN)/coverage erase
	@$(BIN)/coverage run -m pytest $(TESTS) $(ARGS)
	@$(BIN)/coverage combine --quiet
	@$(BIN)/coverage report
else
	@$(BIN)/python -m pytest $(TESTS) $(ARGS)
endif

test-e2e: $(DEV)  ## the real page in chromium, the real dashboard in tmux, and what lasts longer
	@$(CLOCK) $(BIN)/python -m pytest -m "(e2e or postgresql) and not soak" -n 4 --dist loadgroup -p no:schemathesis $(ARGS) \
		tests/e2e tests/faults $$(grep -rl "mark.e2e" --include='test_*.py' --exclude-dir=faults tests)

test-clock: $(DEV)  ## what depends on dates, at eight odd moments (TEST_NOW=... runs the other tests at any)
	@printf '%s\n' $(MOMENTS) | xargs -P 4 -I{} sh -c 'at={}; \
		said=$$(TEST_NOW=$${at%@*} TZ=$${at#*@} $(BIN)/python -m pytest -q -n 0 -p no:schemathesis $(DATED) $(ARGS) 2>&1) && \
		echo "$$at: $$(echo "$$said" | tail -n 1)" || { echo "$$at: $$said"; exit 1; }'

# How long new properties are begun: setting up and the last ones take the rest of two minutes.
SEARCH_SECONDS := 75

fuzz: $(DEV)  ## search new examples for the properties, in two minutes (SEED=... repeats a search)
	@$(BIN)/python -m pytest $(SEARCHED) --hypothesis-profile=fuzz --hypothesis-seed=$(SEED) \
		--search-seconds=$(SEARCH_SECONDS) $(ARGS) $$(grep -rl hypothesis --include='test_*.py' tests)

soak: $(DEV)  ## the fault tests in their long form, and ten thousand seeds of the simulation
	@$(BIN)/python -m pytest -m soak -s $(ARGS)

# Each check in one pass, the quick ones first; `make docs` into an empty folder shows which pages are stale.
lint: $(DEV)  ## ruff, import contracts, mypy --strict, stale pages, words, documents, deployment files, packages
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/python -m tools.page_format --check
	@$(BIN)/lint-imports
	@fresh=$$(mktemp -d) && trap 'rm -rf "$$fresh"' EXIT && cp -r docs "$$fresh" && \
		$(MAKE) --no-print-directory docs INTO="$$fresh" PICTURES= && diff -ru docs "$$fresh/docs" || \
		{ echo "Generated pages are stale: run 'make docs'." >&2; exit 1; }
	@$(BIN)/python -m pytest -q -m lint -p no:schemathesis -o timeout=600 tests/test_*.py $(ARGS)
	@$(BIN)/mypy

format: $(DEV)  ## fix and format the code with ruff
	@$(BIN)/ruff check --fix-only --quiet .
	@$(BIN)/ruff format --quiet .

bench: $(DEV)  ## measured ratios against baselines of the same run
	@$(BIN)/python -m tools.bench $(ARGS)

docs: $(DEV)  ## write the pages that are made from the tables, and the pictures (PICTURES= leaves them)
	@$(BIN)/python -m tools.docs_pages $(INTO)/docs
ifneq ($(PICTURES),)
	@$(BIN)/python -m tools.pictures $(INTO)/docs
endif

lock: $(DEV)  ## resolve the locks again (needs uv on the path)
	@uv pip compile --quiet --universal --generate-hashes --python-version 3.11 --no-annotate --no-header pyproject.toml --group build -o requirements.lock
	@uv pip compile --quiet --universal --generate-hashes --python-version 3.11 --no-annotate --no-header pyproject.toml --group build --group dev -c requirements.lock -o requirements-dev.lock

clean:  ## remove everything that the targets made
	@rm -rf .venv build .coverage .coverage.* .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
