"""Moving the elements of a tile, and combining them in order."""

import numpy as np
import tilewire as tw

from op_cases.case import ALL, INTEGERS, NUMBERS, op_case
from op_cases.tiles import result_of


def few_values(make):
    """Many equal ones; of floats some are NaN."""
    x = make.values(low=0, high=7) if make.dtype in INTEGERS else make.values()
    if make.dtype not in (*INTEGERS, tw.bool):
        x[...] = np.round(x.astype(np.float64) * 2)
        x[:, x.shape[1] // 2 :: 29] = np.nan
    return x


def extrema(name, axis):
    return op_case(
        f"arg{name}",
        name=f"arg{name}_of_{'columns' if axis == 0 else 'rows'}",
        inputs=lambda make: {
            "x": few_values(make),
            "y": make.output(make.shape[1 - axis]),
            "at": make.output(make.shape[1 - axis], tw.i32),
        },
        reference=lambda x: {
            "y": getattr(np, name)(x, axis=axis),
            "at": getattr(np, f"arg{name}")(x, axis=axis),
        },
        dtypes=(*NUMBERS, tw.bool),
        constants={"IS_MAX": name == "max", "AXIS": axis},
        grid=1,
    )


@tw.kernel
def find_extrema(
    x: tw.Tensor["T", "H"], y: tw.Tensor["R"], at: tw.Tensor["R"], *, T: tw.const, H: tw.const,
    R: tw.const, IS_MAX: tw.const, AXIS: tw.const
):  # fmt: skip
    tile = tw.load(x[:, :])
    if IS_MAX:
        value, index = tw.max(tile, AXIS, return_index=True)
    else:
        value, index = tw.min(tile, AXIS, return_index=True)
    tw.store(y[:], value)
    tw.store(at[:], index)


for _axis in (0, 1):
    extrema("max", _axis)(find_extrema)
    extrema("min", _axis)(find_extrema)


@op_case(
    "argmax",
    "argmin",
    inputs=lambda make: {"x": few_values(make), "y": make.output(2, tw.i32)},
    reference=lambda x: np.array([x.argmax(), x.argmin()]),
    dtypes=(*NUMBERS, tw.bool),
    grid=1,
)
@tw.kernel
def find_in_all(x: tw.Tensor["T", "H"], y: tw.Tensor[2], *, T: tw.const, H: tw.const):
    tile = tw.load(x[:, :])
    tw.store(y[0], tw.argmax(tile))
    tw.store(y[1], tw.argmin(tw.reshape(tile, (T * H,)), axis=0))


@op_case(
    "any",
    "all",
    inputs=lambda make: {
        "x": make.values(),
        "y": make.output((make.shape[1], 2), tw.bool),
        "z": make.output((make.shape[0], 2), tw.bool),
        "whole": make.output(2, tw.bool),
    },
    reference=lambda x: {
        "y": np.stack([x.any(axis=0), x.all(axis=0)], axis=1),
        "z": np.stack([x.any(axis=1), x.all(axis=1)], axis=1),
        "whole": np.array([x.any(), x.all()]),
    },
    dtypes=(tw.bool,),
    shapes=((4, 64), (5, 37), (1, 1), (1, 7)),
    grid=1,
)
@tw.kernel
def any_and_all(
    x: tw.Tensor["T", "H"], y: tw.Tensor["H", 2], z: tw.Tensor["T", 2], whole: tw.Tensor[2], *,
    T: tw.const, H: tw.const
):  # fmt: skip
    tile = tw.load(x[:, :])
    tw.store(y[:, 0], tw.any(tile, axis=0))
    tw.store(y[:, 1], tw.all(tile, axis=0))
    tw.store(z[:, 0], tw.any(tile, axis=1))
    tw.store(z[:, 1], tw.all(tile, axis=1))
    tw.store(whole[0], tw.any(tile))
    tw.store(whole[1], tw.all(tile))


def scan(op, axis, reverse, values, absolute):
    def reference(x, y):
        turned = np.flip(x, axis) if reverse else x
        result = getattr(np, op)(turned, axis=axis, dtype=y.dtype)
        return np.flip(result, axis) if reverse else result

    return op_case(
        op,
        name=f"{op}_of_{'columns' if axis == 0 else 'rows'}{'_reversed' if reverse else ''}",
        inputs=lambda make: {
            "x": values(make),
            "y": make.output(dtype=result_of("sum", make.dtype)),
        },
        reference=reference,
        dtypes=(*NUMBERS, tw.bool),
        constants={"OP": op, "AXIS": axis, "REVERSE": reverse},
        grid=1,
        tolerance=64,
        absolute=absolute,
    )


@tw.kernel
def scan_tile(
    x: tw.Tensor["T", "H"], y: tw.Tensor["T", "H"], *, T: tw.const, H: tw.const, OP: tw.const,
    AXIS: tw.const, REVERSE: tw.const
):  # fmt: skip
    tile = tw.load(x[:, :])
    if OP == "cumsum":
        tw.store(y[:, :], tw.cumsum(tile, AXIS, reverse=REVERSE))
    else:
        tw.store(y[:, :], tw.cumprod(tile, AXIS, reverse=REVERSE))


def factors(make):
    """Products of them neither vanish nor overflow."""
    return make.values(low=1, high=3) if make.dtype in INTEGERS else make.values(low=0.9, high=1.1)


for _axis, _reverse in ((0, False), (1, False), (1, True)):
    scan("cumsum", _axis, _reverse, lambda make: make.values(), absolute=256)(scan_tile)
    scan("cumprod", _axis, _reverse, factors, absolute=0)(scan_tile)


@op_case(
    "transpose",
    inputs=lambda make: {"x": make.values(), "y": make.output(make.shape[::-1])},
    reference=lambda x: x.T,
    dtypes=ALL,
    grid=1,
)
@tw.kernel
def transpose_tile(x: tw.Tensor["T", "H"], y: tw.Tensor["H", "T"], *, T: tw.const, H: tw.const):
    tw.store(y[:, :], tw.load(x[:, :]).T)


@op_case(
    "transpose",
    inputs=lambda make: {"x": make.values((3, *make.shape)), "y": make.output((*make.shape, 3))},
    reference=lambda x: x.transpose(1, 2, 0),
    grid=1,
)
@tw.kernel
def transpose_rank_3(
    x: tw.Tensor[3, "T", "H"], y: tw.Tensor["T", "H", 3], *, T: tw.const, H: tw.const
):
    tw.store(y[:, :, :], tw.transpose(tw.load(x[:, :, :]), (1, 2, 0)))


@op_case(
    "part",
    "flip",
    inputs=lambda make: {
        "x": make.values(),
        "y": make.output((make.shape[0], (make.shape[1] + 1) // 2)),
        "z": make.output(make.shape[1]),
    },
    reference=lambda x: {"y": x[::-1, : (x.shape[1] + 1) // 2], "z": x[-1, ::-1]},
    dtypes=ALL,
    grid=1,
)
@tw.kernel
def parts_and_flips(
    x: tw.Tensor["T", "H"], y: tw.Tensor["T", "P"], z: tw.Tensor["H"], *, T: tw.const, H: tw.const,
    P: tw.const
):  # fmt: skip
    tile = tw.load(x[:, :])
    tw.store(y[:, :], tw.flip(tile[:, :P], axis=0))
    tw.store(z[:], tw.flip(tile[-1, :]))


def joined(axis):
    return op_case(
        "cat",
        name=f"cat_of_{'rows' if axis == 0 else 'columns'}",
        inputs=lambda make: {
            "a": make.values(),
            "b": make.values((make.shape[0] + 2 * (axis == 0), make.shape[1] + 3 * (axis == 1))),
            "y": make.output(
                (
                    2 * make.shape[0] + 2 if axis == 0 else make.shape[0],
                    make.shape[1] if axis == 0 else 2 * make.shape[1] + 3,
                )
            ),
        },
        reference=lambda a, b: np.concatenate([a, b], axis=axis),
        dtypes=ALL,
        constants={"AXIS": axis},
        grid=1,
    )


@tw.kernel
def join(
    a: tw.Tensor["T", "H"], b: tw.Tensor["U", "G"], y: tw.Tensor["V", "J"], *, T: tw.const,
    H: tw.const, U: tw.const, G: tw.const, V: tw.const, J: tw.const, AXIS: tw.const
):  # fmt: skip
    tw.store(y[:, :], tw.cat(tw.load(a[:, :]), tw.load(b[:, :]), axis=AXIS))


joined(0)(join)
joined(1)(join)


@op_case(
    "part",
    "cat",
    inputs=lambda make: {"x": make.values(), "y": make.output()},
    reference=lambda x: np.roll(x, x.shape[1] // 2, axis=1),
    dtypes=ALL,
    shapes=((2, 2048), (2, 4096), (3, 36), (1, 2)),  # long halves are in registers of their own
)
@tw.kernel
def swap_halves(x: tw.Tensor["T", "H"], y: tw.Tensor["T", "H"], *, H: tw.const):
    for row in tw.persistent(T):
        first, second = tw.split(tw.load(x[row, :]))
        tw.store(y[row, :], tw.cat(second, first))


@op_case(
    "gather",
    inputs=lambda make: {
        "x": make.values(),
        "index": make.integers(-1, make.shape[0], (7, make.shape[1])),
        "y": make.output((7, make.shape[1])),
    },
    reference=lambda x, index: np.where(
        (index >= 0) & (index < x.shape[0]),
        np.take_along_axis(x, np.clip(index, 0, x.shape[0] - 1), axis=0),
        np.zeros((), x.dtype),
    ),
    dtypes=ALL,
    grid=1,
)
@tw.kernel
def gather_rows(
    x: tw.Tensor["T", "H"], index: tw.Tensor[7, "H"], y: tw.Tensor[7, "H"], *, T: tw.const,
    H: tw.const
):  # fmt: skip
    tw.store(y[:, :], tw.gather(tw.load(x[:, :]), tw.load(index[:, :]), axis=0))


@op_case(
    "sort",
    inputs=lambda make: {
        "x": few_values(make),
        "rows": make.output(),
        "columns": make.output(),
    },
    reference=lambda x: {"rows": np.sort(x, axis=1), "columns": sorted_downwards(x)},
    dtypes=(*NUMBERS, tw.bool),
    shapes=((4, 64), (5, 37), (1, 1), (70, 3)),
    grid=1,
)
@tw.kernel
def sort_both_ways(
    x: tw.Tensor["T", "H"], rows: tw.Tensor["T", "H"], columns: tw.Tensor["T", "H"], *,
    T: tw.const, H: tw.const
):  # fmt: skip
    tile = tw.load(x[:, :])
    tw.store(rows[:, :], tw.sort(tile))
    tw.store(columns[:, :], tw.sort(tile, axis=0, descending=True))


@op_case(
    "argsort",
    inputs=lambda make: {
        "x": few_values(make),
        "rows": make.output(),
        "at": make.output(dtype=tw.i32),
        "columns": make.output(dtype=tw.i32),
    },
    reference=lambda x: {
        "rows": np.sort(x, axis=1),
        "at": np.argsort(x, axis=1, kind="stable"),
        "columns": argsorted_downwards(x),
    },
    dtypes=(*NUMBERS, tw.bool),
    shapes=((4, 64), (5, 37), (1, 1), (70, 3)),
    grid=1,
)
@tw.kernel
def argsort_both_ways(
    x: tw.Tensor["T", "H"], rows: tw.Tensor["T", "H"], at: tw.Tensor["T", "H"],
    columns: tw.Tensor["T", "H"], *, T: tw.const, H: tw.const
):  # fmt: skip
    tile = tw.load(x[:, :])
    value, index = tw.sort(tile, return_index=True)
    tw.store(rows[:, :], value)
    tw.store(at[:, :], index)
    tw.store(columns[:, :], tw.argsort(tile, axis=0, descending=True))


def argsorted_downwards(x):
    """Along axis 0, NaN last, equal ones in their order."""
    ranks = np.unique(x, return_inverse=True)[1].reshape(x.shape).astype(int)
    return np.argsort(np.where(x == x, -ranks, 1), axis=0, kind="stable")


def sorted_downwards(x):
    """Along axis 0, NaN last."""
    up = np.sort(x, axis=0)
    result = np.empty_like(up)
    for column in range(x.shape[1]):
        line = up[:, column]
        is_nan = line != line
        result[:, column] = np.concatenate([line[~is_nan][::-1], line[is_nan]])
    return result


@op_case(
    "histogram",
    inputs=lambda make: {"x": make.values(low=0, high=40), "y": make.output(33, tw.i32)},
    reference=lambda x: np.bincount(x[x < 33].ravel(), minlength=33),
    dtypes=INTEGERS,
    grid=1,
)
@tw.kernel
def count_numbers(x: tw.Tensor["T", "H"], y: tw.Tensor["B"], *, T: tw.const, H: tw.const,
                  B: tw.const):  # fmt: skip
    tw.store(y[:], tw.histogram(tw.load(x[:, :]), B))
