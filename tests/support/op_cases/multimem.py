"""Reductions of all copies of a window, and writes to all of them, through multicast addresses.
Where a target has none, the programs take the other way."""

import numpy as np
import tilewire as tw

from op_cases.case import FLOATS, FP8, HALVES, op_case
from op_cases.puts import SUMS, whole

WORDS = (tw.i32, tw.u32, tw.i64, tw.u64)


@op_case(
    "multicast",
    inputs=lambda make: {"x": make.values(), "y": make.output()},
    reference=lambda x: {"y": [x[0] + x[1]] * 2},
    dtypes=FLOATS,
    world=2,
    multimem=True,
    grid=2,
    absolute=2,
)
@tw.kernel
def sum_to_all_by_multimem(x: tw.Window["T", "H"], y: tw.Window["T", "H"], *, H: tw.const):
    """Two shots: each rank adds up its rows, and stores them to all."""
    tw.barrier()
    for i in tw.persistent(tw.cdiv(T, tw.world_size())):
        row = i * tw.world_size() + tw.rank()
        if tw.target.multimem:
            tw.store(y.multicast()[row, :], tw.all_reduce_load(x.multicast()[row, :]))
        else:
            total = tw.all_reduce_load(x[row, :])
            for r in tw.ranks():
                tw.store(y.at(r)[row, :], total)
    tw.barrier()


@op_case(
    "all_reduce_load",
    inputs=lambda make: {"x": make.values(), "y": make.output()},
    reference=lambda x: {"y": [sum(x)] * 8},
    dtypes=(tw.bf16, tw.f32, tw.f64, tw.f16, tw.i32, tw.i64, tw.i8),
    world=8,
    multimem=True,
    grid=2,
    absolute=8,
)
@tw.kernel
def sum_in_any_order(x: tw.Window["T", "H"], y: tw.Tensor["T", "H"], *, H: tw.const):
    tw.barrier()
    for row in tw.persistent(T):
        total = tw.all_reduce_load(x[row, :], order="any")
        tw.store(y[row, :], total.to(y.dtype))
    tw.barrier()


@op_case(
    "reduce_store",
    inputs=lambda make: {"x": whole(make), "w": whole(make), "v": whole(make), "u": whole(make)},
    reference=lambda x, w, v, u: {
        "w": [each + x[0] + x[1] for each in w],
        "v": [np.maximum(each, np.maximum(x[0], x[1])) for each in v],
        "u": [each + x[0] + x[1] for each in u],
    },
    dtypes=SUMS,
    world=2,
    multimem=True,
    grid=2,
)
@tw.kernel
def reduce_into_all_copies(
    x: tw.Tensor["T", "H"], w: tw.Window["T", "H"], v: tw.Window["T", "H"], u: tw.Window["T", "H"],
    *, H: tw.const
):  # fmt: skip
    for row in tw.persistent(T):
        tile = tw.load(x[row, :])
        tw.reduce_store(w[row, :], tile)
        tw.reduce_store(v[row, :], tile, op="max")
        if tw.target.multimem:
            tw.add(u.multicast()[row, :], tile)
        else:
            tw.reduce_store(u[row, :], tile)
    tw.barrier()


def folded(function):
    """What each rank's copy holds when all ranks' tiles have been combined into it."""
    return lambda x, copies: [function(function(each, x[0]), x[1]) for each in copies]


@op_case(
    "reduce_store",
    inputs=lambda make: {name: make.values(None, make.dtype, 0, 100)
                         for name in ("x", "both", "some", "odd")},
    reference=lambda x, both, some, odd: {
        "both": folded(np.bitwise_and)(x, both),
        "some": folded(np.bitwise_or)(x, some),
        "odd": folded(np.bitwise_xor)(x, odd),
    },
    dtypes=WORDS,
    world=2,
    multimem=True,
    grid=2,
)  # fmt: skip
@tw.kernel
def combine_bits_of_all_copies(
    x: tw.Tensor["T", "H"], both: tw.Window["T", "H"], some: tw.Window["T", "H"],
    odd: tw.Window["T", "H"], *, H: tw.const
):  # fmt: skip
    for row in tw.persistent(T):
        tile = tw.load(x[row, :])
        tw.reduce_store(both[row, :], tile, op="and")
        tw.reduce_store(some[row, :], tile, op="or")
        if tw.target.multimem:
            tw.reduce_store(odd.multicast()[row, :], tile, op="xor")
        else:
            tw.reduce_store(odd[row, :], tile, op="xor")
    tw.barrier()


