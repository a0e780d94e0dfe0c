"""Barriers between GPUs: tilewire's against NCCL's own session, in one run.

    torchrun --nproc-per-node 2 tests/benchmarks/barrier.py [result.json]

Kernels of 1 and of 1 + ROUNDS barriers, each behind a store of 4 bytes to a window that it must
release; CUDA graphs, interleaved, medians of the slowest rank in microseconds. `barrier` is what
one more of them takes, `launch` a kernel with one. All launches go without the cooperative
attribute, which NCCL's kernel hasn't either. `grid` is scope="grid": all instances of all ranks;
`local_grid` those of one rank.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

import tilewire as tw
import torch
import torch.distributed as dist
from ranks import release, slowest, start
from raw_kernel import RawKernel
from raw_nccl import RawNccl
from timing import Graphed, interleave, machine, write

ROUNDS = 16
REPEATS = 25
GRIDS = (1, 132)
STEP = 32  # elements between what instances store

NCCL = """
#include <nccl_device.h>

extern "C" __global__ void nccl_barrier(const __grid_constant__ ncclDevComm comm, unsigned* memory,
                                        int rounds) {
  ncclLsaBarrierSession<ncclCoopCta> session(ncclCoopCta(), comm, ncclTeamTagLsa(), blockIdx.x);
  for (int i = 0; i < rounds; ++i) {
    if (threadIdx.x == 0) memory[32 * blockIdx.x] = i;
    session.sync(ncclCoopCta(), cuda::memory_order_acq_rel);
  }
}
"""


class Requirements(ctypes.Structure):
    """`ncclDevCommRequirements` of NCCL 2.28."""

    _fields_ = [
        ("resources", ctypes.c_void_p),
        ("teams", ctypes.c_void_p),
        ("lsa_multimem", ctypes.c_bool),
        ("barriers", ctypes.c_int),
        ("lsa_barriers", ctypes.c_int),
        ("rail_gin_barriers", ctypes.c_int),
        ("lla2a_blocks", ctypes.c_int),
        ("lla2a_slots", ctypes.c_int),
        ("gin_force_enable", ctypes.c_bool),
        ("gin_contexts", ctypes.c_int),
        ("gin_signals", ctypes.c_int),
        ("gin_counters", ctypes.c_int),
    ]


@tw.kernel
def meet(w: tw.Window["N"], *, R: tw.const):
    for i in range(R):
        tw.store(w[tw.program_id(0) * 32], tw.cast(i, tw.i32))
        tw.barrier()


@tw.kernel
def meet_all(w: tw.Window["N"], *, R: tw.const):
    for i in range(R):
        tw.store(w[tw.program_id(0) * 32], tw.cast(i, tw.i32))
        tw.barrier(scope="grid")


@tw.kernel
def meet_here(w: tw.Window["N"], *, R: tw.const):
    for i in range(R):
        tw.store(w[tw.program_id(0) * 32], tw.cast(i, tw.i32))
        tw.barrier(team="local", scope="grid")


def nccl_session(nccl: RawNccl, memory: torch.Tensor) -> Callable[[int, int], Callable[[], None]]:
    """(grid, rounds) → the launch of NCCL's barrier."""
    version = ctypes.c_int()
    nccl._call("ncclGetVersion", ctypes.byref(version))
    if version.value // 100 != 228:
        raise RuntimeError(f"NCCL {version.value}: its requirements lie in an unknown way")
    device_comm = (ctypes.c_char * 8192)()
    needs = Requirements(lsa_barriers=max(GRIDS))
    nccl._call("ncclDevCommCreate", nccl._comm, ctypes.byref(needs), device_comm)
    kernel = RawKernel(NCCL, "nccl_barrier")
    address = ctypes.c_void_p(memory.data_ptr())

    def of(grid: int, rounds: int) -> Callable[[], None]:
        return lambda: kernel.launch(grid, 128, device_comm, address, ctypes.c_int(rounds))

    return of


def measure(calls: dict[str, Callable[[int, int], Callable[[], None]]], grid: int) -> dict:
    work = [
        Graphed(f"{name} {rounds}", of(grid, rounds))
        for name, of in calls.items()
        for rounds in (1, 1 + ROUNDS)
    ]
    interleave(work, REPEATS, before_each=dist.barrier)
    times = {each.name: each.median() for each in work}
    result = {}
    for name in calls:
        one, many = times[f"{name} 1"], times[f"{name} {1 + ROUNDS}"]
        result[name] = {
            "barrier": round(slowest(many - one) / ROUNDS, 3),
            "launch": slowest(one),
        }
    result["nccl_over_tilewire"] = round(
        result["nccl"]["barrier"] / result["tilewire"]["barrier"], 3
    )
    work.clear()
    release()
    return result


def main() -> None:
    rank = start()
    nccl = RawNccl()
    comm = tw.init(exclusive=True)
    w = comm.window((STEP * max(GRIDS),), tw.i32)
    memory = nccl.symmetric(2 * STEP * max(GRIDS))

    def launches(kernel: tw.Kernel) -> Callable[[int, int], Callable[[], None]]:
        return lambda grid, rounds: lambda: kernel[grid](w, R=rounds)

    calls = {
        "tilewire": launches(meet),
        "nccl": nccl_session(nccl, memory),
        "grid": launches(meet_all),
        "local_grid": launches(meet_here),
    }
    for of in calls.values():
        for grid in GRIDS:
            for rounds in (1, 1 + ROUNDS):
                of(grid, rounds)()
    comm.synchronize()
    result = {"machine": machine(), "world": comm.size, "grids": {}}
    for grid in GRIDS:
        result["grids"][grid] = measure(calls, grid)
        if rank == 0:
            print(f"{grid:>4} CTAs  {result['grids'][grid]}", flush=True)
    if rank == 0 and len(sys.argv) > 1:
        write(Path(sys.argv[1]), result)
    comm.close()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
