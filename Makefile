# The front door. `make` alone says what there is.
#
# The work is done by CMake (CMakeLists.txt, CMakePresets.json: one folder build/<preset> each) and by the scripts in
# tools/. Packages that are missing are installed by tools/setup.sh, as root or with sudo; otherwise it says which.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.NOTPARALLEL:
MAKEFLAGS += --no-builtin-rules

JOBS ?= $(shell nproc 2>/dev/null || echo 2)
PREFIX ?= /usr/local
DESTDIR ?=
FUZZ_SECONDS ?= 120
ATTACK_RUNS ?= 100000
ATTACK_SEED ?=
PYTHON ?= python3
VENV := .venv
CTEST_ARGS ?=
PYTEST_ARGS ?=
VALGRIND_ARGS ?=
BENCH_ARGS ?=

SH_FILES = tools/*.sh tools/interop/*.sh .ci/run $(wildcard tests/*/*.sh bench/*.sh)
C_FILES = $(wildcard include/mldf/*.h modules/*/*.[ch] src/*/*.[ch] cli/*.[ch] tests/*.h tests/*/*.[ch] tests/unit/*/*.[ch] \
	fuzz/*.[ch] tools/*/*.[ch] bench/*.[ch] examples/*.c python/_mldf/*.[ch])
PYTEST_DIRS = $(wildcard tests/python docs/spec)

.PHONY: help
help: ## this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 14

# ---- Building -----------------------------------------------------------------------------------------------------

.PHONY: setup dev release
setup:
	@tools/setup.sh build test

dev: setup ## debug build, warnings are errors: build/dev
	@cmake --preset dev >/dev/null || cmake --preset dev
	@cmake --build --preset dev -j $(JOBS)

release: setup ## optimised build: build/release
	@cmake --preset release >/dev/null || cmake --preset release
	@cmake --build --preset release -j $(JOBS)

# Made once; made again only when the pins or the interpreter change. With the stamp in place no network is asked.
$(VENV)/stamp: tests/python/requirements.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "make: the Python tests need python3 >= 3.11 (set PYTHON=...)" >&2; exit 3; }
	@test -x $(VENV)/bin/python || $(PYTHON) -m venv $(VENV)
	@tools/venv.sh $(VENV) tests/python/requirements.txt
	@touch $@

.PHONY: venv python torch
venv: setup $(VENV)/stamp ## the .venv of the Python tests

# The extension module of the debug build, and the package's Python files, into .venv. Users have `pip install .` and `make wheel`.
python: dev $(VENV)/stamp ## the Python package into .venv
	@test -e build/dev/python/mldf/_mldf.abi3.so || \
		{ echo "make: no headers of Python >= 3.11, so no Python package (Debian: apt-get install python3-dev)" >&2; exit 3; }
	@site=$$($(VENV)/bin/python -c 'import sysconfig; print(sysconfig.get_path("platlib"))'); \
	rm -rf "$$site/mldf" "$$site/mldf_command"; cmake --install build/dev --component python --prefix "$$site" >/dev/null

torch: setup $(VENV)/stamp ## PyTorch, torchvision, JAX and Numba into .venv, so that no Python test is skipped
	@tools/venv.sh $(VENV) tests/python/requirements-torch.txt

# ---- Showing and testing -------------------------------------------------------------------------------------------

.PHONY: demo test check
demo: setup ## build, then pack, verify and load small datasets of images, sound, video, texts and arrays
	@cmake --preset release >/dev/null || cmake --preset release
	@echo "building libmldf and the command (a minute the first time) ..."
	@cmake --build --preset release -j $(JOBS) --target mldf_cli >build/release/demo.log 2>&1 || { cat build/release/demo.log; exit 1; }
	@tools/demo.sh build/release/bin/mldf

test: dev python ## everything: C tests, command, fuzz corpora, layers, oracle, Python package
	@status=0; \
	ctest --preset dev -j 2 $(CTEST_ARGS) || status=1; \
	MLDF="$(CURDIR)/build/dev/bin/mldf" MLDF_SOURCE_DIR="$(CURDIR)" MLDF_BUILD_DIR="$(CURDIR)/build/dev" \
		$(VENV)/bin/python -m pytest -q -rs -n $(JOBS) --dist loadscope $(PYTEST_ARGS) $(PYTEST_DIRS) || status=1; \
	$(VENV)/bin/python -c 'import torch, jax, numba' 2>/dev/null || { \
		echo "*****************************************************************************************************"; \
		echo "make test: PyTorch, JAX or Numba is not in $(VENV): the tests with them were SKIPPED. Get them: make torch"; \
		echo "*****************************************************************************************************"; }; \
	exit $$status

check: test ## the same as test

.PHONY: api
api: ## docs/api from the docstrings of the Python package
	@$(PYTHON) tools/make_api.py

.PHONY: abi
abi: ## tools/libmldf.abi, with which make lint compares the headers, from the headers as they are
	@$(PYTHON) tools/check_abi.py --refresh

.PHONY: operations
operations: dev ## docs/operations.md from the library's own list
	@build/dev/tests/unit_pipeline_test_operations --write docs/operations.md

.PHONY: asan asan-python tsan valgrind neon coverage
asan: setup ## the C tests under the address and undefined-behaviour sanitizers
	@cmake --preset asan >/dev/null || cmake --preset asan
	@cmake --build --preset asan -j $(JOBS)
	@ctest --preset asan -j 2 $(CTEST_ARGS)

asan-python: setup $(VENV)/stamp ## the Python package's tests, with the extension under the same sanitizers
	@cmake --preset asan >/dev/null || cmake --preset asan
	@cmake --build --preset asan -j $(JOBS) --target mldf_python mldf_cli
	@tools/asan_python.sh build/asan $(PYTEST_ARGS)

tsan: setup ## the C tests under the thread sanitizer
	@cmake --preset tsan >/dev/null || cmake --preset tsan
	@cmake --build --preset tsan -j $(JOBS)
	@ctest --preset tsan -j 2 $(CTEST_ARGS)

valgrind: dev ## C tests of reading and writing under memcheck: memory that nobody has written
	@tools/setup.sh valgrind
	@JOBS=$(JOBS) tools/valgrind.sh build/dev $(VALGRIND_ARGS)

neon: ## the tests of the kernels compiled for aarch64, run by an emulator
	@tools/setup.sh neon
	@tools/neon.sh

coverage: setup ## which lines of src/ and cli/ the C tests reach
	@cmake --preset coverage >/dev/null || cmake --preset coverage
	@cmake --build --preset coverage -j $(JOBS)
	@find build/coverage -name '*.gcda' -delete
	@ctest --preset coverage -j 2 $(CTEST_ARGS)
	@$(PYTHON) tools/coverage.py build/coverage

.PHONY: fuzz fuzz-long
fuzz: ## each fuzz target for FUZZ_SECONDS (120)
	@tools/setup.sh build fuzz
	@cmake --preset fuzz >/dev/null || cmake --preset fuzz
	@cmake --build --preset fuzz -j $(JOBS)
	@tools/fuzz.sh build/fuzz $(FUZZ_SECONDS)

fuzz-long: ## each fuzz target for an hour
	@$(MAKE) --no-print-directory fuzz FUZZ_SECONDS=3600

.PHONY: attack
attack: setup ## ATTACK_RUNS (100000) mutants, failing calls, kills; prints its seed, ATTACK_SEED repeats it; half an hour
	@for preset in asan release; do cmake --preset $$preset >/dev/null || cmake --preset $$preset; done
	@cmake --build --preset asan -j $(JOBS) --target attack_runner mldf_cli
	@cmake --build --preset release -j $(JOBS) --target attack_fail mldf_cli
	@$(PYTHON) tools/attack/attack.py --self-test
	@$(PYTHON) tools/attack/attack.py --runs $(ATTACK_RUNS) $(if $(ATTACK_SEED),--seed $(ATTACK_SEED))

.PHONY: interop
interop: release ## our files before the real TurboLoader and the real FFCV (installs both, once)
	@tools/setup.sh interop
	@tools/interop/run.sh build/release build/interop

.PHONY: bench
bench: release ## the numbers that the documents quote (with bench-loader); BENCH_ARGS=--quick for a minute, without other loaders
	@bench/run.sh build/release $(BENCH_ARGS)
	@case "$(BENCH_ARGS)" in *--quick* | *--only* | *--json*) ;; *) $(MAKE) --no-print-directory bench-loader ;; esac
	@case "$(BENCH_ARGS)" in *--only* | *--json*) ;; *) $(VENV)/bin/python bench/bench_text.py build/release --install $(filter --quick,$(BENCH_ARGS)) ;; esac
	@$(PYTHON) bench/figure.py

RIVALS := build/rivals
.PHONY: bench-loader
bench-loader: release ## the loader beside DALI, TurboLoader, FFCV, tf.data, PyTorch (installs them, once: gigabytes), and cold reads
	@bench/rivals/setup.sh $(RIVALS) build/release
	@python3 bench/rivals/compare.py build/release $(RIVALS) $(COMPARE_ARGS)
	@build/release/bench/bench_cold $(RIVALS)/data/raw256.mldf

.PHONY: bench-audio
bench-audio: release ## the audio goals beside torchaudio, soundfile, librosa, torchcodec and lhotse (installs them, once), in about 5 minutes
	@bench/rivals/audio_setup.sh $(RIVALS) build/release
	@$(RIVALS)/venv_audio/bin/python bench/rivals/speech.py $(BENCH_AUDIO_ARGS)

# ---- Tidiness --------------------------------------------------------------------------------------------------------

.PHONY: fmt lint
fmt: ## format the C and Python sources in place
	@tools/setup.sh lint
	@clang-format -i $(C_FILES)
	@if [ -x $(VENV)/bin/ruff ]; then $(VENV)/bin/ruff check --quiet --fix; $(VENV)/bin/ruff format --quiet; fi

lint: ## layers, formatting, shell scripts, man pages, Python types and style
	@tools/setup.sh test lint
	@$(PYTHON) tools/check_layers.py --self-test
	@$(PYTHON) tools/check_layers.py
	@! git grep -nE '^(<<<<<<<|>>>>>>>)( |$$)' || { echo "make lint: a merge was left half done"; false; }
	@clang-format --dry-run --Werror $(C_FILES)
	@shellcheck $(SH_FILES)
	@tools/lint_man.sh
	@$(PYTHON) tools/check_abi.py
	@if [ -x $(VENV)/bin/ruff ] && [ -x $(VENV)/bin/mypy ]; then \
		$(VENV)/bin/ruff check --quiet && $(VENV)/bin/ruff format --check --quiet && $(VENV)/bin/mypy --no-error-summary; \
	else echo "make lint: no ruff and mypy in $(VENV), so the Python package was NOT checked (make venv)"; fi

# ---- Delivering ------------------------------------------------------------------------------------------------------

.PHONY: install wheel clean
install: release ## into PREFIX (/usr/local), below DESTDIR
	@DESTDIR="$(DESTDIR)" cmake --install build/release --prefix "$(PREFIX)"
	@if [ -z "$(DESTDIR)" ] && [ "$$(id -u)" -eq 0 ] && command -v ldconfig >/dev/null; then ldconfig; fi

wheel: ## a self-contained wheel in dist/, tried in an empty environment
	@tools/setup.sh build python
	@PYTHON="$(PYTHON)" tools/wheel.sh

clean: ## remove build/, dist/ and .venv
	@rm -rf build dist $(VENV)
