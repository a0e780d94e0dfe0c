"""Kernels with flags and rotating windows, for tests on CPU worlds and on GPUs."""

import tilewire as tw


@tw.kernel
def push_rows(
    x: tw.Tensor["T", "H"],
    w: tw.Window["W", "T", "H"],
    y: tw.Tensor["T", "H"],
    ready: tw.Flag["W", "T"],
    *,
    H: tw.const,
):
    """Every rank's rows to all ranks; y is their sum. The barrier frees w for the next launch."""
    for row in tw.persistent(T):
        for r in tw.ranks():
            tw.store(w.at(r)[tw.rank(), row], tw.load(x[row]))
            tw.set(ready.at(r)[tw.rank(), row])
    for row in tw.persistent(T):
        tw.wait(ready[:, row])
        acc = tw.zeros((H,), tw.f32)
        for r in tw.ranks():
            acc += tw.load(w[r, row])
        tw.store(y[row], acc)
    tw.barrier()


@tw.kernel
def push_rows_rotating(
    x: tw.Tensor["T", "H"],
    w: tw.Window["W", "T", "H"],
    y: tw.Tensor["T", "H"],
    ready: tw.Flag["W", "T"],
    *,
    H: tw.const,
):
    """The same without any barrier: w rotates."""
    for row in tw.persistent(T):
        for r in tw.ranks():
            tw.store(w.at(r)[tw.rank(), row], tw.load(x[row]))
            tw.set(ready.at(r)[tw.rank(), row])
    for row in tw.persistent(T):
        tw.wait(ready[:, row])
        acc = tw.zeros((H,), tw.f32)
        for r in tw.ranks():
            acc += tw.load(w[r, row])
        tw.store(y[row], acc)


@tw.kernel
def pull_rows_rotating(
    x: tw.Tensor["T", "H"], w: tw.Window["T", "H"], y: tw.Tensor["T", "H"], ready: tw.Flag["W", "T"]
):
    """Each rank's own copy is read by its peers: nobody writes to a peer, but flags."""
    for row in tw.persistent(T):
        tw.store(w[row, 0], tw.load(x[row, 0]))
        for r in tw.ranks():
            tw.set(ready.at(r)[tw.rank(), row])
    for row in tw.persistent(T):
        tw.wait(ready[:, row])
        acc = 0.0
        for r in tw.ranks():
            acc += tw.load(w.at(r)[row, 0])
        tw.store(y[row, 0], acc)


@tw.kernel
def broadcast_rotating(
    x: tw.Tensor["T", "H"], w: tw.Window["T", "H"], y: tw.Tensor["T", "H"], ready: tw.Flag["T"]
):
    """Rank 0 waits for nobody: only the objects' state keeps it from running ahead."""
    for row in tw.persistent(T):
        if tw.rank() == 0:
            for r in tw.ranks():
                tw.store(w.at(r)[row, 0], tw.load(x[row, 0]))
                tw.set(ready.at(r)[row])
        tw.wait(ready[row])
        tw.store(y[row, 0], tw.load(w[row, 0]))


@tw.kernel
def leave_early(limit: tw.i32, x: tw.Tensor["N"], y: tw.Tensor["N"], ready: tw.Flag["W", "N"]):
    """Instances leave from a loop, from a branch in a branch, or at the end."""
    i = tw.program_id(0)
    if i >= N:
        return
    for r in tw.ranks():
        tw.set(ready.at(r)[tw.rank(), i])
    for step in range(N):
        if step == i:
            if step >= limit:
                return
            tw.wait(ready[:, i])
            tw.store(y[i], tw.load(x[i]) + 1.0)
            return


@tw.kernel
def take_only(ready: tw.Flag["W", "N"], w: tw.Window["M"], y: tw.Tensor["M"]):
    """Neither sets nor waits: the launch counts all the same."""
    for i in tw.persistent(M):
        tw.store(y[i], 1.0)


@tw.kernel
def count_to_three(y: tw.Tensor["N"], ready: tw.Flag["N"]):
    """Three sets by three instances; any number may wait for them."""
    i = tw.program_id(0)
    next = (tw.rank() + 1) % tw.world_size()
    if i < 3:
        for k in range(N):
            tw.set(ready.at(next)[k])
    for k in range(N):
        tw.wait(ready[k], n=3)
        if i == k:
            tw.store(y[k], 3.0)


@tw.kernel
def gather_filled(
    full: tw.Window["W", "N"], y: tw.Tensor["W", "N"], ready: tw.Flag["W"], *, N: tw.const
):
    """What copy engines brought, part by part as it comes."""
    for r in tw.persistent(tw.world_size()):
        tw.wait(ready[r])
        for i in range(0, N, 4096):
            part = tw.ds(i, 4096)
            tw.store(y[r, part], tw.load(full[r, part]))
    tw.barrier()
