"""What goes over the network: worlds of two LSA teams of two ranks, so that each op has ranks that
loads and stores reach, and others."""

import numpy as np
import tilewire as tw

from op_cases.case import op_case

WORLD = {"world": 4, "teams": 2}


def from_all(x):
    """[source, …] on each rank."""
    return [np.stack(x)] * len(x)


@op_case(
    "put",
    "signal",
    "wait",
    inputs=lambda make: {
        "x": make.values(),
        "inbox": make.output((make.world, *make.shape)),
        "ready": make.semaphore(make.shape[0], make.world),
    },
    reference=lambda x: {"inbox": from_all(x)},
    dtypes=(tw.f32, tw.bf16, tw.i8),
    grid=2,
    **WORLD,
)
@tw.kernel
def put_tiles_anywhere(
    x: tw.Tensor["T", "H"],
    inbox: tw.Window["W", "T", "H"],
    ready: tw.Semaphore["T", "W"],
    *,
    H: tw.const,
):
    for row in tw.persistent(T):
        for r in tw.ranks():
            tw.put(
                inbox.at(r)[tw.rank(), row, :],
                tw.load(x[row, :]),
                signal=ready.at(r)[row, tw.rank()],
            )
        tw.wait(ready[row, :])


@op_case(
    "put",
    "flush",
    inputs=lambda make: {
        "x": make.values(),
        "w": make.output((make.world, make.shape[0] + 2, make.shape[1])),
    },
    reference=lambda x: {
        "w": from_all(
            [
                np.concatenate([[np.full(each.shape[1], 7)], each, [np.full(each.shape[1], 7)]])
                for each in x
            ]
        )
    },
    dtypes=(tw.f32, tw.f16),
    shapes=((4, 64), (5, 37), (3, 1)),
    grid=1,
    **WORLD,
)
@tw.kernel
def put_views_anywhere(x: tw.Window["T", "H"], w: tw.Window["W", "S", "H"], *, H: tw.const):
    """What the smaller of two views has not is left alone: it is 7 there, by puts of single values'
    tiles and of all ranks' own."""
    for s in tw.ranks():
        tw.store(w[s, 0, :], tw.full((H,), 7, w.dtype))
        tw.store(w[s, S - 1, :], tw.full((H,), 7, w.dtype))
    tw.barrier()
    for r in tw.ranks():
        tw.put(w.at(r)[tw.rank(), 1 : S - 1, :], x[0 : T + 100, :])
    tw.flush()
    tw.barrier()


@op_case(
    "put_value",
    "barrier",
    inputs=lambda make: {"w": make.output((4, 3), tw.i32)},
    reference=lambda: {"w": [np.arange(4)[:, None] * 10 + np.arange(3)] * 4},
    dtypes=(tw.i32,),
    grid=3,
    **WORLD,
)
@tw.kernel
def put_values_anywhere(w: tw.Window[4, 3]):
    i = tw.program_id(0)
    for r in tw.ranks():
        tw.put_value(w.at(r)[tw.rank(), i], 10 * tw.rank() + i)
    tw.barrier()


@op_case(
    "get",
    "flush",
    inputs=lambda make: {"x": make.values(), "w": make.output((make.world, *make.shape))},
    reference=lambda x: {"w": from_all(x)},
    dtypes=(tw.f32, tw.u8),
    grid=2,
    **WORLD,
)
@tw.kernel
def get_from_anywhere(x: tw.Window["T", "H"], w: tw.Window["W", "T", "H"]):
    for row in tw.persistent(T):
        for r in tw.ranks():
            tw.get(w[r, row, :], x.at(r)[row, :])
    tw.flush()


@op_case(
    "barrier",
    "put",
    inputs=lambda make: {
        "x": make.values(),
        "w": make.output((make.world, *make.shape)),
        "y": make.output(),
    },
    reference=lambda x: {
        "y": [np.roll(x[(rank + 2) % 4], -1, axis=0) for rank in range(4)],
    },
    grid=3,
    **WORLD,
)
@tw.kernel
def meet_on_the_rail(x: tw.Tensor["T", "H"], w: tw.Window["W", "T", "H"], y: tw.Tensor["T", "H"], *,
                     H: tw.const):  # fmt: skip
    """To the rank of the other team that has the same place; all instances of the rail meet."""
    other = 1 - tw.rank("rail")
    for row in tw.persistent(T):
        tw.put(w.at(other, team="rail")[tw.rank(), row, :], tw.load(x[row, :]))
    tw.barrier(team="rail", scope="grid")
    for row in tw.persistent(T):
        tw.store(y[row, :], tw.load(w[(tw.rank() + 2) % 4, (row + 1) % T, :]))
    tw.barrier(team="rail", order="relaxed")


@op_case(
    "barrier",
    "put",
    inputs=lambda make: {"x": make.values(), "w": make.output(), "y": make.output()},
    reference=lambda x: {"y": [np.roll(x[rank ^ 3], -1, axis=0) for rank in range(4)]},
    dtypes=(tw.f32,),
    grid=3,
    **WORLD,
)
@tw.kernel
def meet_everywhere(x: tw.Tensor["T", "H"], w: tw.Window["T", "H"], y: tw.Tensor["T", "H"], *,
                    H: tw.const):  # fmt: skip
    """Into the other team's memory; behind the barrier, their team-mates read it there."""
    me = tw.rank()
    for row in tw.persistent(T):
        tw.put(w.at((me + 2) % 4)[row, :], tw.load(x[row, :]))
    tw.barrier(scope="grid")
    mate = w.at(1 - tw.rank("lsa"), team="lsa")
    for row in tw.persistent(T):
        tw.store(y[row, :], tw.load(mate[(row + 1) % T, :]))
    tw.barrier(scope="grid", order="relaxed")
