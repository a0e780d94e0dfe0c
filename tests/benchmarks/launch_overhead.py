"""What a launch from Python costs above the driver's call, measured without a GPU.

    python tests/benchmarks/launch_overhead.py [result.json]

The launcher is the real one, with a target that starts nothing in place of the driver, and tensors
that speak DLPack's C exchange API from C. The reference is an empty C function called alike. The
kernel takes six arguments: a window, three tensors, a float and an int. Needs a C compiler.
"""

import importlib.util
import json
import statistics
import subprocess
import sys
import sysconfig
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parents[1] / "bindings"), str(HERE.parent / "support")]

import launch_kernels as kernels  # noqa: E402
import tilewire as tw  # noqa: E402
from tilewire._tilewire import DType, Launcher, LocalFacts, RecordingTarget, describe  # noqa: E402
from tilewire.frontend.signature import ArrayArgument  # noqa: E402

CALLS = 20_000
ROUNDS = 25
FLOAT = 2
ROWS, COLUMNS = 64, 8192


@tw.kernel
def six_arguments(
    x: tw.Window["T", "H"],
    gain: tw.Tensor["H"],
    residual: tw.Tensor["T", "H"],
    y: tw.Tensor["T", "H"],
    eps: tw.f32,
    count: tw.i32,
    *,
    H: tw.const,
):
    tw.barrier()
    for row in tw.persistent(T):
        value = tw.load(x[row, :]) + tw.load(residual[row, :])
        tw.store(y[row, :], value * tw.load(gain[:]) * (eps + count))
    tw.barrier()


def load_fake_tensor():
    """Compiles and imports fake_tensor.c."""
    folder = tempfile.mkdtemp()
    path = Path(folder) / f"fake_tensor{sysconfig.get_config_var('EXT_SUFFIX')}"
    include = sysconfig.get_paths()["include"]
    source = HERE / "fake_tensor.c"
    command = ["cc", "-O2", "-shared", "-fPIC", f"-I{include}", str(source), "-o", str(path)]
    subprocess.run(command, check=True)
    spec = importlib.util.spec_from_file_location("fake_tensor", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def artifact():
    def tensor(*shape):
        return ArrayArgument("tensor", DType.f32, shape)

    described = {
        "x": ArrayArgument("window", DType.f32, (None, COLUMNS)),
        "gain": tensor(COLUMNS),
        "residual": tensor(None, COLUMNS),
        "y": tensor(None, COLUMNS),
    }
    program = six_arguments.program(kernels.GPU, six_arguments.specialise(described))
    facts = LocalFacts(
        [True] * 4 + [False] * 2, [16] * 4 + [0] * 2, [False, True, True, True, False, False]
    )
    program.set_facts(facts)
    return describe(program, tw.Target(kernels.GPU)), facts


def make_launcher(grid):
    def fallback(*_args, **_kwargs):
        raise AssertionError("the launcher didn't serve the call")

    names = [each.name for each in six_arguments.signature.parameters]
    kinds = ["window", "tensor", "tensor", "tensor", "scalar", "scalar", "constant"]
    parameters = [(name, kind, ...) for name, kind in zip(names, kinds, strict=True)]
    launcher = Launcher(fallback, parameters, grid=grid)
    described, facts = artifact()
    target = RecordingTarget(described, communicator=kernels.COMMUNICATOR, grid_limit=132)
    launcher.add(target, {"H": COLUMNS}, facts)
    return launcher, target


def nanoseconds(call, arguments):
    """CPU time of one call in a loop, the loop included: others use this machine, too."""
    a, b, c, d, e, f = arguments
    start = time.thread_time_ns()
    for _ in range(CALLS):
        call(a, b, c, d, e, f)
    return (time.thread_time_ns() - start) / CALLS


def nanoseconds_from_kernel(kernel, arguments):
    """The same with `kernel[grid]` in front of each call."""
    a, b, c, d, e, f = arguments
    start = time.thread_time_ns()
    for _ in range(CALLS):
        kernel[132](a, b, c, d, e, f)
    return (time.thread_time_ns() - start) / CALLS


def main():
    module = load_fake_tensor()
    fake_tensor = module.FakeTensor
    tensors = [
        fake_tensor(0x100000, FLOAT, 32, (COLUMNS,)),
        fake_tensor(0x200000, FLOAT, 32, (ROWS, COLUMNS)),
        fake_tensor(0x300000, FLOAT, 32, (ROWS, COLUMNS)),
    ]
    arguments = [kernels.gpu_window((ROWS, COLUMNS)), *tensors, 1e-6, 3]
    fixed, fixed_target = make_launcher(132)
    automatic, automatic_target = make_launcher(None)
    windows = [arguments[0], tensors[0], arguments[0], arguments[0], 1e-6, 3]
    six_arguments._launchers[132] = fixed  # what the first launch on a GPU leaves there
    variants = {
        "an empty C function": (nanoseconds, module.nothing, arguments),
        "launcher, fixed grid": (nanoseconds, fixed, arguments),
        "launcher, tw.auto": (nanoseconds, automatic, arguments),
        "launcher, windows for tensors": (nanoseconds, fixed, windows),
        "kernel[132](…)": (nanoseconds_from_kernel, six_arguments, arguments),
    }
    times = {name: [] for name in variants}
    for _ in range(ROUNDS):
        for name, (measure, call, values) in variants.items():
            times[name].append(measure(call, values))
    assert fixed_target.num_launches == 3 * ROUNDS * CALLS
    assert automatic_target.num_launches == ROUNDS * CALLS
    medians = {name: round(statistics.median(each), 1) for name, each in times.items()}
    minima = {name: round(min(each), 1) for name, each in times.items()}
    for name in variants:
        print(f"{name:32} {medians[name]:8.1f} ns (least {minima[name]:.1f})")
    if len(sys.argv) > 1:
        result = {"python": sys.version.split()[0], "median_ns": medians, "least_ns": minima}
        Path(sys.argv[1]).write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
