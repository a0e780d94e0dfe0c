"""Products with communication: one kernel of tilewire's against cuBLAS with NCCL, and PyTorch.

    torchrun --nproc-per-node 2 tests/benchmarks/gemm_communication.py [--json result.json]
        [--ops reduce-scatter all-gather all-reduce] [--shapes 8192x8192x4096] [--rounds 7]
        [--tiles 128x256x64x4:g8 …] [--regimes rested sustained]

bf16, inputs N(0, 1). Shapes are M x N x K: of each rank for reduce-scatter, over all ranks for the
others, where all-gather splits N and all-reduce K. Buffers rotate beyond the L2 cache, ten calls
are one CUDA graph (PyTorch's fused operators run eagerly, unless --capture-torch), candidates take
turns, figures are medians of rounds, of the slowest rank. Rested: half a second's rest before
ten calls. Sustained: calls of 0.2 s each without a rest. `cuBLAS` is the product alone, which all
others are relative to. `plot_products.py` makes a picture of the JSON.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

import product_arguments
import ranks  # first: it keeps NVLink multicast off
import tilewire as tw
import torch
import torch.distributed as dist
from product_report import (
    GATHERED,
    LARGE,
    SMALL_M,
    Shape,
    Times,
    Variant,
    copies_beyond_cache,
    ratio,
    summary,
    table,
)
from regimes import Candidate, Clocks, regimes
from tilewire import ops
from timing import machine, write
from torch.distributed import _symmetric_memory as symmetric_memory

Call = Callable[[int], None]
SHAPES = {
    "reduce-scatter": LARGE,
    "all-gather": [*GATHERED, *SMALL_M],
    "all-reduce": [*GATHERED, *SMALL_M],
}
BF16 = torch.bfloat16


class Contest:
    """One operation at one shape on this rank: buffers, candidates, and the check of results."""

    def __init__(self, comm: tw.Communicator, shape: Shape, tiles: list[Variant]) -> None:
        self.comm, self.shape = comm, shape
        self.tilings = [
            ops.Tiling(each.BM, each.BN, each.BK, each.STAGES, each.GROUP) for each in tiles
        ]
        self.group = dist.group.WORLD.group_name
        self.generator = torch.Generator("cuda").manual_seed(100 + comm.rank)
        a, b, c = self.extents()
        num_bytes = 2 * sum(rows * columns for rows, columns in (a, b, c))
        self.sets = [
            (self.random(*a), self.random(*b), torch.empty(c, device="cuda", dtype=BF16))
            for _ in range(copies_beyond_cache(num_bytes))
        ]
        self.kept: list[object] = []
        """Objects that own windows."""

    def random(self, *extents: int) -> torch.Tensor:
        return torch.randn(extents, device="cuda", generator=self.generator).to(BF16)

    def extents(self) -> tuple[tuple[int, int], tuple[int, int], tuple[int, int]]:
        """Of this rank's a, b and result."""
        raise NotImplementedError

    def product_shape(self) -> Shape:
        """Of each rank's product."""
        (M, K), (N, _), _ = self.extents()
        return Shape(M, N, K)

    def calls(self) -> dict[str, Call]:
        """Name → call, which returns its result where that isn't in the set's buffer; "cuBLAS" is
        the product alone."""
        raise NotImplementedError

    def expected(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        """In float64, of this rank."""
        raise NotImplementedError

    def variants(self, make: Callable[..., Callable]) -> dict[str, Call]:
        """tilewire's, with the tiling that is chosen and with those that were asked for."""
        found = {"tilewire fused": make(mode="fused"), "tilewire unfused": make(mode="unfused")}
        for tiling in self.tilings:
            name = "x".join(str(each) for each in vars(tiling).values())
            found[f"tilewire fused {name}"] = make(mode="fused", tiling=tiling)
        return found

    def call_of(self, op: Callable) -> Call:
        self.kept.append(op)

        def call(i: int) -> None:
            op(*self.sets[i])

        return call

    def check(self, name: str, call: Call) -> None:
        """AssertionError on all ranks where a result is wrong on one."""
        a, b, c = self.sets[0]
        c.fill_(torch.nan)
        dist.barrier()
        result = call(0)
        torch.cuda.synchronize()
        found = c if result is None else result
        error = (found.double() - self.expected(a, b)).abs().max().nan_to_num(nan=torch.inf)
        dist.all_reduce(error, dist.ReduceOp.MAX)
        # Rounding to bf16 of terms and sums, of a size that sqrt(K) says.
        bound = 2.0**-7 * 6 * (self.comm.size * self.shape.K) ** 0.5
        assert float(error) <= bound, f"{name} at {self.shape}: {float(error)} off"


class ReduceScatter(Contest):
    def extents(self) -> tuple:
        M, N, K = self.shape
        return (M, K), (N, K), (M // self.comm.size, N)

    def expected(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        total = a.double() @ b.double().t()
        dist.all_reduce(total)
        return total.chunk(self.comm.size)[self.comm.rank]

    def calls(self) -> dict[str, Call]:
        product = torch.empty(self.shape.M, self.shape.N, device="cuda", dtype=BF16)

        def alone(i: int) -> None:
            a, b, _ = self.sets[i]
            torch.matmul(a, b.t(), out=product)

        def then_nccl(i: int) -> None:
            alone(i)
            dist.reduce_scatter_tensor(self.sets[i][2], product)

        def fused_by_torch(i: int) -> torch.Tensor:
            a, b, _ = self.sets[i]
            return torch.ops.symm_mem.fused_matmul_reduce_scatter(a, b.t(), "sum", 0, self.group)

        def make(**options: object) -> Call:
            op = ops.GemmReduceScatter(
                self.comm, BF16, max_m=self.shape.M, max_n=self.shape.N, **options
            )
            return self.call_of(op)

        return {
            "cuBLAS": alone,
            "cuBLAS, NCCL": then_nccl,
            "torch fused": fused_by_torch,
            **self.variants(make),
        }


class AllGather(Contest):
    def product_shape(self) -> Shape:
        return Shape(self.shape.M, self.shape.N // self.comm.size, self.shape.K)

    def extents(self) -> tuple:
        M, N, K = self.shape
        return (M // self.comm.size, K), (N // self.comm.size, K), (M, N // self.comm.size)

    def expected(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        full = torch.empty(self.shape.M, self.shape.K, device="cuda", dtype=BF16)
        dist.all_gather_into_tensor(full, a)
        return full.double() @ b.double().t()

    def calls(self) -> dict[str, Call]:
        full = self.random(self.shape.M, self.shape.K)

        def alone(i: int) -> None:
            _, b, c = self.sets[i]
            torch.matmul(full, b.t(), out=c)

        def nccl_before(i: int) -> None:
            dist.all_gather_into_tensor(full, self.sets[i][0])
            alone(i)

        def fused_by_torch(i: int) -> torch.Tensor:
            a, b, _ = self.sets[i]
            _, products = torch.ops.symm_mem.fused_all_gather_matmul(a, [b.t()], 0, self.group)
            return products[0]

        def make(**options: object) -> Call:
            M, N, K = self.shape
            op = ops.AllGatherGemm(self.comm, BF16, max_m=M, k=K, n=N // self.comm.size, **options)
            return self.call_of(op)

        calls = {
            "cuBLAS": alone,
            "NCCL, cuBLAS": nccl_before,
            "torch fused": fused_by_torch,
            **self.variants(make),
        }
        for transport in ("stores", "copies"):
            calls[f"tilewire fused by {transport}"] = make(mode="fused", transport=transport)
        return calls


class AllReduce(Contest):
    def extents(self) -> tuple:
        M, N, K = self.shape
        return (M, K // self.comm.size), (N, K // self.comm.size), (M, N)

    def expected(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        total = a.double() @ b.double().t()
        dist.all_reduce(total)
        return total

    def calls(self) -> dict[str, Call]:
        M, N, _ = self.shape
        shared = symmetric_memory.empty(M, N, dtype=BF16, device=torch.device("cuda"))
        symmetric_memory.rendezvous(shared, self.group)
        self.kept.append(shared)

        def alone(i: int) -> None:
            a, b, c = self.sets[i]
            torch.matmul(a, b.t(), out=c)

        def then_nccl(i: int) -> None:
            alone(i)
            dist.all_reduce(self.sets[i][2])

        def then_symmetric(i: int) -> torch.Tensor:
            a, b, _ = self.sets[i]
            torch.matmul(a, b.t(), out=shared)
            if M * N <= 1 << 20:
                return torch.ops.symm_mem.one_shot_all_reduce(shared, "sum", self.group)
            torch.ops.symm_mem.two_shot_all_reduce_(shared, "sum", self.group)
            return shared

        def make(**options: object) -> Call:
            op = ops.GemmAllReduce(self.comm, BF16, max_m=M, max_n=N, **options)
            self.kept.append(op)
            return lambda i: op(*self.sets[i][:2])  # the object's own memory

        calls = {
            "cuBLAS": alone,
            "cuBLAS, NCCL": then_nccl,
            "cuBLAS, torch symmetric": then_symmetric,
            **self.variants(make),
        }
        if M <= 512:
            for way in ("owners", "channels", "flags"):
                calls[f"tilewire fused, {way}"] = make(mode="fused", way=way)
            for way in ("owners", "channels"):
                calls[f"tilewire unfused, {way}"] = make(mode="unfused", way=way)
        return calls


CONTESTS = {"reduce-scatter": ReduceScatter, "all-gather": AllGather, "all-reduce": AllReduce}


def candidates_of(contest: Contest, captures_torch: bool) -> tuple[list[Candidate], dict[str, str]]:
    """Those that are right, and what is wrong with the others: alike on all ranks."""
    candidates, failed = [], {}
    for name, call in contest.calls().items():
        try:
            if name != "cuBLAS":  # its result is the contest's no more than a part of it
                contest.check(name, call)
            is_eager = name == "torch fused" and not captures_torch
            candidates.append(Candidate(name, call, len(contest.sets), is_eager))
        except (AssertionError, RuntimeError, tw.Error) as error:
            failed[name] = str(error).splitlines()[0]
    return candidates, failed


def slowest_of(times: Times) -> Times:
    """Of each round, the slowest rank's figure."""
    values = torch.tensor(list(times.rounds.values()), device="cuda")
    dist.all_reduce(values, dist.ReduceOp.MAX)
    return Times(dict(zip(times.rounds, values.tolist(), strict=True)))


def measure(contest: Contest, arguments: argparse.Namespace) -> dict:
    candidates, failed = candidates_of(contest, arguments.capture_torch)
    result: dict = {"failed": failed} if failed else {}
    for regime in regimes(arguments.regimes, arguments.rounds):
        with Clocks(torch.cuda.current_device()) as clocks:
            times = slowest_of(regime.measure(candidates, dist.barrier, ranks.slowest))
        found = summary(contest.product_shape(), times)
        found["clocks"] = clocks.summary()
        names = found["us"]
        ours = [name for name in names if name.startswith("tilewire")]
        peers = [name for name in names if name not in ours and name != "cuBLAS"]
        found["tilewire_over_cublas"] = ratio(names, ["cuBLAS"], ours)
        found["peers_over_tilewire"] = ratio(names, ours, peers)
        result[regime.name] = found
    return result


def title_of(name: str, shape: Shape, found: dict) -> str:
    said = [
        f"{regime}: tilewire / cuBLAS {each['tilewire_over_cublas']}, "
        f"best peer / tilewire {each['peers_over_tilewire']}"
        for regime, each in found.items()
    ]
    return f"{name} {shape}  {'; '.join(said)}"


def main() -> None:
    arguments = product_arguments.of_communication(description=__doc__)
    rank = ranks.start()
    comm = tw.init(exclusive=True)
    result: dict = {
        "benchmark": "gemm_communication",
        "machine": machine(),
        "world": comm.size,
        "dtype": "bf16",
        "ops": {name: {} for name in arguments.ops},
    }
    for name in arguments.ops:
        for shape in arguments.shapes or SHAPES[name]:
            contest = CONTESTS[name](comm, shape, arguments.tiles)
            found = measure(contest, arguments)
            result["ops"][name][str(shape)] = found
            if rank == 0:
                measured = {each: found[each] for each in arguments.regimes}
                print(table(title_of(name, shape, measured), measured, "cuBLAS"))
                for failed, why in found.get("failed", {}).items():
                    print(f"  {failed}: {why}")
                sys.stdout.flush()
                if arguments.json:
                    write(arguments.json, result)
            del contest
            ranks.release()
            torch.cuda.empty_cache()
    comm.close()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
