#!/usr/bin/env bash
# Runs everything that needs GPUs, on a machine where tilewire's wheel is installed, and prints a
# short table last. $OUT gets few files: `logs.tar.gz` with the full logs, `table.txt`, and a JSON per
# benchmark.
#
#   OUT=/tmp/out GPU_TESTS=build/dev/tests/gpu_tests tests/gpu/run_on_machine.sh [step…]
#
# GPU_TESTS: the C++ tests' binary; the steps that need it are left out where there is none.
# Steps: see `steps` below; all of them by default. What needs more GPUs than there are is left out.
set -u
cd "$(dirname "$0")/../.."
OUT=${OUT:-/tmp/tilewire-gpu}
PYTHON=${PYTHON:-python3}
GPU_TESTS=${GPU_TESTS:-build/dev/tests/gpu_tests}
mkdir -p "$OUT"
LOGS=$(mktemp -d)
export PYTHONPATH="$PWD/tests/support${PYTHONPATH:+:$PYTHONPATH}"
export PYTHONUNBUFFERED=1 CUDA_DEVICE_MAX_CONNECTIONS=32
# The C++ tests find NVRTC and NCCL where Python has them.
TILEWIRE_SITE_PACKAGES=${TILEWIRE_SITE_PACKAGES:-$("$PYTHON" -c \
  'import site, sys; print(":".join([*site.getsitepackages(), *filter(None, sys.path)]))')}
export TILEWIRE_SITE_PACKAGES
# NVLink multicast stays off: nothing here needs it.
export NCCL_NVLS_ENABLE=0 TORCH_SYMM_MEM_DISABLE_MULTICAST=1
# A wait that nothing meets ends soon.
export TILEWIRE_TIMEOUT=${TILEWIRE_TIMEOUT:-30} TILEWIRE_REPORT_AFTER=${TILEWIRE_REPORT_AFTER:-5}

gpus=$(nvidia-smi -L 2>/dev/null | grep -c '^GPU')
table=()
failed=0

# run NAME SECONDS COMMAND…
run() {
  local name=$1 seconds=$2
  shift 2
  local start=$SECONDS
  timeout --kill-after=10 "$seconds" "$@" >"$LOGS/$name.log" 2>&1
  local code=$?
  tar -C "$LOGS" -czf "$OUT/logs.tar.gz" .
  local result=ok
  if [ $code -eq 124 ] || [ $code -eq 137 ]; then
    result="TIMEOUT"
  elif [ $code -ne 0 ]; then
    result="FAILED ($code)"
  fi
  [ $code -eq 0 ] || failed=1
  local last
  last=$(grep -v '^[[:space:]]*$' "$LOGS/$name.log" | tail -1 | cut -c1-70)
  table+=("$(printf '%-22s %-12s %4ds  %s' "$name" "$result" $((SECONDS - start)) "$last")")
  [ $code -eq 0 ] || { echo "--- $name"; grep -v '^[[:space:]]*$' "$LOGS/$name.log" | tail -25; }
}

skip() { table+=("$(printf '%-22s %-12s        %s' "$1" skipped "$2")"); }

pytest() { # NAME SECONDS ARGUMENTS…
  local name=$1 seconds=$2
  shift 2
  run "$name" "$seconds" "${PYTEST[@]}" "$@"
}

# As many processes as there are cores, eight at most, each with its share of the tests
# (tests/gpu/conftest.py): most of the time is compilation. `@i` in an argument is the process's number.
sharded() { # NAME SECONDS COMMAND…
  local name=$1 seconds=$2 shards=$(($(nproc) < 8 ? $(nproc) : 8))
  shift 2
  run "$name" "$seconds" bash -c '
    shards=$1; shift
    for ((i = 0; i < shards; ++i)); do TILEWIRE_TEST_SHARD=$i/$shards "${@//@i/$i}" & ids+=($!); done
    for id in "${ids[@]}"; do wait "$id" || failed=1; done
    exit ${failed:-0}' shards "$shards" "$@"
}

PYTEST=("$PYTHON" -m pytest -o pythonpath=tests/support -o timeout=0 -p no:cacheprovider -q)

cpp() { # NAME SECONDS ARGUMENTS…
  local name=$1 seconds=$2
  shift 2
  if [ -x "$GPU_TESTS" ]; then run "$name" "$seconds" "$GPU_TESTS" "$@"; else
    skip "$name" "no $GPU_TESTS"
  fi
}

two() { # NAME SECONDS COMMAND…: under torchrun, a rank per GPU
  local name=$1 seconds=$2
  shift 2
  if [ "$gpus" -lt 2 ]; then skip "$name" "needs 2 GPUs, found $gpus"; else
    run "$name" "$seconds" "$PYTHON" -m torch.distributed.run --standalone --nproc-per-node 2 "$@"
  fi
}

# After `ops`, whose kernels these are, little is left to compile. Each process has ports of its own.
sanitize_ops() { # TOOL SECONDS
  if ! command -v compute-sanitizer >/dev/null; then skip "ops-$1" "no compute-sanitizer"; else
    local options=(--tool "$1" --report-api-errors no --target-processes all --error-exitcode 9)
    ! compute-sanitizer --help 2>&1 | grep -q -e '--port ' || options+=(--port '49@i00')
    TILEWIRE_OP_CASES=sanitized sharded "ops-$1" "$2" compute-sanitizer "${options[@]}" \
      "${PYTEST[@]}" tests/gpu/test_op_cases.py
    # What it found, each once: processes mix their lines in the log.
    grep -hE '^=+ +(Error|Warning|Invalid|Potential|Program hit)' "$LOGS/ops-$1.log" |
      sort | uniq -c | sort -rn | head -20
  fi
}

