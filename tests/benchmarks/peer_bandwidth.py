"""Bandwidth between GPUs: tiles stored to and loaded from a peer, and puts of views, against a
hand-written copy kernel in one run.

    torchrun --nproc-per-node 2 tests/benchmarks/peer_bandwidth.py [result.json]

Each rank moves 64 MiB to or from the next rank, both directions busy at once; CUDA graphs,
interleaved, medians of the slowest rank. Of tiles and of the hand-written kernel the best of a few
blocks and grids counts; puts are listed by the number of instances.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from pathlib import Path
from typing import ClassVar

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

import tilewire as tw
import torch
import torch.distributed as dist
from ranks import Contender, compare, start
from raw_kernel import RawKernel
from timing import machine, write

NUM_BYTES = 64 << 20
N = NUM_BYTES // 2  # bf16
ROUNDS = 15
BLOCKS = (2048, 4096, 8192, 16384)
GRIDS = (132, 264, 528)
PUT_GRIDS = (4, 8, 16, 132)
HAND_GRIDS = (132, 264, 528)

# 16-byte words, eight of each thread in flight, neighbouring threads side by side.
HAND_WRITTEN = """
extern "C" __global__ void __launch_bounds__(512) copy(uint4* to, const volatile uint4* from,
                                                       long long count) {
  const long long stride = static_cast<long long>(gridDim.x) * 512;
  long long i = blockIdx.x * 512ll + threadIdx.x;
  for (; i + 7 * stride < count; i += 8 * stride) {
    uint4 words[8];
#pragma unroll
    for (int k = 0; k < 8; ++k) {
      asm volatile("ld.global.v4.u32 {%0, %1, %2, %3}, [%4];"
                   : "=r"(words[k].x), "=r"(words[k].y), "=r"(words[k].z), "=r"(words[k].w)
                   : "l"(from + i + k * stride));
    }
#pragma unroll
    for (int k = 0; k < 8; ++k) to[i + k * stride] = words[k];
  }
  for (; i < count; i += stride) {
    uint4 word;
    asm volatile("ld.global.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(word.x), "=r"(word.y), "=r"(word.z), "=r"(word.w)
                 : "l"(from + i));
    to[i] = word;
  }
}
"""


@tw.kernel
def store_tiles(x: tw.Tensor["N"], w: tw.Window["N"], *, B: tw.const):
    other = w.at((tw.rank() + 1) % tw.world_size())
    for b in tw.persistent(tw.cdiv(N, B)):
        tw.store(other[tw.ds(b * B, B)], tw.load(x[tw.ds(b * B, B)]))


@tw.kernel
def load_tiles(w: tw.Window["N"], y: tw.Tensor["N"], *, B: tw.const):
    other = w.at((tw.rank() + 1) % tw.world_size())
    for b in tw.persistent(tw.cdiv(N, B)):
        tw.store(y[tw.ds(b * B, B)], tw.load(other[tw.ds(b * B, B)]))


@tw.kernel
def put_views(x: tw.Tensor["N"], w: tw.Window["N"]):
    part = tw.cdiv(N, tw.num_programs(0) * 1024) * 1024
    first = tw.program_id(0) * part
    tw.put(w.at((tw.rank() + 1) % tw.world_size())[first : first + part], x[first : first + part])


@tw.kernel
def get_views(w: tw.Window["N"], y: tw.Tensor["N"]):
    part = tw.cdiv(N, tw.num_programs(0) * 1024) * 1024
    first = tw.program_id(0) * part
    tw.put(y[first : first + part], w.at((tw.rank() + 1) % tw.world_size())[first : first + part])


def gb_per_s(microseconds: float) -> float:
    return round(NUM_BYTES / microseconds / 1000, 1)


def bytes_at(address: int, num_bytes: int) -> torch.Tensor:
    class Memory:
        __cuda_array_interface__: ClassVar = {
            "version": 3, "shape": (num_bytes,), "typestr": "|u1", "data": (address, False),
        }  # fmt: skip

    return torch.as_tensor(Memory(), device="cuda")


class Setup:
    def __init__(self, comm: tw.Communicator) -> None:
        self.comm = comm
        self.next = (comm.rank + 1) % comm.size
        generator = torch.Generator("cuda").manual_seed(comm.rank)
        self.x = torch.randn(N, device="cuda", generator=generator).to(torch.bfloat16)
        self.y = torch.empty_like(self.x)
        self.w = comm.window(N, tw.bf16)
        self.own = torch.from_dlpack(self.w)
        self.kernel = RawKernel("#include <stdint.h>\n" + HAND_WRITTEN, "copy")

    def hand_written(self, to: int, source: int, grid: int) -> Callable[[], None]:
        arguments = ctypes.c_void_p(to), ctypes.c_void_p(source), ctypes.c_longlong(NUM_BYTES // 16)
        return lambda: self.kernel.launch(grid, 512, *arguments)

    def check_stored(self, call: Callable[[], None]) -> None:
        """What the previous rank stores here is what it has."""
        self.own.fill_(torch.nan)
        torch.cuda.synchronize()
        dist.barrier()
        call()
        torch.cuda.synchronize()
        dist.barrier()
        source = (self.comm.rank - 1) % self.comm.size
        generator = torch.Generator("cuda").manual_seed(source)
        expected = torch.randn(N, device="cuda", generator=generator).to(torch.bfloat16)
        assert torch.equal(self.own, expected)
        dist.barrier()

    def check_loaded(self, call: Callable[[], None]) -> None:
        self.own.copy_(self.x)
        self.y.fill_(torch.nan)
        torch.cuda.synchronize()
        dist.barrier()
        call()
        torch.cuda.synchronize()
        generator = torch.Generator("cuda").manual_seed(self.next)
        expected = torch.randn(N, device="cuda", generator=generator).to(torch.bfloat16)
        assert torch.equal(self.y, expected)
        dist.barrier()


def contenders(setup: Setup) -> list[Contender]:
    x, y, w = setup.x, setup.y, setup.w
    peer = w.at(setup.next).address
    swept = [(block, grid) for block in BLOCKS for grid in GRIDS]
    stores = {f"{b} x {g}": (lambda b=b, g=g: store_tiles[g](x, w, B=b)) for b, g in swept}
    loads = {f"{b} x {g}": (lambda b=b, g=g: load_tiles[g](w, y, B=b)) for b, g in swept}
    result = [Contender("store tiles", stores), Contender("load tiles", loads)]
    for grid in PUT_GRIDS:
        result.append(Contender(f"put {grid}", {"": lambda g=grid: put_views[g](x, w)}))
    for grid in PUT_GRIDS:
        result.append(Contender(f"get {grid}", {"": lambda g=grid: get_views[g](w, y)}))
    to_peer = {str(g): setup.hand_written(peer, x.data_ptr(), g) for g in HAND_GRIDS}
    from_peer = {str(g): setup.hand_written(y.data_ptr(), peer, g) for g in HAND_GRIDS}
    result.append(Contender("hand-written store", to_peer))
    result.append(Contender("hand-written load", from_peer))
    for each in result:
        is_load = "load" in each.name or "get" in each.name
        for call in each.calls.values():
            (setup.check_loaded if is_load else setup.check_stored)(call)
    return result


def main() -> None:
    rank = start()
    comm = tw.init()
    setup = Setup(comm)
    measured = compare(contenders(setup), ROUNDS)
    for each in measured.values():
        each["GB/s"] = gb_per_s(each["us"])

    def ratio(name: str, other: str) -> float:
        return round(measured[other]["us"] / measured[name]["us"], 3)

    ratios = {
        "store tiles": ratio("store tiles", "hand-written store"),
        "load tiles": ratio("load tiles", "hand-written load"),
        "put 132": ratio("put 132", "hand-written store"),
        "put 8 over put 132": ratio("put 8", "put 132"),
        "get 8 over get 132": ratio("get 8", "get 132"),
    }
    if rank == 0:
        for name, each in measured.items():
            print(f"{name:<20} {each['GB/s']:>7} GB/s  {each['us']:>9} us  {each['choice']}")
        print(ratios, flush=True)
        if len(sys.argv) > 1:
            write(
                Path(sys.argv[1]),
                {"machine": machine(), "world": comm.size, "copies": measured, "ratios": ratios},
            )
    comm.free(setup.w)
    comm.close()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
