"""Kernels whose instances all meet, for tests on CPU worlds and on GPUs."""

import tilewire as tw


@tw.kernel
def rotate(w: tw.Window["G"], wrong: tw.Tensor["G"], *, R: tw.const):
    """Each round, each instance writes its element of the next rank's copy, and reads one that
    another instance of another rank wrote; counts what is not what it should be."""
    i = tw.program_id(0)
    n = tw.num_programs(0)
    writer = (tw.rank() + tw.world_size() - 1) % tw.world_size()
    for turn in range(R):
        tw.store(w.at((tw.rank() + 1) % tw.world_size())[i], 10000 * turn + 1000 * tw.rank() + i)
        tw.barrier(scope="grid")
        other = (i + 1 + turn) % n
        if tw.load(w[other]) != 10000 * turn + 1000 * writer + other:
            tw.store(wrong[i], tw.load(wrong[i]) + 1)
        tw.barrier(scope="grid")


@tw.kernel
def reverse_often(x: tw.Tensor["N"], y: tw.Tensor["N"], *, R: tw.const):
    """Adds R to x. Each instance reads what another one of its rank wrote."""
    for _ in range(R):
        for i in tw.persistent(N):
            tw.store(y[i], tw.load(x[N - 1 - i]) + 1)
        tw.barrier(team="local", scope="grid")
        for i in tw.persistent(N):
            tw.store(x[i], tw.load(y[N - 1 - i]))
        tw.barrier(team="local", scope="grid")
