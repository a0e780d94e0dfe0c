"""Every dtype in tiles of every rank, and numbers that Python makes of any dtype."""

import numpy as np
import tilewire as tw
from tilewire.types import to_numpy_dtype

from op_cases.case import ALL, FP8, INTEGERS, op_case


def any_values(make):
    return make.every_bit_pattern() if make.dtype in (*INTEGERS, *FP8) else make.values()


@op_case(
    "select",
    inputs=lambda make: {"x": any_values(make), "y": any_values(make), "z": make.output()},
    reference=lambda x, y, shape: np.where(np.arange(shape[2]) % 2 == 0, x, y),
    dtypes=ALL,
    shapes=((4, 2, 16), (2, 3, 5), (1, 7, 1)),
    tolerance=0,
)
@tw.kernel
def alternate_in_rank_three(
    x: tw.Tensor["A", "B", "C"],
    y: tw.Tensor["A", "B", "C"],
    z: tw.Tensor["A", "B", "C"],
    *,
    A: tw.const,
    B: tw.const,
    C: tw.const,
):
    is_even = (tw.arange(0, C) & 1) == 0
    tw.store(z[:, :, :], tw.where(is_even, tw.load(x[:, :, :]), tw.load(y[:, :, :])))


def in_dtype(numbers, dtype):
    return np.asarray(numbers).astype(to_numpy_dtype(dtype)).astype(np.float64)


@op_case(
    "arange",
    "full",
    inputs=lambda make: {"up": make.output(), "down": make.output(), "same": make.output()},
    reference=lambda shape, dtype: {
        "up": in_dtype(np.arange(1, 1 + 3 * shape[0], 3), dtype),
        "down": in_dtype(np.arange(shape[0], 0, -1), dtype),
        "same": in_dtype(np.full(shape, 1), dtype),
    },
    dtypes=ALL,
    shapes=((16,), (13,), (1,)),
    tolerance=0,
)
@tw.kernel
def sequences(up: tw.Tensor["N"], down: tw.Tensor["N"], same: tw.Tensor["N"], *, N: tw.const):
    tw.store(up[:], tw.arange(1, 1 + 3 * N, 3, dtype=up.dtype))
    tw.store(down[:], tw.arange(N, 0, -1, up.dtype))
    tw.store(same[:], tw.full((N,), 1, up.dtype))
