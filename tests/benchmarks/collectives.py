"""All-gather, reduce-scatter and all-to-all of bf16 against NCCL through PyTorch.

    torchrun --nproc-per-node 2 tests/benchmarks/collectives.py [result.json]

The programs are those of examples/. Everything runs in CUDA graphs, interleaved; figures are
medians of rounds in microseconds, of the slowest rank; sizes are those of each rank's input. Of
each program, the best of a few blocks and grids.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

import tilewire as tw
import torch
import torch.distributed as dist
from example_programs import load
from ranks import Contender, compare, release, size_name, start
from timing import machine, write

SIZES = [8 << 10, 256 << 10, 1 << 20, 4 << 20, 64 << 20]
ROUNDS = 15
BLOCKS = (1024, 2048, 4096, 8192)
GRIDS = [16, 64, 132, 264]
OPS = ["all-gather", "reduce-scatter", "all-to-all"]


def random(seed: int, num_elements: int) -> torch.Tensor:
    generator = torch.Generator("cuda").manual_seed(seed)
    return torch.randn(num_elements, device="cuda", generator=generator).to(torch.bfloat16)


def reference(op: str, inputs: list[torch.Tensor], rank: int) -> torch.Tensor:
    """In float64."""
    world = len(inputs)
    if op == "all-gather":
        return torch.stack([each.double() for each in inputs])
    parts = [each.double().view(world, -1)[rank] for each in inputs]
    return torch.stack(parts) if op == "all-to-all" else sum(parts)


def nccl_call(op: str, x: torch.Tensor, y: torch.Tensor):
    y = y.view(-1)
    if op == "all-gather":
        return lambda: dist.all_gather_into_tensor(y, x)
    if op == "reduce-scatter":
        return lambda: dist.reduce_scatter_tensor(y, x)
    return lambda: dist.all_to_all_single(y, x)


def kernel_of(op: str) -> tw.Kernel:
    return {
        "all-gather": lambda: load("06_all_gather").all_gather,
        "reduce-scatter": lambda: load("07_reduce_scatter").reduce_scatter,
        "all-to-all": lambda: load("08_all_to_all").all_to_all,
    }[op]()


def measure(comm: tw.Communicator, kernel: tw.Kernel, op: str, num_bytes: int) -> dict:
    N, world = num_bytes // 2, comm.size
    inputs = [random(r, N) for r in range(world)]
    x, expected = inputs[comm.rank], reference(op, inputs, comm.rank)
    y = torch.empty(expected.shape, dtype=torch.bfloat16, device="cuda")
    window = comm.window((world, N // world) if op == "all-to-all" else N, tw.bf16)
    torch.from_dlpack(window).view(-1).copy_(x)
    ours = Contender("tilewire")
    per_instance = N if op == "all-gather" else N // world
    for block in BLOCKS:
        num_blocks = -(-per_instance // block)
        if block > BLOCKS[0] and num_blocks < 4:
            continue
        for grid in sorted({min(each, num_blocks) for each in GRIDS})[-3:]:
            ours.calls[f"B={block} grid={grid}"] = lambda b=block, g=grid: kernel[g](window, y, B=b)
    theirs = Contender("nccl", {"": nccl_call(op, x, y)})
    for call in [*ours.calls.values(), *theirs.calls.values()]:
        y.fill_(torch.nan)
        dist.barrier()
        call()
        torch.cuda.synchronize()
        assert ((y.double() - expected).abs() <= 2.0**-8 * expected.abs() + 2.0**-20).all(), op
    result = compare([ours, theirs], ROUNDS)
    ours.calls.clear()
    release()
    comm.free(window)
    result["nccl_over_tilewire"] = round(result["nccl"]["us"] / result["tilewire"]["us"], 3)
    return result


def main() -> None:
    rank = start()
    comm = tw.init(exclusive=True)
    result = {"machine": machine(), "world": comm.size, "dtype": "bf16"}
    for op in OPS:
        result[op] = {}
        kernel = kernel_of(op)
        for num_bytes in SIZES:
            found = result[op][size_name(num_bytes)] = measure(comm, kernel, op, num_bytes)
            if rank == 0:
                print(
                    f"{op:<15} {size_name(num_bytes):>7}  tilewire {found['tilewire']['us']:8.2f}  "
                    f"nccl {found['nccl']['us']:8.2f}  nccl / tilewire "
                    f"{found['nccl_over_tilewire']:5.2f}  {found['tilewire']['choice']}"
                )
                if len(sys.argv) > 1:
                    write(Path(sys.argv[1]), result)
    comm.close()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
