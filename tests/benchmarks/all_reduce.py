"""All-reduce of bf16: programs of the tile language against NCCL and PyTorch.

    torchrun --nproc-per-node 2 tests/benchmarks/all_reduce.py [result.json]

Everything runs in CUDA graphs, interleaved; figures are medians of rounds in microseconds, of the
slowest rank. Of each program, the best of a few blocks and grids. Peers: NCCL called directly, from
plain memory and from a window of its own; torch.distributed over NCCL; PyTorch's symmetric memory.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

import tilewire as tw
import torch
import torch.distributed as dist
from all_reduce_kernels import (
    num_parts,
    one_shot,
    over_channel_slots,
    over_channels,
    two_shot_halves,
    two_shot_pull,
    two_shot_push,
    two_shot_put,
)
from ranks import Contender, compare, release, size_name, start
from raw_nccl import RawNccl
from timing import machine, write
from torch.distributed import _symmetric_memory as symmetric_memory

REACH = {8 << 10: 2.3, 64 << 10: 2.6, 256 << 10: 3.2, 1 << 20: 5.5, 4 << 20: 14.5, 64 << 20: 192}
ROUNDS = 15
GRIDS = [8, 16, 32, 64, 132, 264, 528]
Call = Callable[[], None]


class Arrays:
    """One size's arrays on this rank, and how a result is checked."""

    def __init__(self, comm: tw.Communicator, num_bytes: int):
        self.comm = comm
        self.N = num_bytes // 2
        self.inputs = [self._random(r) for r in range(comm.size)]
        self.x = self.inputs[comm.rank]
        self.x_window, self.sum_window = comm.window(self.N, tw.bf16), comm.window(self.N, tw.bf16)
        torch.from_dlpack(self.x_window).copy_(self.x)
        self.sums = torch.from_dlpack(self.sum_window)
        self.y = torch.empty_like(self.x)
        self.parts: dict[int, tw.Window] = {}
        self.channels: dict[tuple[int, int, bool], tw.Channel] = {}

    def _random(self, rank: int) -> torch.Tensor:
        generator = torch.Generator("cuda").manual_seed(100 + rank)
        return torch.randn(self.N, device="cuda", generator=generator).to(torch.bfloat16)

    def parts_of(self, block: int) -> tw.Window:
        if block not in self.parts:
            shape = (self.comm.size, num_parts(self.N, self.comm.size, block), block)
            self.parts[block] = self.comm.window(shape, tw.bf16)
        return self.parts[block]

    def channel_of(self, block: int, grid: int, has_tags: bool) -> tw.Channel:
        key = (block, grid, has_tags)
        if key not in self.channels:
            self.channels[key] = self.comm.channel(
                (self.comm.size, grid), (block,), tw.bf16, exchange=True, signed_zero=has_tags
            )
        return self.channels[key]

    def check(self, call: Call, result: torch.Tensor) -> None:
        """Right, and equal bits on all ranks."""
        result.fill_(torch.nan)
        dist.barrier()
        call()
        torch.cuda.synchronize()
        expected = sum(each.double() for each in self.inputs)
        error = (result.double() - expected).abs() / (2.0**-8 * expected.abs() + 2.0**-20)
        assert not (error > 1).any() and not result.isnan().any(), f"{float(error.max())} off"
        of_rank_0 = result.clone()
        dist.broadcast(of_rank_0, 0)
        assert torch.equal(of_rank_0, result), "the ranks' bits differ"

    def free(self) -> None:
        arrays = [self.x_window, self.sum_window, *self.parts.values(), *self.channels.values()]
        for each in arrays:
            self.comm.free(each)


def useful_grids(num_blocks: int) -> list[int]:
    """Those that give each instance something to do, and the least that gives each one block."""
    return sorted({min(grid, num_blocks) for grid in GRIDS})[-4:]


