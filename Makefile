# The commands of the README. Everything lands inside the repository: .venv, build, install, log.
SHELL := /bin/bash
.DEFAULT_GOAL := help

# Interpreter of a new .venv; "make distclean" first to change it.
PYTHON ?= python3

# One venv per kind of machine: a sourced ROS or, without it, ROS from wheels.
FLAVOUR := $(or $(ROS_DISTRO),wheels)
VENV_READY := .venv/.ready-$(FLAVOUR)
BENCH_READY := .venv-bench/.ready
WHEELS_READY := .venv-wheels/.ready
DOCS_READY := .venv/.ready-docs
TESTS_READY := .venv/.ready-tests
OVERLAY_READY := install/.ready-$(FLAVOUR)

# The build looks at the contents of these: what did not change is not compiled again.
LIBRARY_READY := build/native/.ready
# What "ssik build --target c" links with.
PORTABLE_READY := build/native/.ready-portable
LIBRARY_SOURCES := tools/build_native.py $(shell find ssik_ros/kernels tools/native \
  \( -name '*.py' -o -name '*.txt' -o -name '*.c' \) 2>/dev/null)

# Sources are linked into install/: only what setup.py lists and what gets compiled asks for a build.
# Folders stand in the list because a file that is added or removed touches its folder.
INTERFACES_READY := install/.ready-interfaces-$(FLAVOUR)
INTERFACES_SOURCES := tools/build.sh tools/interfaces_for_python.cmake $(shell find interfaces 2>/dev/null)
OVERLAY_SOURCES := package.xml setup.py setup.cfg tools/build.sh \
  $(shell find config launch -type d 2>/dev/null) $(shell find moveit_plugin control_plugin 2>/dev/null)

# Where the calls of kernels go that "make same-bytes" records.
SAME_BYTES := $(CURDIR)/build/same_bytes

PAGE_SCRIPTS := $(basename $(notdir $(shell grep -l '^import generated_page' tools/make_*.py)))

.PHONY: help setup demo test test-all test-long native checked same-bytes bench benchmarks bench-check pages pictures docs soak hostile campaign mutants lint format wheels release clean distclean

help:  ## Show this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1|/' | \
	  while IFS='|' read -r name text; do printf '  make %-12s %s\n' "$$name" "$$text"; done

# Kernels and interfaces are compiled side by side: each has stretches in which it uses one core.
setup:  ## Create .venv, install the dependencies, build kernels and package
	@$(MAKE) --no-print-directory -j2 $(OVERLAY_READY)

demo: setup  ## Run every benchmark of config/benchmark (DEMO_SAMPLES=n for a short one)
	. ./activate && tools/demo.sh

test: setup $(TESTS_READY) $(PORTABLE_READY)  ## Run the quick tests (PYTEST_ARGS="-k name" to choose some; CLOCK_FACTOR=4 for clocks as on a slower machine)
	@. ./activate && SSIK_ROS_CLOCK_FACTOR=$(or $(CLOCK_FACTOR),1) tools/run_tests.sh quick $(PYTEST_ARGS)

test-all: setup $(TESTS_READY) $(PORTABLE_READY)  ## Run all tests, sweeps over many arms and long scenarios included
	@. ./activate && tools/run_tests.sh all $(PYTEST_ARGS)

test-long: setup $(TESTS_READY) $(PORTABLE_READY)  ## Run what "make test" leaves out
	@. ./activate && tools/run_tests.sh long $(PYTEST_ARGS)

native: $(VENV_READY)  ## Build the kernels, for Python and for C programs, as far as the sources have changed
	@.venv/bin/python tools/build_native.py --portable

checked: $(VENV_READY)  ## Build kernels that compare every index with bounds, which test-long and test-all use
	@.venv/bin/python tools/build_native.py --checked

wheels: $(VENV_READY) $(WHEELS_READY)  ## Build wheels and source distribution into dist/, and check them
	.venv/bin/python tools/build_native.py --portable --objects build/native_objects \
	  --target x86_64_v2 --target x86_64_v3 --target aarch64
	.venv-wheels/bin/python tools/make_wheels.py

release: wheels  ## Write the ROS packages of a release as siblings into dist/, for bloom and colcon
	.venv-wheels/bin/python tools/make_release.py

same-bytes: setup  ## Show that kernels give the same bytes by numba and for both levels of x86-64
	.venv/bin/python tools/build_native.py --target x86_64_v2 --target x86_64_v3
	rm -rf $(SAME_BYTES)
	@# Tests that count the memory of a call fail beside the recorder.
	-. ./activate && RECORD_KERNELS="$(SAME_BYTES)" PYTHONPATH="$(CURDIR)/tools:$$PYTHONPATH" \
	  python -m pytest -q -p compare_kernels -m 'not slow' $(or $(SAME_BYTES_TESTS),test)
	. ./activate && for target in jit x86_64_v2 x86_64_v3; do \
	  python tools/compare_kernels.py replay "$(SAME_BYTES)" --target $$target || exit 1; done && \
	  python tools/compare_kernels.py compare "$(SAME_BYTES)"

bench: $(BENCH_READY)  ## Compare with the peers, in a venv of their own (BENCH_ARGS=...)
	PYTHONPATH="$(CURDIR)" .venv-bench/bin/python bench/run.py $(BENCH_ARGS)
	PYTHONPATH="$(CURDIR)" .venv-bench/bin/python bench/analytic.py $(ANALYTIC_ARGS)
	PYTHONPATH="$(CURDIR)" .venv-bench/bin/python bench/many_poses.py $(MANY_POSES_ARGS)
	PYTHONPATH="$(CURDIR)" .venv-bench/bin/python bench/closed_chain.py $(CLOSED_CHAIN_ARGS)
	PYTHONPATH="$(CURDIR)" .venv-bench/bin/python bench/start_up.py $(START_UP_ARGS)
	@if [ -f .venv/bin/activate ] && . ./activate && python -c 'import rclpy, moveit_msgs.srv' 2>/dev/null; \
	then timeout 1800 python bench/round_trip.py $(ROUND_TRIP_ARGS) && python bench/start_up.py --ratios $(START_UP_ARGS); \
	else echo 'No round trips over ROS: rclpy and moveit_msgs are not here (make setup brings them).'; fi

