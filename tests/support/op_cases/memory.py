"""Loads and stores, views, ids, and what goes between ranks."""

import numpy as np
import tilewire as tw

from op_cases.case import ALL, NUMBERS, aligned, op_case


@op_case(
    "load",
    "store",
    "slice",
    inputs=lambda make: {"x": make.values(), "y": make.output()},
    reference=lambda x: x,
    dtypes=ALL,
)
@tw.kernel
def copy_rows(x: tw.Tensor["T", "H"], y: tw.Tensor["T", "H"], *, H: tw.const):
    for row in tw.persistent(T):
        tw.store(y[row, :], tw.load(x[row, :]))


@op_case(
    "load",
    "store",
    "extent",
    inputs=lambda make: {"x": make.values(), "y": make.output()},
    reference=lambda x: np.where(np.arange(x.shape[1]) < x.shape[1] - 1, x, 1),
    dtypes=NUMBERS,
)
@tw.kernel
def copy_clipped_blocks(x: tw.Tensor["T", "H"], y: tw.Tensor["T", "H"], *, B: tw.const = 16):
    for row in tw.persistent(T):
        part = x[row, 0 : H - 1]
        for start in range(0, tw.extent(part, 0) + 1, B):
            tile = tw.load(part[tw.ds(start, B)], other=1)
            tw.store(y[row, tw.ds(start, B)], tile, where=tw.arange(B) < 100)


@op_case(
    "load",
    "store",
    inputs=lambda make: {
        "x": np.asfortranarray(make.values()),
        "y": aligned(np.full((*make.shape, 2), 7)).astype(make.values().dtype)[..., 1],
    },
    reference=lambda x: {"y": x},
    dtypes=ALL,
)
@tw.kernel
def copy_strided(x: tw.Tensor["T", "H"], y: tw.Tensor["T", "H"], *, H: tw.const):
    for row in tw.persistent(T):
        tw.store(y[row, :], tw.load(x[row, :]))


@op_case(
    "program_id",
    "num_programs",
    inputs=lambda make: {"y": make.output((7, 2), tw.i32)},
    reference=lambda: np.stack([np.arange(7), np.full(7, 7)], axis=1),
    dtypes=(tw.i32,),
    grid=7,
)
@tw.kernel
def ids_of_programs(y: tw.Tensor["N", 2]):
    tw.store(y[tw.program_id(0), 0], tw.program_id(0))
    tw.store(y[tw.program_id(0), 1], tw.num_programs(0))


@op_case(
    "at",
    "rank",
    "barrier",
    inputs=lambda make: {"x": make.values(), "y": make.output()},
    reference=lambda x: {"y": [x[(rank + 1) % 2] for rank in range(2)]},
    dtypes=ALL,
    world=2,
    grid=2,
)
@tw.kernel
def copy_from_next_rank(x: tw.Window["T", "H"], y: tw.Tensor["T", "H"], *, H: tw.const):
    tw.barrier()
    for row in tw.persistent(T):
        tw.store(y[row, :], tw.load(x.at((tw.rank() + 1) % tw.world_size())[row, :]))
    tw.barrier()