@op_case(
    "all_reduce_load",
    inputs=lambda make: {
        "x": make.values(None, make.dtype, 0, 100), "low": make.output(), "high": make.output(),
        "both": make.output(), "some": make.output(), "odd": make.output(),
    },
    reference=lambda x: {
        "low": [np.minimum(x[0], x[1])] * 2,
        "high": [np.maximum(x[0], x[1])] * 2,
        "both": [x[0] & x[1]] * 2,
        "some": [x[0] | x[1]] * 2,
        "odd": [x[0] ^ x[1]] * 2,
    },
    dtypes=WORDS,
    world=2,
    multimem=True,
    grid=2,
)  # fmt: skip
@tw.kernel
def compare_all_copies(
    x: tw.Window["T", "H"], low: tw.Tensor["T", "H"], high: tw.Tensor["T", "H"],
    both: tw.Tensor["T", "H"], some: tw.Tensor["T", "H"], odd: tw.Tensor["T", "H"], *, H: tw.const
):  # fmt: skip
    tw.barrier()
    for row in tw.persistent(T):
        view = x.multicast()[row, :] if tw.target.multimem else x[row, :]
        tw.store(low[row, :], tw.all_reduce_load(view, op="min"))
        tw.store(high[row, :], tw.all_reduce_load(view, op="max"))
        tw.store(both[row, :], tw.all_reduce_load(view, op="and"))
        tw.store(some[row, :], tw.all_reduce_load(view, op="or"))
        tw.store(odd[row, :], tw.all_reduce_load(view, op="xor"))
    tw.barrier()


@op_case(
    "all_reduce_load",
    "reduce_store",
    inputs=lambda make: {
        "x": make.values(), "w": make.values(), "y": make.output(), "z": make.output()
    },
    reference=lambda x, w: {
        "w": [np.minimum(each, np.minimum(x[0], x[1])) for each in w],
        "y": [np.minimum(x[0], x[1])] * 2,
        "z": [np.maximum(x[0], x[1])] * 2,
    },
    dtypes=HALVES,
    shapes=((4, 64), (5, 2), (3, 1), (5, 37)),
    world=2,
    multimem=True,
    grid=2,
    tolerance=0,
)  # fmt: skip
@tw.kernel
def compare_all_halves(
    x: tw.Window["T", "H"], w: tw.Window["T", "H"], y: tw.Tensor["T", "H"], z: tw.Tensor["T", "H"],
    *, H: tw.const
):  # fmt: skip
    tw.barrier()
    for row in tw.persistent(T):
        view = x.multicast()[row, :] if tw.target.multimem else x[row, :]
        into = w.multicast()[row, :] if tw.target.multimem else w[row, :]
        tw.store(y[row, :], tw.all_reduce_load(view, op="min"))
        tw.store(z[row, :], tw.all_reduce_load(view, op="max"))
        tw.reduce_store(into, tw.load(x[row, :]), op="min")
    tw.barrier()


@op_case(
    "multicast",
    inputs=lambda make: {"x": make.values(), "y": make.output()},
    reference=lambda x: {"y": [x[0] + x[1]] * 2},
    dtypes=FP8,
    world=2,
    multimem=True,
    architecture="sm_100a",
    grid=2,
    absolute=2,
    tolerance=2,
)
@tw.kernel
def sum_fp8_by_multimem(x: tw.Window["T", "H"], y: tw.Window["T", "H"], *, H: tw.const):
    tw.barrier()
    for i in tw.persistent(tw.cdiv(T, 2)):
        row = i * 2 + tw.rank()
        if tw.target.multimem and tw.target.architecture in ("cpu", "sm_100a"):
            total = tw.all_reduce_load(x.multicast()[row, :])
            tw.store(y.multicast()[row, :], total.to(y.dtype))
        else:
            total = tw.load(x.at(0)[row, :]).to(tw.f32) + tw.load(x.at(1)[row, :]).to(tw.f32)
            for r in tw.ranks():
                tw.store(y.at(r)[row, :], total.to(y.dtype))
    tw.barrier()


