"""What a launch costs: from Python, and the raw driver call, in one run on one GPU.

    python tests/benchmarks/launch.py [result.json]

Both start the same kernel with the same arguments, which has nothing to do (no rows), in bursts
that the GPU keeps up with; interleaved, medians. Needs a C compiler for the raw loop.
"""

import ctypes
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import tilewire as tw
import torch
from timing import machine, write

BURST = 200
ROUNDS = 200


@tw.kernel
def scale_and_add(
    x: tw.Tensor["T", "H"],
    y: tw.Tensor["T", "H"],
    z: tw.Tensor["T", "H"],
    a: tw.f32,
    b: tw.f32,
    c: tw.f32,
    *,
    H: tw.const,
):
    for row in tw.persistent(T):
        tw.store(z[row, :], tw.load(x[row, :]) * a + tw.load(y[row, :]) * b + c)


class LaunchConfig(ctypes.Structure):
    _fields_ = [
        ("grid", ctypes.c_uint * 3),
        ("block", ctypes.c_uint * 3),
        ("shared_bytes", ctypes.c_uint),
        ("stream", ctypes.c_void_p),
        ("attributes", ctypes.c_void_p),
        ("num_attributes", ctypes.c_uint),
    ]


class RawLaunch:
    """The same cubin, loaded and launched without tilewire's runtime."""

    def __init__(self, artifact, arguments: list):
        self.driver = ctypes.CDLL("libcuda.so.1")
        self.module, self.function = ctypes.c_void_p(), ctypes.c_void_p()
        self._check(self.driver.cuModuleLoadData(ctypes.byref(self.module), artifact.binary))
        name = artifact.entry.encode()
        self._check(self.driver.cuModuleGetFunction(ctypes.byref(self.function), self.module, name))
        self.values = arguments
        self.parameters = (ctypes.c_void_p * len(arguments))(
            *(ctypes.addressof(each) for each in arguments)
        )
        threads = artifact.num_threads
        self.config = LaunchConfig((1, 1, 1), (threads, 1, 1), 0, None, None, 0)
        self.loop = _compiled_loop()

    def burst(self) -> float:
        launch = ctypes.cast(self.driver.cuLaunchKernelEx, ctypes.c_void_p)
        nanoseconds = self.loop(
            launch, ctypes.byref(self.config), self.function, self.parameters, BURST
        )
        assert nanoseconds > 0, "cuLaunchKernelEx failed"
        return nanoseconds

    @staticmethod
    def _check(result: int) -> None:
        assert result == 0, f"CUDA driver error {result}"


def _compiled_loop():
    library = Path(tempfile.mkdtemp()) / "raw_launch.so"
    source = Path(__file__).with_name("raw_launch.c")
    subprocess.run(["cc", "-O2", "-shared", "-fPIC", source, "-o", library], check=True)
    loop = ctypes.CDLL(str(library)).raw_launch_ns
    loop.restype = ctypes.c_double
    loop.argtypes = [ctypes.c_void_p] * 4 + [ctypes.c_int]
    return loop


def launch_burst(launcher, x, y, z) -> float:
    start = time.perf_counter_ns()
    for _ in range(BURST):
        launcher(x, y, z, 1.0, 2.0, 3.0)
    return (time.perf_counter_ns() - start) / BURST


def add_burst(x) -> float:
    start = time.perf_counter_ns()
    for _ in range(BURST):
        torch.add(x, x, out=x)
    return (time.perf_counter_ns() - start) / BURST


def slots(artifact, x: torch.Tensor) -> list:
    """The kernel's arguments as C values: no rows, any addresses."""
    kinds = {"scalar": ctypes.c_float, "tensor": ctypes.c_void_p}
    values = []
    for slot in json.loads(artifact.to_json())["arguments"]:
        value = kinds.get(slot["kind"], ctypes.c_int64)()
        if slot["kind"] == "tensor":
            value.value = x.data_ptr()
        values.append(value)
    return values


def main() -> None:
    x, y, z = (torch.zeros(0, 1024, device="cuda") for _ in range(3))
    launcher = scale_and_add[1]
    launcher(x, y, z, 1.0, 2.0, 3.0)
    torch.cuda.synchronize()
    (compiled,) = scale_and_add.compiled()
    buffer = torch.zeros(1024, device="cuda")
    raw = RawLaunch(compiled.artifact, slots(compiled.artifact, buffer))
    times = {"raw": [], "tilewire": [], "torch_add": []}
    for _ in range(ROUNDS):
        times["raw"].append(raw.burst())
        torch.cuda.synchronize()
        times["tilewire"].append(launch_burst(launcher, x, y, z))
        torch.cuda.synchronize()
        times["torch_add"].append(add_burst(buffer))
        torch.cuda.synchronize()
    medians = {f"{name}_ns": round(statistics.median(each), 1) for name, each in times.items()}
    medians["above_raw_ns"] = round(medians["tilewire_ns"] - medians["raw_ns"], 1)
    print("  ".join(f"{k} {v}" for k, v in medians.items()))
    if len(sys.argv) > 1:
        write(Path(sys.argv[1]), {"machine": machine(), "launch": medians})


if __name__ == "__main__":
    main()
