# `make demo` and `make test` do everything on a fresh Debian 12 or Ubuntu 24.04, as root: system
# packages, a Python environment in .venv, the build. Reruns do only what changed.

PYTHON ?= python3
PRESET ?= $(if $(CI),ci,dev)
JOBS ?= $(shell nproc)
BUILD := build/$(PRESET)
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: all build module demo nccl-headers test test-gpu lint format wheel clean system

all: build

system:
	@.ci/system-packages build $(PYTHON)

.venv/stamp: pyproject.toml .ci/requirements .ci/python-environment | system
	.ci/python-environment $(PYTHON)

CONFIGURE = test -f $(BUILD)/build.ninja || cmake --preset $(PRESET)
build: .venv/stamp
	@$(CONFIGURE)
	cmake --build $(BUILD) -j $(JOBS)

# What Python needs, without the C++ tests.
module: .venv/stamp
	@$(CONFIGURE)
	cmake --build $(BUILD) -j $(JOBS) --target _tilewire

demo: module
	.venv/bin/python examples/01_allreduce_rmsnorm.py

# Of NCCL's releases, for tests/nvrtc. Without a package registry the tests say what is missing.
nccl-headers: .venv/stamp
	-@.venv/bin/python .ci/nccl-headers

# Everything that needs no GPU.
test: build nccl-headers
	ctest --test-dir $(BUILD) --verbose --no-tests=error -LE gpu -j $(JOBS) --timeout 600
	.venv/bin/python -m pytest --ignore=tests/gpu --ignore=tests/multi_gpu --ignore=tests/benchmarks

# What needs GPUs, and PyTorch in .venv; ends with a table.
test-gpu: build
	GPU_TESTS=$(BUILD)/tests/gpu_tests PYTHON=.venv/bin/python tests/gpu/run_on_machine.sh

lint: build
	@.ci/system-packages lint $(PYTHON)
	.ci/lint $(BUILD)

format: .venv/stamp
	@.ci/system-packages lint $(PYTHON)
	.ci/format

wheel: system
	.ci/wheel $(PYTHON)

clean:
	rm -rf build dist bindings/tilewire/*.so