step() {
  case $1 in
    doctor) run doctor 60 "$PYTHON" -m tilewire.cli doctor ;;
    cpp) cpp cpp 240 ;;
    cpp-hang) TILEWIRE_TIMEOUT=2 TILEWIRE_REPORT_AFTER=0.5 cpp cpp-hang 60 '[.hang]' ;;
    network-hang) TILEWIRE_TIMEOUT=2 TILEWIRE_REPORT_AFTER=0.5 cpp network-hang 60 '[.network-hang]' ;;
    # It runs one kernel at a time, so ranks that wait for each other would never meet.
    sanitize) if ! command -v compute-sanitizer >/dev/null; then
      skip sanitize "no compute-sanitizer"
    elif [ ! -x "$GPU_TESTS" ]; then skip sanitize "no $GPU_TESTS"; else
      run sanitize 240 compute-sanitizer --report-api-errors no --error-exitcode 9 "$GPU_TESTS" \
        'a kernel gets every argument*,a world of one over NCCL*'; fi ;;
    ops) sharded ops 300 "${PYTEST[@]}" tests/gpu/test_op_cases.py ;;
    fuzz) sharded fuzz 300 "${PYTEST[@]}" tests/gpu/test_fuzz_language.py ;;
    ops-memcheck) sanitize_ops memcheck 400 ;;
    ops-racecheck) sanitize_ops racecheck 400 ;;
    work) pytest work 180 tests/gpu/test_dividing_work.py ;;
    world-of-one) pytest world-of-one 180 tests/gpu/test_world_of_one.py ;;
    virtual) pytest virtual 300 tests/gpu/test_virtual_ranks.py tests/gpu/test_semaphores.py \
      tests/gpu/test_virtual_network.py ;;
    products) pytest products 500 tests/gpu/test_ops.py ;;
    virtual-hang) pytest virtual-hang 150 tests/gpu/test_hang.py ;;
    torch) pytest torch 300 --continue-on-collection-errors tests/python ;;
    example) two example 90 examples/01_allreduce_rmsnorm.py ;;
    examples) two examples 240 -m pytest -o pythonpath=tests/support -o timeout=0 \
      -p no:cacheprovider -q tests/multi_gpu/test_examples.py ;;
    multi-gpu) two multi-gpu 300 -m pytest -o pythonpath=tests/support -o timeout=0 \
      -p no:cacheprovider -q tests/multi_gpu --ignore tests/multi_gpu/test_examples.py \
      --ignore tests/multi_gpu/test_litmus.py --ignore tests/multi_gpu/test_ops.py ;;
    multi-products) two multi-products 580 -m pytest -o pythonpath=tests/support -o timeout=0 \
      -p no:cacheprovider -q tests/multi_gpu/test_ops.py ;;
    litmus) two litmus 400 -m pytest -o pythonpath=tests/support -o timeout=0 \
      -p no:cacheprovider -q tests/multi_gpu/test_litmus.py ;;
    hang) if [ "$gpus" -lt 2 ]; then skip hang "needs 2 GPUs, found $gpus"; else
      pytest hang 180 tests/multi_gpu/test_hang.py; fi ;;
    compile-time) run compile-time 120 "$PYTHON" tests/benchmarks/compile_time.py \
      "$OUT/compile_time.json" ;;
    virtual-speed) run virtual-speed 120 "$PYTHON" tests/benchmarks/virtual_ranks.py \
      "$OUT/virtual_ranks.json" ;;
    single-gpu) run single-gpu 400 "$PYTHON" tests/benchmarks/single_gpu.py \
      "$OUT/single_gpu.json" ;;
    matmul) run matmul 590 "$PYTHON" tests/benchmarks/matmul.py --json "$OUT/matmul.json" ;;
    launch) run launch 120 "$PYTHON" tests/benchmarks/launch.py "$OUT/launch.json" ;;
    benchmark) two benchmark 300 tests/benchmarks/allreduce_rmsnorm.py \
      "$OUT/allreduce_rmsnorm.json" ;;
    all-reduce) two all-reduce 500 tests/benchmarks/all_reduce.py "$OUT/all_reduce.json" ;;
    collectives) two collectives 300 tests/benchmarks/collectives.py "$OUT/collectives.json" ;;
    gemm-communication) two gemm-communication 590 tests/benchmarks/gemm_communication.py \
      --json "$OUT/gemm_communication.json" ;;
    barrier) two barrier 200 tests/benchmarks/barrier.py "$OUT/barrier.json" ;;
    peer-bandwidth) two peer-bandwidth 200 tests/benchmarks/peer_bandwidth.py \
      "$OUT/peer_bandwidth.json" ;;
    *) echo "no step $1 (there are: ${steps[*]})" >&2; exit 2 ;;
  esac
}

steps=(doctor cpp cpp-hang network-hang sanitize ops fuzz ops-memcheck ops-racecheck work
  world-of-one virtual products virtual-hang torch example examples multi-gpu multi-products litmus hang compile-time
  virtual-speed single-gpu matmul launch benchmark all-reduce collectives gemm-communication barrier
  peer-bandwidth)
for each in "${@:-${steps[@]}}"; do step "$each"; done

echo
{
  echo "$gpus GPU(s): $(nvidia-smi --query-gpu=name --format=csv,noheader 2>/dev/null | head -1)"
  printf '%s\n' "${table[@]}"
} | tee "$OUT/table.txt"
rm -r "$LOGS"
exit $failed