def of_barriers(arrays: Arrays) -> list[Contender]:
    """The programs that synchronise by barriers alone."""
    contenders = {
        name: Contender(f"tilewire {name}") for name in ("one-shot", "pull", "push", "put")
    }
    a = arrays
    for block in (1024, 2048, 4096, 8192):
        if block > max(a.N // 2, 1024):
            continue
        shared = -(-a.N // block)
        if a.N <= 1 << 22:
            for grid in useful_grids(shared):
                contenders["one-shot"].calls[f"B={block} grid={grid}"] = lambda b=block, g=grid: (
                    one_shot[g](a.x_window, a.y, B=b)
                )
        if a.N < 1 << 19 or block < 2048:
            continue
        parts = a.parts_of(block)
        for grid in [each for each in useful_grids(shared // 2) if each >= 64]:
            choice = f"B={block} grid={grid}"
            contenders["pull"].calls[choice] = lambda b=block, g=grid: two_shot_pull[g](
                a.x_window, a.sum_window, B=b
            )
            contenders["push"].calls[choice] = lambda b=block, g=grid, p=parts: two_shot_push[g](
                a.x, p, a.sum_window, B=b
            )
            contenders["put"].calls[choice] = lambda b=block, g=grid, p=parts: two_shot_put[g](
                a.x, p, a.sum_window, B=b
            )
            for rounds in (4, 16) if a.N >= 1 << 24 else ():
                contenders["push"].calls[f"{choice} rounds={rounds}"] = (
                    lambda b=block, g=grid, p=parts, c=rounds: two_shot_halves[g](
                        a.x, p, a.sum_window, B=b, C=c
                    )
                )
    for name, contender in contenders.items():
        for choice, call in list(contender.calls.items()):
            try:
                arrays.check(call, arrays.y if name == "one-shot" else arrays.sums)
            except tw.UserError as error:  # on all ranks alike
                assert "can't be resident at once" in str(error)
                del contender.calls[choice]
    return list(contenders.values())


def of_channels(arrays: Arrays) -> list[Contender]:
    """Small arrays: from a block per instance to four; with tags, for comparison, a few. Large ones
    without tags, through a slot per instance or per block: two ranks send each other as much as in
    two shots. Each choice is a compilation."""
    a = arrays
    contenders = {name: Contender(f"tilewire {name}") for name in ("channels", "tagged channels")}
    for name, contender in contenders.items():
        is_small, has_tags = a.N <= 1 << 21, name.startswith("tagged")
        for block in (1024, 2048, 4096) if has_tags else (512, 1024, 2048, 4096, 8192, 16384):
            num_blocks = -(-a.N // block)
            shares = {-(-num_blocks // share) for share in ((1,) if has_tags else (1, 2, 4))}
            for grid in sorted(shares if is_small else {64, 132, 264}):
                if grid > 264 or block > a.N or not (is_small or (block > 2048 and not has_tags)):
                    continue
                for kernel, slots in ((over_channels, grid), (over_channel_slots, num_blocks)):
                    if is_small and kernel is over_channel_slots:
                        continue
                    ch = a.channel_of(block, slots, has_tags)
                    call = functools.partial(kernel[grid], a.x, a.y, ch, B=block)
                    try:
                        arrays.check(call, a.y)
                    except tw.UserError as error:  # on all ranks alike
                        assert "can't be resident at once" in str(error)
                        continue
                    contender.calls[f"B={block} grid={grid} slots={slots}"] = call
    return [each for each in contenders.values() if each.calls]


def of_peers(arrays: Arrays, nccl: RawNccl) -> list[Contender]:
    """What works in place is repeated in place: NCCL takes the mean, which stays where it is;
    PyTorch's two-shot has only the sum, which soon is infinite."""
    a = arrays
    window_in, window_out = nccl.symmetric(a.N), nccl.symmetric(a.N)
    window_in.copy_(a.x)
    plain, buffer = nccl.all_reduce(a.x, a.y), a.x.clone()
    windowed = nccl.all_reduce(window_in, window_out)
    arrays.check(plain, a.y)
    arrays.check(windowed, window_out)
    shared = symmetric_memory.empty(a.N, dtype=torch.bfloat16, device=a.x.device)
    group = dist.group.WORLD.group_name
    symmetric_memory.rendezvous(shared, group)
    shared.copy_(a.x)
    torch_calls = {
        "one-shot": lambda: torch.ops.symm_mem.one_shot_all_reduce(shared, "sum", group),
        "two-shot": lambda: torch.ops.symm_mem.two_shot_all_reduce_(shared, "sum", group),
    }
    if a.N > 1 << 22:
        del torch_calls["one-shot"]
    return [
        Contender("nccl", {"plain": plain, "window": windowed}),
        Contender("torch nccl", {"": lambda: dist.all_reduce(buffer, dist.ReduceOp.AVG)}),
        Contender("torch symmetric", torch_calls),
    ]


def measure(comm: tw.Communicator, nccl: RawNccl, num_bytes: int) -> dict:
    arrays = Arrays(comm, num_bytes)
    result = compare([*of_barriers(arrays), *of_channels(arrays), *of_peers(arrays, nccl)], ROUNDS)
    release()
    arrays.free()
    ours = min(each["us"] for name, each in result.items() if name.startswith("tilewire"))
    peers = min(each["us"] for name, each in result.items() if not name.startswith("tilewire"))
    return {
        **result,
        "tilewire": ours,
        "peers_over_tilewire": round(peers / ours, 3),
        "reach": REACH[num_bytes],
    }


def show(num_bytes: int, result: dict) -> None:
    print(
        f"{size_name(num_bytes):>7}  tilewire {result['tilewire']:.2f} us (reach "
        f"{result['reach']}), best peer / tilewire {result['peers_over_tilewire']}"
    )
    for name, each in result.items():
        if isinstance(each, dict):
            print(f"         {name:<20} {each['us']:8.2f}  {each['choice']}")


def main() -> None:
    rank = start()
    nccl = RawNccl()
    comm = tw.init(exclusive=True)
    result = {"machine": machine(), "world": comm.size, "dtype": "bf16", "sizes": {}}
    for num_bytes in REACH:
        result["sizes"][size_name(num_bytes)] = measure(comm, nccl, num_bytes)
        if rank == 0:
            show(num_bytes, result["sizes"][size_name(num_bytes)])
            if len(sys.argv) > 1:
                write(Path(sys.argv[1]), result)
    comm.close()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
