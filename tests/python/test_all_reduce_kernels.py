"""What the all-reduce benchmark compares gives equal bits on all ranks, the right ones, and may be
launched again at once on refilled arrays."""

import ml_dtypes
import numpy as np
import pytest
import tilewire as tw
from all_reduce_kernels import (
    num_parts,
    one_shot,
    two_shot_halves,
    two_shot_pull,
    two_shot_push,
    two_shot_put,
)

BLOCK = 64
KERNELS = ["one_shot", "two_shot_pull", "two_shot_push", "two_shot_put", "two_shot_halves"]


def make(name, comm, N):
    """`launch(x)`, where x is this rank's array → the sum."""
    window, y = comm.window(N, tw.bf16), np.full(N, np.nan, ml_dtypes.bfloat16)
    parts = comm.window((comm.size, num_parts(N, comm.size, BLOCK), BLOCK), tw.bf16)
    sums = comm.window(N, tw.bf16)

    def launch(x):
        window.numpy()[...] = x
        y[...] = np.nan
        if name == "one_shot":
            one_shot[3](window, y, B=BLOCK)
            return y.copy()
        if name == "two_shot_pull":
            two_shot_pull[3](window, sums, B=BLOCK)
        elif name == "two_shot_push":
            two_shot_push[3](x, parts, sums, B=BLOCK)
        elif name == "two_shot_put":
            two_shot_put[3](x, parts, sums, B=BLOCK)
        else:
            two_shot_halves[3](x, parts, sums, B=BLOCK, C=3)
        return sums.numpy().copy()

    return launch


def array(rank, step, N):
    return np.random.default_rng([rank, step]).standard_normal(N).astype(ml_dtypes.bfloat16)


@pytest.mark.parametrize("world", ["1", "2", "3", "8"])
@pytest.mark.parametrize("N", [1, 63, 1000, 4097])
@pytest.mark.parametrize("name", KERNELS)
def test_sums(name, N, world):
    def main(comm):
        launch = make(name, comm, N)
        return [launch(array(comm.rank, step, N)) for step in range(3)]

    for seed in range(3):
        results = tw.spawn(main, world=world, seed=seed)
        for step in range(3):
            exact = sum(array(r, step, N).astype(np.float64) for r in range(int(world)))
            error = np.abs(results[0][step].astype(np.float64) - exact)
            assert (error <= 2.0**-8 * np.abs(exact) + 2.0**-20).all()
            for each in results:
                assert (each[step].view(np.int16) == results[0][step].view(np.int16)).all()
