"""Making tiles, changing their shape, reducing them."""

import numpy as np
import tilewire as tw

from op_cases.case import ALL, FLOATS, NUMBERS, op_case


@op_case(
    "full",
    inputs=lambda make: {"y": make.output()},
    reference=lambda shape: np.full(shape, 3),
    dtypes=NUMBERS,
)
@tw.kernel
def full_rows(y: tw.Tensor["T", "H"], *, H: tw.const):
    for row in tw.persistent(T):
        tw.store(y[row, :], tw.full((H,), 3, y.dtype))


@op_case(
    "arange",
    "constant",
    inputs=lambda make: {"y": make.output(dtype=tw.i32)},
    reference=lambda shape: np.add.outer(np.arange(shape[0]) * 1000, np.arange(shape[1]) + 5),
    dtypes=(tw.i32,),
)
@tw.kernel
def arange_rows(y: tw.Tensor["T", "H"], *, H: tw.const):
    for row in tw.persistent(T):
        tw.store(y[row, :], tw.arange(5, H + 5) + row * 1000)


@op_case(
    "broadcast",
    inputs=lambda make: {"x": make.values(), "y": make.output()},
    reference=lambda x: np.broadcast_to(x[:, :1], x.shape),
    dtypes=ALL,
    grid=1,
)
@tw.kernel
def broadcast_first_column(
    x: tw.Tensor["T", "H"], y: tw.Tensor["T", "H"], *, T: tw.const, H: tw.const
):
    tw.store(y[:, :], tw.broadcast(tw.load(x[:, 0:1]), (T, H)))


@op_case(
    "broadcast",
    "max",
    inputs=lambda make: {
        "x": make.values(),
        "z": make.values((make.shape[0], 8)),
        "y": make.output((make.shape[0], 8)),
    },
    reference=lambda x, z: z - x.max(axis=1, keepdims=True),
    dtypes=(tw.f32, tw.bf16, tw.i32),
    grid=1,
)
@tw.kernel
def peaks_in_rows_of_another_length(
    x: tw.Tensor["T", "H"], z: tw.Tensor["T", 8], y: tw.Tensor["T", 8], *, T: tw.const, H: tw.const
):
    peaks = tw.max(tw.load(x[:, :]), axis=1)
    tw.store(y[:, :], tw.load(z[:, :]) - peaks[:, None])


@op_case(
    "reshape",
    inputs=lambda make: {"x": make.values(), "y": make.output(make.shape[::-1])},
    reference=lambda x: x.reshape(x.shape[::-1]),
    dtypes=ALL,
    grid=1,
)
@tw.kernel
def reshape_all(x: tw.Tensor["T", "H"], y: tw.Tensor["H", "T"], *, T: tw.const, H: tw.const):
    tw.store(y[:, :], tw.reshape(tw.load(x[:, :]), (H, T)))


@op_case(
    "extract",
    inputs=lambda make: {"x": make.values(), "y": make.output(make.shape[0])},
    reference=lambda x: x[:, -1],
    dtypes=ALL,
    grid=1,
)
@tw.kernel
def extract_last_column(x: tw.Tensor["T", "H"], y: tw.Tensor["T"], *, T: tw.const, H: tw.const):
    tile = tw.load(x[:, :])
    for row in range(T):
        tw.store(y[row], tile[row, H - 1])


def reduction(op, reference, axis, dtypes=(*NUMBERS, tw.bool), **fields):
    """Along one axis of a tile of rank 2, the result in the op's own dtype."""
    return op_case(
        op,
        name=f"{op}_{'of_columns' if axis == 0 else 'of_rows'}",
        inputs=lambda make: {
            "x": make.values(),
            "y": make.output(make.shape[1 - axis], result_of(op, make.dtype)),
        },
        reference=lambda x: reference(x, axis=axis),
        dtypes=dtypes,
        constants={"OP": op, "AXIS": axis},
        grid=1,
        **fields,
    )


def result_of(op, dtype):
    """`sum` has a wider result than its operand."""
    if op != "sum":
        return dtype
    if dtype in FLOATS:
        return tw.f64 if dtype == tw.f64 else tw.f32
    narrow = {tw.bool: tw.i32, tw.i8: tw.i32, tw.i16: tw.i32, tw.u8: tw.u32, tw.u16: tw.u32}
    return narrow.get(dtype, dtype)


@tw.kernel
def reduce_tile(
    x: tw.Tensor["T", "H"], y: tw.Tensor["R"], *, T: tw.const, H: tw.const, OP: tw.const,
    AXIS: tw.const
):  # fmt: skip
    tile = tw.load(x[:, :])
    if OP == "sum":
        tw.store(y[tw.ds(0, H if AXIS == 0 else T)], tw.sum(tile, axis=AXIS))
    elif OP == "max":
        tw.store(y[tw.ds(0, H if AXIS == 0 else T)], tw.max(tile, axis=AXIS))
    else:
        tw.store(y[tw.ds(0, H if AXIS == 0 else T)], tw.min(tile, axis=AXIS))


for _axis in (0, 1):
    reduction("sum", np.sum, _axis, absolute=64)(reduce_tile)
    reduction("max", np.max, _axis, dtypes=NUMBERS)(reduce_tile)
    reduction("min", np.min, _axis, dtypes=NUMBERS)(reduce_tile)


@op_case(
    "sum",
    "max",
    "min",
    inputs=lambda make: {"x": make.values(), "y": make.output((make.shape[0], 3), tw.f64)},
    reference=lambda x: np.stack([x.sum(axis=1), x.max(axis=1), x.min(axis=1)], axis=1),
    tolerance=2.0**30,
    absolute=2.0**35,
)
@tw.kernel
def reduce_to_scalars(x: tw.Tensor["T", "H"], y: tw.Tensor["T", 3], *, H: tw.const):
    for row in tw.persistent(T):
        tile = tw.load(x[row, :])
        tw.store(y[row, 0], tw.sum(tile))
        tw.store(y[row, 1], tw.max(tile))
        tw.store(y[row, 2], tw.min(tile))