@op_case(
    "multicast",
    inputs=lambda make: {"x": make.values(), "y": make.output(), "w": whole(make)},
    reference=lambda x, w: {"y": [x[1]] * 2, "w": [each + 2 for each in w]},
    dtypes=(tw.bf16, tw.f16, tw.f32, tw.i32, tw.f64),
    shapes=((5, 37), (4, 64), (1, 1), (3, 2)),
    world=2,
    multimem=True,
    grid=2,
)
@tw.kernel
def odd_rows_to_all(
    x: tw.Window["T", "H"], y: tw.Window["T", "H"], w: tw.Window["T", "H"], *, H: tw.const,
    B: tw.const = 32
):  # fmt: skip
    """Blocks that rows end in, and that begin at odd elements: 16-bit floats go one by one."""
    for row in tw.persistent(T):
        for b in range(tw.cdiv(H, B)):
            part = tw.ds(b * B, B)
            to = y.multicast() if tw.target.multimem else y
            into = w.multicast() if tw.target.multimem else w
            if tw.rank() == 1:
                if tw.target.multimem:
                    tw.store(to[row, part], tw.load(x[row, part]))
                else:
                    for r in tw.ranks():
                        tw.store(y.at(r)[row, part], tw.load(x[row, part]))
            tw.reduce_store(into[row, part], 1)
    tw.barrier()


@op_case(
    "multicast",
    inputs=lambda make: {
        "x": make.values((6, 40)), "rows": np.array([3, 0, 5, 9], np.int32),
        "y": make.output((4, 40)), "z": make.output((6, 40)),
    },
    reference=lambda x: {
        "y": [np.where([[True], [True], [True], [False]], (x[0] + x[1])[[3, 0, 5, 0]], -1)] * 2,
        "z": [x[1]] * 2,
    },
    dtypes=(tw.bf16, tw.f32, tw.f16),
    shapes=((1,),),
    world=2,
    multimem=True,
    grid=1,
    absolute=2,
)  # fmt: skip
@tw.kernel
def scattered_to_all(
    x: tw.Window["T", "H"], rows: tw.Tensor["N"], y: tw.Tensor["N", "H"], z: tw.Window["T", "H"],
    *, H: tw.const, N: tw.const, T: tw.const
):  # fmt: skip
    """By index tiles, some outside; then all rows in reverse order, one rank to all."""
    tw.barrier()
    chosen = tw.load(rows[:])
    inside = (chosen < T)[:, None]
    total = tw.all_reduce_load(x[chosen, :], order="any")
    tw.store(y[:, :], tw.where(inside, total, -1.0))
    if tw.rank() == 1:
        back = T - 1 - tw.arange(8)
        tile = tw.load(x[back, :])
        if tw.target.multimem:
            tw.store(z.multicast()[back, :], tile)
        else:
            for r in tw.ranks():
                tw.store(z.at(r)[back, :], tile)
    tw.barrier()


@op_case(
    "multicast",
    inputs=lambda make: {"x": make.values(), "y": make.values(), "z": make.output()},
    reference=lambda x, y: {
        "y": [x[0] + x[1]] * 2, "z": [3 * (x[0] + x[1])] * 2, "x": [each * 1 for each in x]
    },
    dtypes=(tw.f32, tw.bf16),
    world=2,
    multimem=True,
    grid=2,
    absolute=8,
    tolerance=4,
)  # fmt: skip
@tw.kernel
def multimem_beside_plain(
    x: tw.Window["T", "H"], y: tw.Window["T", "H"], z: tw.Tensor["T", "H"], *, H: tw.const
):
    """What one kind of address wrote, the other one reads: behind a barrier, and by oneself."""
    for row in tw.persistent(T):
        tw.store(y[row, :], tw.load(x[row, :]))
    tw.barrier()
    for row in tw.persistent(T):
        if row % 2 == tw.rank():
            if tw.target.multimem:
                total = tw.all_reduce_load(y.multicast()[row, :])
                tw.store(y.multicast()[row, :], total)
            else:
                total = tw.all_reduce_load(y[row, :])
                for r in tw.ranks():
                    tw.store(y.at(r)[row, :], total)
    tw.barrier()
    for row in tw.persistent(T):
        tw.store(z[row, :], tw.load(y[row, :]) * 3)
