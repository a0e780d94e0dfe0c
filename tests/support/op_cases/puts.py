"""What goes to other ranks: puts, sums in their memory and over their memory."""

import numpy as np
import tilewire as tw

from op_cases.case import ALL, FLOATS, HALVES, op_case

SUMS = (tw.f32, tw.f64, *HALVES, tw.i32, tw.u32, tw.i64, tw.u64)


def whole(make, shape=None):
    """Integers from 0 to 9 in the case's dtype: sums are exact in any order."""
    return make.values(shape, tw.i32, 0, 9).astype(make.values((1,)).dtype)


@op_case(
    "put",
    "flush",
    inputs=lambda make: {"x": make.values(), "w": make.output()},
    reference=lambda x: {"w": [x[(rank + 1) % 2] for rank in range(2)]},
    dtypes=ALL,
    world=2,
    grid=2,
)
@tw.kernel
def put_tiles(x: tw.Tensor["T", "H"], w: tw.Window["T", "H"], *, H: tw.const):
    for row in tw.persistent(T):
        tw.put(w.at((tw.rank() + 1) % 2)[row, :], tw.load(x[row, :]))
        tw.flush()
    tw.barrier()


@op_case(
    "put",
    inputs=lambda make: {"x": make.values(), "w": make.output(), "y": make.output()},
    reference=lambda x: {"w": [x[(rank + 1) % 2] for rank in range(2)], "y": x},
    dtypes=ALL,
    shapes=((4, 20000), (5, 37), (1, 1), (2, 8192)),
    world=2,
    grid=3,
)
@tw.kernel
def put_views(x: tw.Tensor["T", "H"], w: tw.Window["T", "H"], y: tw.Tensor["T", "H"]):
    """Row by row to the other rank; all at once, by the first instance, to oneself."""
    for row in tw.persistent(T):
        tw.put(w.at((tw.rank() + 1) % 2)[row, :], x[row, :])
    if tw.program_id(0) == 0:
        tw.put(y[:, :], x)
    tw.barrier()


@op_case(
    "put",
    inputs=lambda make: {
        "x": np.asfortranarray(make.values()),
        "w": make.values((make.shape[0] + 2, make.shape[1])),
    },
    reference=lambda x, w: {
        "w": [np.concatenate([w[rank][:1], x[1 - rank], w[rank][-1:]]) for rank in range(2)]
    },
    shapes=((4, 64), (5, 37), (3, 1)),
    world=2,
    grid=1,
)
@tw.kernel
def put_clipped(x: tw.Tensor["T", "H"], w: tw.Window["S", "H"]):
    """What the smaller of two views has not is left alone: rows 1 to T + 100 are 1 to T + 1."""
    other = w.at((tw.rank() + 1) % 2)
    tw.put(other[1 : S - 1, :], x[0 : T + 100, :])
    tw.barrier()


@op_case(
    "put_value",
    inputs=lambda make: {"w": make.output((2, 3), tw.i32)},
    reference=lambda: {"w": [np.array([[10, 11, 12], [20, 21, 22]])] * 2},
    dtypes=(tw.i32,),
    world=2,
    grid=3,
)
@tw.kernel
def put_values(w: tw.Window[2, 3]):
    i = tw.program_id(0)
    for r in tw.ranks():
        tw.put_value(w.at(r)[tw.rank(), i], 10 * (tw.rank() + 1) + i)
    tw.barrier()


@op_case(
    "atomic",
    inputs=lambda make: {"x": whole(make), "w": whole(make)},
    reference=lambda x, w: {"w": [each + x[0] + x[1] for each in w]},
    dtypes=SUMS,
    shapes=((4, 64), (5, 37), (1, 1), (2, 100)),
    world=2,
    grid=2,
)
@tw.kernel
def add_at_all_ranks(x: tw.Tensor["T", "H"], w: tw.Window["T", "H"], *, H: tw.const):
    for row in tw.persistent(T):
        for r in tw.ranks():
            tw.add(w.at(r)[row, :], tw.load(x[row, :]))
    tw.barrier()


@op_case(
    "all_reduce_load",
    inputs=lambda make: {"x": make.values(), "y": make.output(), "z": make.output()},
    reference=lambda x: {"y": [x[0] + x[1]] * 2, "z": [x[0] + x[1]] * 2},
    dtypes=FLOATS,
    world=2,
    grid=2,
    tolerance=1,
    absolute=2,
)
@tw.kernel
def sum_over_ranks(x: tw.Window["T", "H"], y: tw.Tensor["T", "H"], z: tw.Tensor["T", "H"], *,
                   H: tw.const):  # fmt: skip
    tw.barrier()
    for row in tw.persistent(T):
        tw.store(y[row, :], tw.all_reduce_load(x[row, :]))
        tw.store(z[row, :], tw.all_reduce_load(x[row, :], order="any", team="lsa"))
    tw.barrier()


@op_case(
    "reduce_store",
    inputs=lambda make: {"x": whole(make), "w": whole(make)},
    reference=lambda x, w: {"w": [each + x[0] + x[1] for each in w]},
    dtypes=SUMS,
    world=2,
    grid=2,
)
@tw.kernel
def reduce_into_all_ranks(x: tw.Tensor["T", "H"], w: tw.Window["T", "H"], *, H: tw.const):
    for row in tw.persistent(T):
        tw.reduce_store(w[row, :], tw.load(x[row, :]))
    tw.barrier()