benchmarks: bench  ## Run make bench and write docs/benchmarks/results.md from it
	PYTHONPATH="$(CURDIR)" .venv-bench/bin/python bench/document.py $(DOCUMENT_ARGS)

bench-check: setup  ## Compare the hot kernels with those of the last release (CHECK_ARGS=...)
	. ./activate && python bench/check.py $(CHECK_ARGS)

pages: setup  ## Write all pages that are generated from code, interfaces and tests
	. ./activate && for page in $(PAGE_SCRIPTS); do python tools/$$page.py || exit 1; done

pictures: setup  ## Draw the pictures of README and docs into docs/images, arms with their makers' meshes
	.venv/bin/python -m pip install --quiet --progress-bar off -r requirements/robots.txt
	. ./activate && python tools/make_pictures.py $(PICTURES) && python tools/make_cards.py

docs: setup $(DOCS_READY)  ## Build the site of docs/ into build/docs/html; a warning is an error
	. ./activate && python tools/make_pictures.py && \
	  rm -rf build/docs/html && python -m sphinx -W --keep-going -q -b html docs build/docs/html
	@test -f build/docs/html/index.html || { echo 'make docs: sphinx ended without a site' >&2; exit 1; }
	@echo 'Open build/docs/html/index.html'

soak: setup  ## Ask the node everything for half an hour (SOAK_MINUTES=n)
	. ./activate && python -m campaigns.soak --minutes $(or $(SOAK_MINUTES),30) $(SOAK_ARGS)

hostile: setup  ## Send the node 100,000 messages that nobody should (HOSTILE_ARGS=...)
	. ./activate && python -m campaigns.hostile $(HOSTILE_ARGS)

campaign: setup  ## Attack proofs, completeness and limits at planted postures (CAMPAIGN_MINUTES=n, CAMPAIGN_ROBOTS=folder)
	. ./activate && python -m campaigns.postures --minutes $(or $(CAMPAIGN_MINUTES),10) \
	  $(if $(CAMPAIGN_ROBOTS),--robots $(CAMPAIGN_ROBOTS)) $(CAMPAIGN_ARGS)

fuzz: setup $(PORTABLE_READY)  ## Fuzz the C library and the readers of files (FUZZ_MINUTES=n for each)
	. ./activate && for run in fuzz/*/run.sh; do "$$run" $(or $(FUZZ_MINUTES),10) || exit 1; done

mutants: setup  ## Break the promises on purpose and show that the tests notice
	. ./activate && python tools/mutants.py $(MUTANTS_ARGS)

lint: $(VENV_READY)  ## Check style and types
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .
	.venv/bin/python tools/prose.py --dialect
	.venv/bin/python tools/check_style.py
	.venv/bin/mypy

format: $(VENV_READY)  ## Let ruff format the sources and mend what it can
	.venv/bin/ruff check --fix-only --exit-zero .
	.venv/bin/ruff format .

clean:  ## Remove build products, results and caches
	rm -rf build install log dist *.egg-info demo_output bench_output
	rm -rf .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find . -path './.venv*' -prune -o -name __pycache__ -type d -prune -exec rm -rf {} +

distclean: clean  ## Remove the virtual environments too
	rm -rf .venv .venv-bench .venv-wheels

$(VENV_READY): requirements/core.txt requirements/native.txt requirements/dev.txt requirements/build.txt requirements/view.txt \
    requirements/xacro.txt requirements/reach.txt requirements/ros.txt tools/make_venv.sh tools/mend_ros_wheels.py
	tools/make_venv.sh "$(PYTHON)" "$(FLAVOUR)"
	@touch $@

$(BENCH_READY): requirements/bench.txt requirements/bench_optional.txt requirements/bench_npm.txt requirements/core.txt tools/make_bench_venv.sh
	tools/make_bench_venv.sh "$(PYTHON)"
	@touch $@

$(WHEELS_READY): requirements/wheels.txt tools/make_wheels_venv.sh
	tools/make_wheels_venv.sh "$(PYTHON)"
	@touch $@

$(DOCS_READY): $(TESTS_READY) requirements/docs.txt
	.venv/bin/python -m pip install --quiet --progress-bar off -r requirements/docs.txt
	@touch $@

$(LIBRARY_READY): $(VENV_READY) $(LIBRARY_SOURCES)
	.venv/bin/python tools/build_native.py
	@touch $@

$(PORTABLE_READY): $(LIBRARY_READY)
	.venv/bin/python tools/build_native.py --portable
	@touch $@

$(TESTS_READY): $(VENV_READY) requirements/browser.txt
	.venv/bin/python -m pip install --quiet --progress-bar off -r requirements/browser.txt
	@touch $@

$(INTERFACES_READY): $(VENV_READY) $(INTERFACES_SOURCES)
	tools/build.sh interfaces
	@mkdir -p install && touch $@

$(OVERLAY_READY): $(VENV_READY) $(LIBRARY_READY) $(INTERFACES_READY) $(OVERLAY_SOURCES)
	tools/build.sh package
	@touch $@
	@echo 'Ready. Enter the environment with: . ./activate'
