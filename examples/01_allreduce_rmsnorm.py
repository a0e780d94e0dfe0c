"""One kernel that sums `x` over all ranks and normalises the rows of the sum.

    python examples/01_allreduce_rmsnorm.py                       8 virtual ranks on the CPU
    python examples/01_allreduce_rmsnorm.py --world 4 --shape 33,1000
    torchrun --nproc-per-node 2 examples/01_allreduce_rmsnorm.py  a rank per GPU, NCCL windows

Prints how far the result is from a float64 reference, and what the same program becomes for an
H100. Exits with 1 where the error is out of bounds.
"""

import argparse
import sys
import tempfile
from pathlib import Path

import ml_dtypes
import numpy as np
import tilewire as tw


@tw.kernel
def allreduce_rmsnorm(
    x: tw.Window["T", "H"],
    gain: tw.Tensor["H"],
    y: tw.Tensor["T", "H"],
    eps: tw.f32,
    *,
    H: tw.const,
):
    tw.barrier()  # every rank's x is complete
    for row in tw.persistent(T):  # row = id, id + n, …: any number of rows on any grid
        acc = tw.zeros((H,), tw.f32)
        for r in tw.ranks():  # unrolled: the world size is a constant here
            acc += tw.load(x.at(r)[row, :])  # f32 += bf16 widens
        scale = tw.rsqrt(tw.sum(acc * acc) / H + eps)
        tw.store(y[row, :], acc * scale * tw.load(gain[:]))
    tw.barrier()  # nobody refills x while a peer still reads it


EPS = 1e-6
# bf16 has 8 significant bits, so storing the result moves it by up to 2^-8 of its value. What comes
# before is in f32: the sum, the norm and two products are off by some 2^-21 of the value, sums that
# cancel by some 2^-24 of their terms, which are below 2^4. 2^-16 and 2^-20 leave room for both.
RELATIVE_BOUND = 2.0**-8 + 2.0**-16
ABSOLUTE_BOUND = 2.0**-20


def inputs(rank, T, H):
    """Rank `rank`'s x, and the gain, which all ranks share."""
    x = np.random.default_rng(100 + rank).standard_normal((T, H)).astype(ml_dtypes.bfloat16)
    gain = np.random.default_rng(7).uniform(0.5, 1.5, H).astype(ml_dtypes.bfloat16)
    return x, gain


def reference(world, T, H):
    total = sum(inputs(rank, T, H)[0].astype(np.float64) for rank in range(world))
    gain = inputs(0, T, H)[1].astype(np.float64)
    return total / np.sqrt(np.mean(total * total, axis=1, keepdims=True) + EPS) * gain


def run_on_cpu(comm, T, H):
    x, gain = inputs(comm.rank, T, H)
    window = comm.window((T, H), tw.bf16)
    window.numpy()[...] = x
    y = np.full((T, H), np.nan, ml_dtypes.bfloat16)
    allreduce_rmsnorm[tw.auto](window, gain, y, EPS)
    return y.astype(np.float64)


def run_on_gpu(comm, T, H):
    import torch

    torch.cuda.set_device(comm.device)

    def to_gpu(array):
        return torch.from_numpy(array.view(np.int16)).cuda().view(torch.bfloat16)

    x, gain = inputs(comm.rank, T, H)
    window = comm.window((T, H), tw.bf16)
    torch.from_dlpack(window).copy_(to_gpu(x))
    y = torch.full((T, H), torch.nan, dtype=torch.bfloat16, device="cuda")
    allreduce_rmsnorm[tw.auto](window, to_gpu(gain), y, EPS)
    torch.cuda.synchronize()
    comm.check()
    return y.double().cpu().numpy()


def worst_error(y, expected):
    """The largest error in units of the bound, and the largest relative one; inf for NaN."""
    error = np.nan_to_num(np.abs(y - expected), nan=np.inf)
    in_bounds = error / (RELATIVE_BOUND * np.abs(expected) + ABSOLUTE_BOUND)
    relative = error / np.maximum(np.abs(expected), ABSOLUTE_BOUND)
    return float(in_bounds.max(initial=0)), float(relative.max(initial=0))


def show_compilation(comm, H):
    """How long this program took to compile, and what it is for an H100."""

    def compiling(report):
        if report.from_disk:
            return "machine code from the disk cache"
        return f"{report.compile_ms:.1f} ms to machine code"

    for compiled in allreduce_rmsnorm.compiled():
        print(f"compiled     {compiled.artifact.target}")
        print(
            f"             {compiled.report.lower_ms:.1f} ms to text, {compiling(compiled.report)}"
        )
    shapes = {"x": f"window:bf16[?,{H}]", "gain": f"bf16[{H}]", "y": f"bf16[?,{H}]"}
    compiled = allreduce_rmsnorm.compile(
        f"sm_90a:world={comm.size}", allreduce_rmsnorm.specialise_text(shapes)
    )
    path = compiled.report.source_path
    if not path:  # no disk cache
        path = str(Path(tempfile.mkdtemp()) / "allreduce_rmsnorm.cu")
        Path(path).write_text(compiled.artifact.source)
    size = compiled.artifact.num_binary_bytes
    print(f"cuda         {path}")
    print(f"cubin        {size} bytes for {compiled.artifact.target}")
    print(f"             {compiling(compiled.report)}")


def main(comm, T, H):
    """Runs on every rank; returns whether this rank's result is in bounds."""
    run = run_on_gpu if comm.target.is_cuda else run_on_cpu
    y = run(comm, T, H)
    fraction, relative = worst_error(y, reference(comm.size, T, H))
    if comm.rank == 0:
        print(f"world        {comm.size} ranks, {comm.target}")
        print(f"shapes       x [{T}, {H}] per rank, gain [{H}], y [{T}, {H}], bf16")
        show_compilation(comm, H)
    verdict = "ok" if fraction <= 1 else "OUT OF BOUNDS"
    print(
        f"rank {comm.rank:<8}relative error {relative:.2e}, {fraction:.2f} of the bound: {verdict}"
    )
    return fraction <= 1


def shape(text):
    """`64,8192` as (64, 8192)."""
    T, H = (int(part) for part in text.split(","))
    return T, H


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--world", default="8", help="number of virtual ranks")
    parser.add_argument("--shape", default=(64, 8192), type=shape, help="T,H: rows and length")
    arguments = parser.parse_args()
    T, H = arguments.shape
    good = tw.spawn(lambda comm: main(comm, T, H), world=arguments.world)
    sys.exit(0 if all(good) else 1)
