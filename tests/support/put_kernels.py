"""Kernels that put, for the tests on GPUs: with what must come out."""

from __future__ import annotations

import tilewire as tw


@tw.kernel
def ring_of_puts(x: tw.Tensor["N"], w: tw.Window["N"], sem: tw.Semaphore["G"], y: tw.Tensor["N"]):
    """Each instance puts its part to the next rank, waits for its own, and copies that."""
    i = tw.program_id(0)
    part = tw.cdiv(N, tw.num_programs(0) * 8) * 8
    first = i * part
    after = (tw.rank() + 1) % tw.world_size()
    tw.put(w.at(after)[first : first + part], x[first : first + part], signal=sem.at(after)[i])
    tw.wait(sem[i])
    tw.put(y[first : first + part], w[first : first + part])
    tw.barrier()  # nobody refills before all have read


@tw.kernel
def put_and_read_back(x: tw.Tensor["N"], w: tw.Window["N"], y: tw.Tensor["N"], *, B: tw.const):
    """What one instance puts to itself and to peers it reads in program order."""
    if tw.program_id(0) == 0:
        after = (tw.rank() + 1) % tw.world_size()
        tw.put(w[:], x)
        tw.put(y[:], w)
        for b in range(tw.cdiv(N, B)):
            tw.store(y[tw.ds(b * B, B)], tw.load(y[tw.ds(b * B, B)]) + tw.load(w[tw.ds(b * B, B)]))
        tw.barrier()  # nobody reads its own window after this
        tw.put(w.at(after)[:], y)
    else:
        tw.barrier()
    tw.barrier(scope="grid")


@tw.kernel
def put_strided(x: tw.Tensor["A", "B", "C"], w: tw.Window["C", "B", "A"], y: tw.Tensor["D", "C"]):
    after = (tw.rank() + 1) % tw.world_size()
    if tw.program_id(0) == 0:
        tw.put(w.at(after).T, x)
        tw.put(y[1:, :], x[:, 0, :])
    tw.barrier()


@tw.kernel
def add_everywhere(x: tw.Tensor["T", "H"], w: tw.Window["T", "H"], total: tw.Tensor["T", "H"], *,
                   H: tw.const):  # fmt: skip
    for row in tw.persistent(T):
        for r in tw.ranks():
            tw.add(w.at(r)[row, :], tw.load(x[row, :]))
        tw.reduce_store(w[row, :], tw.load(x[row, :]))
    tw.barrier(scope="grid")
    for row in tw.persistent(T):
        tw.store(total[row, :], tw.all_reduce_load(w[row, :]))
    tw.barrier()
